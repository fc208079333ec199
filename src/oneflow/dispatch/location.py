"""The user's source line: the innermost frame outside this package."""

from __future__ import annotations

import sys
from pathlib import Path

_PACKAGE = str(Path(__file__).resolve().parents[1])


def user_line() -> str:
    """``, file "train.py", line 12`` of the innermost caller outside `oneflow`; empty if there is none."""
    frame = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame = frame.f_back
    return (
        f', file "{frame.f_code.co_filename}", line {frame.f_lineno}' if frame is not None else ""
    )
