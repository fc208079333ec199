"""The C library's heap, which XLA takes a program's working memory from on the CPU.

By default glibc returns every large block to the system when it is freed, and the next step gets it
back as new pages, zeroed one by one: a training step of a small GPT met 35,000 such page faults,
which took a sixth of its time.

Every thread stays with the heap that it first took memory from, so this comes before there are any:
in a job of several processes connecting them starts some, in which steps then run.
"""

from __future__ import annotations

import ctypes
import os
from typing import Any

from oneflow.base import environment

# Options of mallopt(3), and what the environment may already say about them.
_TRIM_THRESHOLD, _MMAP_THRESHOLD, _ARENA_MAX = -1, -3, -8
_CHOSEN_BY_USER = (
    "GLIBC_TUNABLES",
    "MALLOC_TRIM_THRESHOLD_",
    "MALLOC_MMAP_THRESHOLD_",
    "MALLOC_ARENA_MAX",
)
_LARGEST = 2**30


def _function(name: str) -> Any:
    """A function of the C library, or None where it has none of that name."""
    return getattr(ctypes.CDLL(None), name, None) if os.name == "posix" else None


def keep_heap() -> None:
    """Let the process keep freed memory for its next step, where the C library is glibc.

    Settings that the user made for glibc stay, and ``ONEFLOW_KEEP_HEAP=0`` leaves all as it was.
    """
    set_option = _function("mallopt")
    if set_option is None or environment.KEEP_HEAP.read() == "0":
        return
    if any(name in os.environ for name in _CHOSEN_BY_USER):
        return
    set_option(_MMAP_THRESHOLD, _LARGEST)
    set_option(_TRIM_THRESHOLD, -1)
    # Heaps of threads other than the main one cannot hold blocks above 64 MiB.
    set_option(_ARENA_MAX, 1)


def trim_heap() -> None:
    """Give memory that was freed back to the system, where the C library is glibc."""
    trim = _function("malloc_trim")
    if trim is not None:
        trim(0)


keep_heap()
