"""The threads that have used tensors, which the end of the process must know."""

from __future__ import annotations

import threading
import weakref

# Threads by their numbers, which the system gives to others when they have ended.
_threads: dict[int, weakref.ref[threading.Thread]] = {}


def note_thread() -> None:
    """This thread uses tensors; called by what it has of its own for making or changing them."""
    thread = threading.current_thread()
    _threads[threading.get_ident()] = weakref.ref(thread)


def threads_with_tensors() -> list[threading.Thread]:
    """The threads that are alive and have used tensors."""
    threads = threading.enumerate()
    references = [_threads.get(thread.ident or 0) for thread in threads]
    return [
        thread
        for thread, reference in zip(threads, references, strict=True)
        if reference is not None and reference() is thread
    ]
