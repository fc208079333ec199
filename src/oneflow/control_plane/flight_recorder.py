"""A record of the collective operations that this process has started, per process group.

All members of a group must start the same operations in the same order, or they block each other
forever. Each process records what it starts, which takes about a microsecond; the coordinator
compares the records.
"""

from __future__ import annotations

import zlib
from collections import deque
from dataclasses import dataclass, field
from typing import Any

from oneflow.base.group_ranks import name_of_group

# Operations back by which two processes can be compared. They are seldom more than a few apart.
_TAIL_LENGTH = 32


@dataclass
class Progress:
    """The collective operations that one process has started in one group.

    Attributes:
        count: the number of operations.
        digest: a checksum of all of them in order.
        tail: the last operations: ``(count, digest, description)``.
    """

    count: int = 0
    digest: int = 0
    tail: deque[tuple[int, int, str]] = field(default_factory=lambda: deque(maxlen=_TAIL_LENGTH))

    def add(self, description: str) -> None:
        """Add the next operation."""
        self.digest = zlib.crc32(description.encode(), self.digest)
        self.count += 1
        self.tail.append((self.count, self.digest, description))

    def remove_last(self) -> None:
        """Remove the last operation."""
        self.tail.pop()
        self.count -= 1
        self.digest = self.tail[-1][1] if self.tail else 0

    def as_json(self) -> list[Any]:
        """Return count and tail, as a report contains them."""
        return [self.count, list(self.tail)]


_progress: dict[tuple[int, ...], Progress] = {}


def record_collective(group: tuple[int, ...], description: str) -> int:
    """Record that this process is about to start a collective operation; return its number.

    Args:
        group: the participating ranks in ascending order.
        description: the operation with everything that the members must agree on (kind, shape,
            dtype); the same text on all of them.
    """
    progress = _progress.get(group)
    if progress is None:
        progress = _progress[group] = Progress()
    progress.add(description)
    return progress.count


def forget_collective(group: tuple[int, ...]) -> None:
    """Remove the last record: the operation was interrupted before it exchanged anything.

    What this process starts next is compared with what the others have started in its place.
    """
    _progress[group].remove_last()


def progress_by_group() -> dict[str, list[Any]]:
    """Return the progress in all groups; see `name_of_group` for the keys."""
    return {name_of_group(group): progress.as_json() for group, progress in list(_progress.items())}
