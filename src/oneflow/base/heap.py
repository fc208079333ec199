"""The C library's heap, which XLA takes a program's working memory from on the CPU.

By default glibc returns every large block to the system when it is freed, and the next step gets it
back as new pages, zeroed one by one: a training step of a small GPT met 35,000 such page faults,
which took a sixth of its time.

Every thread stays with the heap that it first took memory from, so this comes before there are any:
in a job of several processes connecting them starts some, in which steps then run.

Compiling leaves many free blocks between small ones that stay: holes, tens of thousands of them for
a large model. glibc keeps them in lists by size and walks along these for every block above a
kilobyte, which XLA's libraries take in every product, one thread at a time: a step of MobileNetV2
took 1.6 times as long in the process that had compiled it. So holes are taken out of the lists when
compiling is over, by allocating them.
"""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Iterator
from typing import Any

from oneflow.base import environment

# Options of mallopt(3), and the names by which a user may have set them in the environment: a
# variable of its own, or one of ``GLIBC_TUNABLES``.
_TRIM_THRESHOLD, _MMAP_THRESHOLD, _ARENA_MAX = -1, -3, -8
_NAMES = {
    "MALLOC_TRIM_THRESHOLD_": "glibc.malloc.trim_threshold",
    "MALLOC_MMAP_THRESHOLD_": "glibc.malloc.mmap_threshold",
    "MALLOC_ARENA_MAX": "glibc.malloc.arena_max",
}
# Larger blocks do go back to the system: most are a user's own, a step's memory seldom is.
_LARGEST = 2**31 - 1
# Holes are taken in blocks of these sizes, larger ones in several. For smaller ones glibc keeps a
# list for each size, in which the first will do.
_HOLES = (2**10, 2**26)
# How many more free blocks there must be before it is worth the tenths of a second that it takes.
_MANY = 4096
# glibc leaves this much, or less, at the end of a heap that was trimmed.
_PAD = 2**18


def _function(name: str, result: Any = ctypes.c_int, *arguments: Any) -> Any:
    """A function of the C library, or None where it has none of that name.

    Other Python threads wait while it runs.
    """
    function = getattr(ctypes.PyDLL(None), name, None) if os.name == "posix" else None
    if function is not None:
        function.restype, function.argtypes = result, arguments
    return function


def keep_heap() -> bool:
    """Let the process keep freed memory for its next step, where the C library is glibc.

    Settings that the user made for glibc stay, and ``ONEFLOW_KEEP_HEAP=0`` leaves all as it was.

    Returns:
        Whether it does.
    """
    set_option = _function("mallopt", ctypes.c_int, ctypes.c_int, ctypes.c_int)
    if set_option is None or environment.KEEP_HEAP.read() == "0":
        return False
    if _are_chosen():
        return False
    set_option(_MMAP_THRESHOLD, _LARGEST)
    set_option(_TRIM_THRESHOLD, -1)
    # Heaps of threads other than the main one cannot hold blocks above 64 MiB.
    set_option(_ARENA_MAX, 1)
    return True


def _are_chosen() -> bool:
    """Whether the user has set any of the options."""
    tunables = os.environ.get("GLIBC_TUNABLES", "")
    return any(name in os.environ or f"{other}=" in tunables for name, other in _NAMES.items())


def trim_heap() -> None:
    """Give memory that was freed back to the system, where the C library is glibc."""
    trim = _function("malloc_trim", ctypes.c_int, ctypes.c_size_t)
    if trim is not None:
        trim(0)


def can_allocate(size: int) -> bool:
    """Whether the C library has a block of `size` bytes to give; True where nobody can say."""
    allocate = _function("malloc", ctypes.c_void_p, ctypes.c_size_t)
    free = _function("free", None, ctypes.c_void_p)
    if allocate is None or free is None:
        return True
    address = allocate(size)
    free(address)
    return address is not None


class _Usage(ctypes.Structure):
    """What mallinfo2(3) returns; `ordblks` is the number of free blocks."""

    _fields_ = tuple(
        (name, ctypes.c_size_t)
        for name in (
            *("arena", "ordblks", "smblks", "hblks", "hblkhd"),
            *("usmblks", "fsmblks", "uordblks", "fordblks", "keepcost"),
        )
    )


class Holes:
    """Free blocks between used ones, which can be taken so that nobody has to look through them.

    Attributes:
        keeps: the process keeps freed memory; elsewhere nothing is taken.
        taken: addresses of the holes that are.
    """

    def __init__(self, keeps: bool) -> None:
        size, address = ctypes.c_size_t, ctypes.c_void_p
        self._allocate = _function("malloc", address, size)
        self._free = _function("free", None, address)
        self._end = _function("sbrk", address, ctypes.c_ssize_t)
        self._usage = _function("mallinfo2", _Usage)
        self.keeps = keeps and None not in (self._end, self._usage)
        self._lock = threading.RLock()
        self._free_blocks = 0  # that were left over the last time
        self.taken: list[int] = []

    def close(self) -> None:
        """Take the holes if there are many new ones, and return the memory in them to the system.

        Those that were taken before are given back first: they may have grown together with others.
        """
        if not self.keeps:
            return
        with self._lock:
            if self._usage().ordblks < self._free_blocks + _MANY:
                return
            taken, self.taken = self.taken, []
            for address in taken:
                self._free(address)
            trim_heap()
            self.taken = list(self._holes())
            self._free_blocks = self._usage().ordblks

    def _holes(self) -> Iterator[int]:
        end = self._end(0) - _PAD
        least, size = _HOLES
        while size >= least:
            address = self._allocate(size)
            if address is not None and address < end:
                yield address
                continue
            # No hole is as large: this is at the end of the heap.
            self._free(address)
            size = size * 4 // 5


HOLES = Holes(keep_heap())
