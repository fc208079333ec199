"""Programs that threads other than the main one have started, until they have run.

Each thread's programs run in order, so the main thread can wait for its own by one more; a thread
that has ended starts none. Therefore one result of each program is held until it is there, or until
a later program has taken its memory over.
"""

from __future__ import annotations

import threading
from collections import deque
from typing import Any

_lock = threading.Lock()
_results: deque[Any] = deque()


def note_start(result: Any) -> None:
    """Remember a program that this thread has started.

    Args:
        result: one of its results; a second handle of it is held, so that who counts references to
            the first finds no more of them.
    """
    with _lock:
        while _results and _has_run(_results[0]):
            _results.popleft()
        _results.append(result.addressable_data(0))


def unfinished_results() -> list[Any]:
    """Results of the programs that have not run, as far as anybody has looked."""
    with _lock:
        return list(_results)


def _has_run(result: Any) -> bool:
    return result.is_deleted() or result.is_ready()
