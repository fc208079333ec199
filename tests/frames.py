"""Counts the Python functions that a call enters: a measure of host code that no load disturbs."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from types import CodeType, FrameType
from typing import Any

# Calls before the first that counts, in which caches are filled.
WARM_UP = 4


def frames_of(make: Callable[[], Callable[[], Any]]) -> list[CodeType]:
    """The code of each Python function that a warmed call enters, in order, without its own.

    It is made and called on a thread of its own, which has nothing recorded and no checks to
    remember.
    """
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(lambda: _frames_of(make())).result()


def _frames_of(call: Callable[[], Any]) -> list[CodeType]:
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
