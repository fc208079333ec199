"""What this process has come to: the collective operations it has started, group by group.

All members of a group must start the same operations in the same order, or they wait for each other
for ever. Here each process notes what it starts, for about a microsecond; the hub compares.
"""

from __future__ import annotations

import zlib
from collections import deque
from dataclasses import dataclass, field
from typing import Any

# How many operations back two processes can be compared. They are seldom more than a few apart.
_REMEMBERED = 32


@dataclass
class Progress:
    """The operations that one process has started in one group.

    Attributes:
        count: how many.
        chain: a checksum over all of them.
        tail: the last ones: ``(count, chain, description)``.
    """

    count: int = 0
    chain: int = 0
    tail: deque[tuple[int, int, str]] = field(default_factory=lambda: deque(maxlen=_REMEMBERED))

    def add(self, description: str) -> None:
        """Note one more."""
        self.chain = zlib.crc32(description.encode(), self.chain)
        self.count += 1
        self.tail.append((self.count, self.chain, description))

    def as_json(self) -> list[Any]:
        """For a report."""
        return [self.count, list(self.tail)]


_progress: dict[tuple[int, ...], Progress] = {}


def note_collective(group: tuple[int, ...], description: str) -> None:
    """Note that this process is about to start a collective operation.

    Args:
        group: the ranks that take part, in ascending order.
        description: the operation with all that its members must agree upon (kind, shape, dtype),
            in words that are the same on all of them.
    """
    progress = _progress.get(group)
    if progress is None:
        progress = _progress[group] = Progress()
    progress.add(description)


def whole_record() -> dict[str, list[Any]]:
    """The progress in all groups, by the ranks of the group as text."""
    return {",".join(map(str, group)): each.as_json() for group, each in list(_progress.items())}


def operations_started() -> int:
    """How many operations this process has started in all groups."""
    return sum(each.count for each in list(_progress.values()))
