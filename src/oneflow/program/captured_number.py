"""Run-time numbers that a random generator provides."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from oneflow.base.spec import TensorSpec
from oneflow.program.ir import Program


class CapturedNumber(int):
    """A seed or a stream number that every call of a captured program fills in anew.

    As an integer it is the number at the time of the capture.

    Attributes:
        generator: the generator that it comes from.
        draw: the number of the draw, counted from 0; None for the seed.
        ranks: the processes that all take the seed of the first of them; None: each takes its own.
    """

    generator: Any
    draw: int | None
    ranks: tuple[int, ...] | None

    def __new__(
        cls,
        number: int,
        generator: Any,
        draw: int | None,
        ranks: tuple[int, ...] | None = None,
    ) -> CapturedNumber:
        """Make the number of a draw from `generator`."""
        captured = super().__new__(cls, number)
        captured.generator, captured.draw, captured.ranks = generator, draw, ranks
        return captured

    def with_ranks(self, ranks: tuple[int, ...]) -> CapturedNumber:
        """Return the number for a draw that these processes make together."""
        return CapturedNumber(self, self.generator, self.draw, ranks)

    def same_number(self) -> CapturedNumber:
        """Return the number as another object: by it a draw that is made again is told apart."""
        return CapturedNumber(self, self.generator, self.draw, self.ranks)

    def next_number(self) -> CapturedNumber:
        """Return the number of the next draw."""
        assert self.draw is not None
        return CapturedNumber(self + 1, self.generator, self.draw + 1)


class Seed(int):
    """A seed of a process of several.

    Attributes:
        seed_count: how often the process had seeded a generator when this became the seed.
        is_shared: True if all processes of the draw have it.
    """

    seed_count: int
    is_shared: bool

    def __new__(cls, number: int, seed_count: int = 0, is_shared: bool = False) -> Seed:
        """Make the seed of a generator, or one that is shared."""
        seed = super().__new__(cls, number)
        seed.seed_count, seed.is_shared = seed_count, is_shared
        return seed


def with_shared_draws(program: Program, numbers: Sequence[Any]) -> Program:
    """The program, in which a backward pass reads a draw's numbers where the forward pass does.

    So the compiler sees that both draw the same. A checkpoint, which draws it again to save memory,
    has numbers of its own.

    Args:
        program: the program.
        numbers: its run-time numbers.
    """
    first = len(program.inputs)
    places: dict[tuple[int, TensorSpec], int] = {}
    shared = {
        first + index: places.setdefault((id(number), program.scalars[index]), first + index)
        for index, number in enumerate(numbers)
        if type(number) is CapturedNumber
    }
    instructions = tuple(
        replace(
            instruction, operands=tuple(shared.get(value, value) for value in instruction.operands)
        )
        for instruction in program.instructions
    )
    return replace(program, instructions=instructions)
