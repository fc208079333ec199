"""Backward passes inside each other: the frames of Python that they may take.

Functions and checkpoints may run a backward pass in their own, hundreds deep. Python bounds the
frames of a thread so that calls from C cannot overflow its stack. The frames of a pass are mostly
calls from Python, which take no stack, so each pass within others is granted some more of them. The
limit is that of the process; it goes back when the last of these passes is over.
"""

from __future__ import annotations

import sys
import threading

# So many passes inside each other fit into Python's own limit.
FREE_PASSES = 10
# Ours have about 7 frames, and those of checkpoints 8; what users call in between has more.
_FRAMES = 16
# Even if most of the frames were calls from C, they would fit into a stack of 8 MB.
_MOST_PASSES = 400


class _RecursionLimit:
    """The count of passes that all threads were granted."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.passes = 0
        self.frames = 0


_limit = _RecursionLimit()


def raise_recursion_limit(depth: int) -> None:
    """Raise Python's limit for a pass that is the `depth`-th of those inside each other.

    Raises:
        RecursionError: there are too many.
    """
    if depth > _MOST_PASSES:
        raise RecursionError(
            f"at most {_MOST_PASSES} backward passes may run inside each other; does `backward` of"
            " a function start one that calls the same function without an end?"
        )
    with _limit.lock:
        _limit.passes += 1
        missing = depth * _FRAMES - _limit.frames
        if missing > 0:
            sys.setrecursionlimit(sys.getrecursionlimit() + missing)
            _limit.frames += missing


def restore_recursion_limit() -> None:
    """Restore Python's recursion limit at the end of a pass that called `raise_recursion_limit`."""
    with _limit.lock:
        _limit.passes -= 1
        if _limit.passes:
            return
        try:
            sys.setrecursionlimit(sys.getrecursionlimit() - _limit.frames)
        except RecursionError:
            return  # A thread is deeper than that. The next pass brings the limit down.
        _limit.frames = 0
