"""Source locations of calls in the user's code: frames of this package are skipped."""

from __future__ import annotations

import contextlib
import sys
import traceback
from pathlib import Path

PACKAGE = str(Path(__file__).resolve().parents[1])


def frames_to_user() -> int:
    """Count the frames from the caller up to the innermost one outside `oneflow`."""
    frame, count = sys._getframe(1), 1
    while frame is not None and frame.f_code.co_filename.startswith(PACKAGE):
        frame, count = frame.f_back, count + 1
    return count


def user_line() -> str:
    """``, file "train.py", line 12`` of the innermost caller outside `oneflow`, or nothing."""
    frame = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(PACKAGE):
        frame = frame.f_back
    return (
        f', file "{frame.f_code.co_filename}", line {frame.f_lineno}' if frame is not None else ""
    )


def user_frames() -> tuple[str, ...]:
    """``train.py(12): step`` of every caller outside `oneflow`, the innermost first."""
    frames = []
    frame = sys._getframe(1)
    while frame is not None:
        code = frame.f_code
        if not code.co_filename.startswith((PACKAGE, contextlib.__file__)):
            frames.append(f"{code.co_filename}({frame.f_lineno}): {code.co_name}")
        frame = frame.f_back
    return tuple(frames)


def user_stack() -> list[str]:
    """The call stack outside `oneflow`, outermost call first, as a traceback prints it."""
    frames = [
        entry for entry in traceback.extract_stack() if not entry.filename.startswith(PACKAGE)
    ]
    return traceback.format_list(frames)
