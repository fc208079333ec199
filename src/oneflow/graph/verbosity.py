"""The verbosity of a graph: `debug` prints while the graph is built."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass

from oneflow.base import cluster


@dataclass(frozen=True)
class Verbosity:
    """The amount printed while a graph is built.

    Attributes:
        level: -1 nothing, 0 the graph, 1 modules, 2 operators, 3 operators in detail.
        ranks: processes that print; -1 stands for all.
        stack_depth: how many of the user's lines level 3 shows per operator.
    """

    level: int = -1
    ranks: Sequence[int] = (0,)
    stack_depth: int = 2

    def here(self) -> Verbosity:
        """The verbosity of this process: `QUIET` unless its rank prints."""
        return self if -1 in self.ranks or cluster.rank() in self.ranks else QUIET

    def print(self, level: int, text: str) -> None:
        """Print `text` if the level is at least `level`."""
        if self.level >= level:
            sys.stdout.write(f"{text}\n")


QUIET = Verbosity()


def verbosity_of(v_level: int, ranks: int | Sequence[int] | None, stack_depth: int) -> Verbosity:
    """Return the verbosity for the arguments of `debug`.

    Raises:
        ValueError: a number is out of range.
    """
    if type(v_level) is not int or not -1 <= v_level <= 3:
        raise ValueError(f"`v_level` must be an integer from -1 to 3, got {v_level!r}")
    numbers = [ranks] if isinstance(ranks, int) else [0] if ranks is None else list(ranks)
    if any(type(rank) is not int or rank < -1 for rank in numbers):
        raise ValueError(f"`ranks` must be a rank, a list of ranks or -1, got {ranks!r}")
    if type(stack_depth) is not int or stack_depth < 0:
        raise ValueError(f"`max_py_stack_depth` must be an integer from 0, got {stack_depth!r}")
    return Verbosity(v_level, numbers, stack_depth)
