"""The cache of eager mode's executables, which is bounded and evicts the least recently used.

Every new shape compiles its operations anew. An evicted executable comes back from the persistent
cache when it is needed again.
"""

from __future__ import annotations

import gc
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Iterator
from pathlib import Path
from typing import Any

from oneflow.base import environment
from oneflow.tuning.linux import trim_heap

# Measured on the CPU: the bytes that XLA and JAX hold for a single operation, for a whole program,
# and for each of its instructions.
OPERATION_BYTES = 3 << 19
PROGRAM_BYTES = 3 << 20
INSTRUCTION_BYTES = 1 << 17
# The part that stays when the cache is full: several are evicted at once, so that it is rare.
_KEPT_FRACTION = 7 / 8
# Counting the memory mappings, of which kernels have some, and collecting garbage take a while.
_CHECK_INTERVAL = 32


class ExecutableCache:
    """The owners of executables, least recently used first.

    Args:
        max_bytes: bound on their estimated size.
        max_mappings: bound on the memory mappings of the whole process.
    """

    def __init__(self, max_bytes: int, max_mappings: int) -> None:
        self.max_bytes = max_bytes
        self.max_mappings = max_mappings
        self.bytes = 0
        self._owners: OrderedDict[Hashable, tuple[int, Callable[[], Any]]] = OrderedDict()
        self._lock = threading.RLock()
        self._added = 0
        self._releases = 0

    def __len__(self) -> int:
        return len(self._owners)

    def __iter__(self) -> Iterator[Hashable]:
        return iter(self._owners)

    def add(self, owner: Hashable, size: int, release: Callable[[], Any]) -> None:
        """Add executables of `owner`; others may have to release theirs.

        Args:
            owner: the object that holds them.
            size: their estimated bytes.
            release: makes the owner release all of its executables.
        """
        with self._lock:
            before, _ = self._owners.pop(owner, (0, release))
            self._owners[owner] = before + size, release
            self.bytes += size
            self._added += 1
            is_check_due = self._added % _CHECK_INTERVAL == 0
            limit = self.bytes
            if self.bytes > self.max_bytes:
                limit = int(self.max_bytes * _KEPT_FRACTION)
            if is_check_due and mapping_count() > self.max_mappings:
                limit = min(limit, int(self.bytes * _KEPT_FRACTION))
            callbacks = self._evict_to(limit)
        for callback in callbacks:
            callback()
        self._releases += len(callbacks)
        if is_check_due and self._releases:
            # Whole programs refer to themselves.
            self._releases = 0
            gc.collect()
            trim_heap()

    def touch(self, owner: Hashable) -> None:
        """Make `owner` the most recently used; nothing happens if it holds no executables."""
        if owner in self._owners:
            with self._lock:
                if owner in self._owners:
                    self._owners.move_to_end(owner)

    def evict(self, selected: Iterable[Hashable]) -> None:
        """Release the executables of some owners; owners without any are skipped."""
        with self._lock:
            callbacks = [self._remove(owner) for owner in list(selected) if owner in self._owners]
        for callback in callbacks:
            callback()
        trim_heap()

    def _evict_to(self, limit: int) -> list[Callable[[], Any]]:
        """Remove owners until at most `limit` bytes are left, except the newest one."""
        callbacks = []
        while self.bytes > limit and len(self._owners) > 1:
            callbacks.append(self._remove(next(iter(self._owners))))
        return callbacks

    def _remove(self, owner: Hashable) -> Callable[[], Any]:
        size, release = self._owners.pop(owner)
        self.bytes -= size
        return release


def mapping_count() -> int:
    """The number of memory mappings of this process; 0 where the system does not say."""
    try:
        return Path("/proc/self/maps").read_bytes().count(b"\n")
    except OSError:
        return 0


def _max_mappings() -> int:
    """Half of the mappings that the system allows; the rest is for other libraries."""
    try:
        return int(Path("/proc/sys/vm/max_map_count").read_text(encoding="ascii")) // 2
    except (OSError, ValueError):
        return 2**15


EXECUTABLES = ExecutableCache(environment.EAGER_CODE_MEMORY.read_int() << 20, _max_mappings())


def program_bytes(program: Any) -> int:
    """Estimated size of a whole program's executable."""
    return PROGRAM_BYTES + INSTRUCTION_BYTES * len(program.instructions)
