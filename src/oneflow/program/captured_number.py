"""Run-time numbers of a captured program that a random generator provides."""

from __future__ import annotations

from typing import Any


class CapturedNumber(int):
    """A seed or a stream number that every call of a captured program fills in anew.

    As an integer it is the number at the time of the capture.

    Attributes:
        generator: the generator that it comes from.
        draw: the number of the draw, counted from 0; None for the seed.
    """

    generator: Any
    draw: int | None

    def __new__(cls, number: int, generator: Any, draw: int | None) -> CapturedNumber:
        """Make the number of a draw from `generator`."""
        captured = super().__new__(cls, number)
        captured.generator, captured.draw = generator, draw
        return captured

    def next_number(self) -> CapturedNumber:
        """Return the number of the next draw."""
        assert self.draw is not None
        return CapturedNumber(self + 1, self.generator, self.draw + 1)
