"""The ranks of process groups, which tell groups of the same processes apart."""

from __future__ import annotations

import functools
import itertools
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any


class GroupRanks(tuple[int, ...]):
    """The ranks of a group that was made beside others of the same processes.

    It equals no other group's, so that whatever is kept by ranks is kept by groups. A plain tuple
    stands for the group that needs none to be made: the job's, and those of placements.

    Args:
        ranks: in ascending order.
        number: which of the groups of these ranks it is, counted from 1 as they are made.
    """

    number: int

    def __new__(cls, ranks: Iterable[int], number: int) -> GroupRanks:
        """Return the ranks with the number."""
        self = super().__new__(cls, ranks)
        self.number = number
        return self

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, GroupRanks)
            and self.number == other.number
            and tuple.__eq__(self, other)
        )

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash((tuple(self), self.number))

    def __reduce__(self) -> tuple[Any, ...]:
        return GroupRanks, (tuple(self), self.number)


# The numbers of the groups of the same processes, which make them in the same order.
_numbers: dict[tuple[int, ...], Iterator[int]] = defaultdict(functools.partial(itertools.count, 1))


def next_number(ranks: tuple[int, ...]) -> int:
    """The number of a group of these ranks that is made now."""
    return next(_numbers[ranks])


def name_of_group(ranks: tuple[int, ...]) -> str:
    """The name of a group in reports: its ranks, separated by commas, and its number if any."""
    name = ",".join(map(str, ranks))
    return f"{name} of group {ranks.number}" if isinstance(ranks, GroupRanks) else name


def ranks_named(name: str) -> list[int]:
    """The ranks of a group from its name."""
    return [int(rank) for rank in name.partition(" ")[0].split(",")]


def ranks_of_group(ranks: Iterable[int], number: int) -> tuple[int, ...]:
    """The ranks of a group with a number; 0 stands for the one that is not made."""
    return GroupRanks(ranks, number) if number else tuple(ranks)


def number_of_group(ranks: tuple[int, ...]) -> int:
    """The number of a group of these ranks."""
    return ranks.number if isinstance(ranks, GroupRanks) else 0
