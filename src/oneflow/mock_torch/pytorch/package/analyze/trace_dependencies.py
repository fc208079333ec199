"""The modules whose functions a call runs."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from types import FrameType
from typing import Any


def trace_dependencies(
    callable: Callable[..., Any], inputs: Iterable[tuple[Any, ...]]
) -> list[str]:
    """Return the modules whose functions run when something is called.

    Args:
        callable: what is called.
        inputs: the arguments of each call.
    """
    modules: set[str] = set()

    def note(frame: FrameType, event: str, argument: Any) -> None:
        if event == "call":
            modules.add(frame.f_globals.get("__name__", ""))

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        for arguments in inputs:
            callable(*arguments)
    finally:
        sys.setprofile(before)
    return sorted(modules - {""})
