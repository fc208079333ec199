"""glibc's heap, from which XLA allocates the working memory of programs on the CPU.

glibc returns every large block to the system when it is freed, and the next step gets it back as
new pages, zeroed one by one: a training step of a small GPT met 35,000 such page faults, which
took a sixth of its time. `retain_freed_memory` stops that.

A thread keeps the heap that it first allocated from, so this is set before XLA starts its threads.
A job of several processes sets it before it connects them, which starts threads that run steps.

Compiling leaves many free blocks between small ones that stay in use: tens of thousands for a large
model. glibc keeps them in lists by size and searches these for every block above a kilobyte, which
XLA's libraries allocate in every product, one thread at a time: a step of MobileNetV2 took 1.6
times as long in the process that had compiled it. So `FreeLists.trim` takes these blocks out of the
lists when compiling is over, by allocating them.

With another C library everything here does nothing.
"""

from __future__ import annotations

import ctypes
import functools
import os
import threading
from collections.abc import Iterator
from typing import Any

from oneflow.tuning.settings import Setting, is_on

# Options of mallopt(3), and the names by which a user may have set them in the environment: a
# variable of its own, or one of ``GLIBC_TUNABLES``.
_TRIM_THRESHOLD, _MMAP_THRESHOLD, _ARENA_MAX = -1, -3, -8
_NAMES = {
    "MALLOC_TRIM_THRESHOLD_": "glibc.malloc.trim_threshold",
    "MALLOC_MMAP_THRESHOLD_": "glibc.malloc.mmap_threshold",
    "MALLOC_ARENA_MAX": "glibc.malloc.arena_max",
}
# Larger blocks do go back to the system: most are a user's own, a step's memory seldom is.
_MAX_HEAP_BLOCK = 2**31 - 1
# Python's and XLA's threads share one heap, and glibc lets a thread cache only 7 blocks of a size.
# glibc reads this when a process begins, so that only the launcher can set it for its processes.
THREAD_CACHE_SETTING = "glibc.malloc.tcache_count=200"
# Free blocks are allocated in these sizes, larger ones in several. For smaller ones glibc keeps a
# list for each size, of which the first block will do.
_MIN_BLOCK, _MAX_BLOCK = 2**10, 2**26
# The number of new free blocks from which on allocating them is worth tenths of a second.
_MIN_NEW_BLOCKS = 4096
# glibc leaves this much, or less, at the end of a heap that was trimmed.
_PAD = 2**18


@functools.cache
def _function(name: str, result: Any = ctypes.c_int, *arguments: Any) -> Any:
    """A function of the C library, or None where it has none of that name.

    Other Python threads wait while it runs. Finding it takes 20 to 40 µs, and each run of a program
    that needs a megabyte asks for memory.
    """
    function = getattr(ctypes.PyDLL(None), name, None) if os.name == "posix" else None
    if function is not None:
        function.restype, function.argtypes = result, arguments
    return function


def retain_freed_memory() -> bool:
    """Retain freed memory for the process's next step, where the C library is glibc.

    Settings that the user made for glibc stay.

    Returns:
        True if it does.
    """
    set_option = _function("mallopt", ctypes.c_int, ctypes.c_int, ctypes.c_int)
    if set_option is None or not is_on(Setting.ALLOCATOR) or _is_set_by_user():
        return False
    set_option(_MMAP_THRESHOLD, _MAX_HEAP_BLOCK)
    set_option(_TRIM_THRESHOLD, -1)
    # Heaps of threads other than the main one cannot hold blocks above 64 MiB.
    set_option(_ARENA_MAX, 1)
    FREE_LISTS.enable()
    return True


def _is_set_by_user() -> bool:
    """Return whether the user has set any of the options."""
    options = os.environ.get("GLIBC_TUNABLES", "")
    return any(name in os.environ or f"{other}=" in options for name, other in _NAMES.items())


def trim_heap() -> None:
    """Return freed memory to the system, where the C library is glibc."""
    trim = _function("malloc_trim", ctypes.c_int, ctypes.c_size_t)
    if trim is not None:
        trim(0)


def can_allocate(size: int) -> bool:
    """Return whether the C library has a block of `size` bytes; True where it cannot tell."""
    allocate = _function("malloc", ctypes.c_void_p, ctypes.c_size_t)
    free = _function("free", None, ctypes.c_void_p)
    if allocate is None or free is None:
        return True
    address = allocate(size)
    free(address)
    return address is not None


_USAGE = ("arena", "ordblks", "smblks", "hblks", "hblkhd")
_USAGE += ("usmblks", "fsmblks", "uordblks", "fordblks", "keepcost")


class _Usage(ctypes.Structure):
    """The result of mallinfo2(3); `ordblks` is the number of free blocks."""

    _fields_ = tuple([(name, ctypes.c_size_t) for name in _USAGE])


class FreeLists:
    """The lists of free blocks, which every allocation above a kilobyte searches.

    Attributes:
        reserved: addresses of the blocks that were taken out of the lists.
    """

    def __init__(self) -> None:
        self._is_enabled = False
        self._lock = threading.RLock()
        self._block_count = 0  # that was left over the last time
        self.reserved: list[int] = []

    def enable(self) -> None:
        """Enable `trim`: the process retains freed memory; elsewhere the lists stay short."""
        size, address = ctypes.c_size_t, ctypes.c_void_p
        self._allocate = _function("malloc", address, size)
        self._free = _function("free", None, address)
        self._end = _function("sbrk", address, ctypes.c_ssize_t)
        self._usage = _function("mallinfo2", _Usage)
        is_known = None not in (self._end, self._usage)
        self._is_enabled = is_known and is_on(Setting.FREE_LISTS)

    def trim(self) -> None:
        """Allocate the free blocks if there are many new ones, and return their pages.

        Blocks that were allocated before are freed first: they may have grown together with others.
        """
        if not self._is_enabled:
            return
        with self._lock:
            if self._usage().ordblks < self._block_count + _MIN_NEW_BLOCKS:
                return
            reserved, self.reserved = self.reserved, []
            for address in reserved:
                self._free(address)
            trim_heap()
            self.reserved = list(self._allocated_blocks())
            self._block_count = self._usage().ordblks

    def _allocated_blocks(self) -> Iterator[int]:
        end = self._end(0) - _PAD
        size = _MAX_BLOCK
        while size >= _MIN_BLOCK:
            address = self._allocate(size)
            if address is not None and address < end:
                yield address
                continue
            # No free block is as large: this one is at the end of the heap.
            self._free(address)
            size = size * 4 // 5


FREE_LISTS = FreeLists()
