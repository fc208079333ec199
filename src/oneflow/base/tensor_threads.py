"""The threads that have used tensors, which the end of the process must know."""

from __future__ import annotations

import threading

_numbers: set[int] = set()


def note_thread() -> None:
    """This thread uses tensors; called by what it has of its own for making or changing them."""
    _numbers.add(threading.get_ident())


def threads_with_tensors() -> list[threading.Thread]:
    """The threads that are alive and have used tensors."""
    return [thread for thread in threading.enumerate() if thread.ident in _numbers]
