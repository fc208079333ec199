"""The last programs that threads other than the main one have started.

Each thread's programs run in order, so the main thread can wait for its own by one more; a thread
that has ended starts none. Therefore one small result of each thread's last program is held. It is
never asked whether it is there: XLA's answer lets Python collect garbage, and a finalizer that runs
a program meanwhile would end the process.
"""

from __future__ import annotations

import threading
from typing import Any

# The largest result in bytes that is held, for as long as its thread starts no other program.
LARGEST = 4096
_results: dict[int, Any] = {}


def note_start(result: Any) -> None:
    """Remember a program that this thread has started.

    Args:
        result: one of its results; a second handle of it is held, so that who counts references to
            the first finds no more of them.
    """
    _results[threading.get_ident()] = result.addressable_data(0)


def last_results() -> list[Any]:
    """A result of each thread's last program, which may have run, or been overwritten."""
    return list(_results.values())
