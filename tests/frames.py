"""Counts the Python functions that a call enters: a measure of host code that no load disturbs."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any

# Calls before the first that counts, in which caches are filled.
WARM_UP = 4


def frames_of(call: Callable[[], Any]) -> list[CodeType]:
    """The code of each Python function that a warmed `call` enters, in order, without its own."""
    for _ in range(WARM_UP):
        call()
    entered: list[CodeType] = []

    def note(frame: FrameType, event: str, _: Any) -> None:
        if event == "call":
            entered.append(frame.f_code)

    before, collects = sys.getprofile(), gc.isenabled()
    gc.disable()  # what it frees may call functions
    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(before)
        if collects:
            gc.enable()
    return entered[1:]
