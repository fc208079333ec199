"""Compiled code that eager mode keeps, within bounds.

Every new shape compiles its operations anew. What is dropped here comes back from the persistent
cache when it is wanted again.
"""

from __future__ import annotations

import gc
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from pathlib import Path
from typing import Any

from oneflow.base import environment
from oneflow.tuning.linux import trim_heap

# Measured on the CPU: what XLA and JAX hold for a single operation, for a whole program, and for
# each instruction in it.
OPERATION_BYTES = 3 << 19
PROGRAM_BYTES = 3 << 20
INSTRUCTION_BYTES = 1 << 17
# What stays where there is too much: some are dropped at once, so that it happens seldom.
_STAYS = 7 / 8
# Counting the mappings, which kernels are among, and collecting garbage take milliseconds.
_LOOK_EVERY = 32


class KeptExecutables:
    """What holds executables, least recently used first.

    Args:
        most_bytes: estimated size of all together.
        most_mappings: mappings of the process, whoever has them.
    """

    def __init__(self, most_bytes: int, most_mappings: int) -> None:
        self.most_bytes = most_bytes
        self.most_mappings = most_mappings
        self.bytes = 0
        self._owners: OrderedDict[Hashable, tuple[int, Callable[[], None]]] = OrderedDict()
        self._lock = threading.RLock()
        self._added = 0
        self._dropped = 0

    def __len__(self) -> int:
        return len(self._owners)

    def keep(self, owner: Hashable, size: int, release: Callable[[], None]) -> None:
        """Note that `owner` holds more executables; others may have to let go of theirs.

        Args:
            owner: what holds them.
            size: estimated bytes of the new ones.
            release: makes it let go of all of its executables.
        """
        with self._lock:
            before, _ = self._owners.pop(owner, (0, release))
            self._owners[owner] = before + size, release
            self.bytes += size
            self._added += 1
            look = self._added % _LOOK_EVERY == 0
            most = self.bytes
            if self.bytes > self.most_bytes:
                most = int(self.most_bytes * _STAYS)
            if look and mappings() > self.most_mappings:
                most = min(most, int(self.bytes * _STAYS))
            dropped = self._take_oldest(most)
        for let_go in dropped:
            let_go()
        self._dropped += len(dropped)
        if look and self._dropped:
            # Whole programs refer to themselves.
            self._dropped = 0
            gc.collect()
            trim_heap()

    def use(self, owner: Hashable) -> None:
        """Note that `owner`'s executables are used now; nothing if it holds none."""
        if owner in self._owners:
            with self._lock:
                if owner in self._owners:
                    self._owners.move_to_end(owner)

    def release(self, kind: type) -> None:
        """Let all owners of one class let go of their executables."""
        with self._lock:
            chosen = [owner for owner in self._owners if isinstance(owner, kind)]
            dropped = [self._take(owner) for owner in chosen]
        for let_go in dropped:
            let_go()
        trim_heap()

    def _take_oldest(self, most: int) -> list[Callable[[], None]]:
        """Forget owners until at most so many bytes are left, but for the newest."""
        dropped = []
        while self.bytes > most and len(self._owners) > 1:
            dropped.append(self._take(next(iter(self._owners))))
        return dropped

    def _take(self, owner: Hashable) -> Callable[[], None]:
        size, release = self._owners.pop(owner)
        self.bytes -= size
        return release


def mappings() -> int:
    """How many memory mappings this process has; 0 where the system does not say."""
    try:
        return Path("/proc/self/maps").read_bytes().count(b"\n")
    except OSError:
        return 0


def _most_mappings() -> int:
    """Half of what the system allows: the other half is for what is not ours."""
    try:
        return int(Path("/proc/sys/vm/max_map_count").read_text(encoding="ascii")) // 2
    except (OSError, ValueError):
        return 2**15


EXECUTABLES = KeptExecutables(int(environment.EAGER_CODE_MEMORY.read()) << 20, _most_mappings())


def program_bytes(program: Any) -> int:
    """Estimated size of a whole program's executable."""
    return PROGRAM_BYTES + INSTRUCTION_BYTES * len(program.instructions)
