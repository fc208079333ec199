"""A sample of many alike cases: small enough for every run."""

from __future__ import annotations

import random
import zlib
from collections.abc import Iterable, Sequence
from typing import TypeVar

import pytest

T = TypeVar("T")
# Why a case is skipped.
NOT_CHOSEN = "not in the sample; run with --exhaustive"


class Sample:
    """The cases that a run of the tests takes of those which are too many.

    Args:
        seed: says which; None takes all.

    Attributes:
        is_whole: all cases are taken: of everything, or of the test that runs.
    """

    def __init__(self, seed: int | None) -> None:
        self.seed = 0 if seed is None else seed
        self.is_whole = seed is None

    def take(self, case: str, one_in: int) -> None:
        """Skip the test of `case` unless it belongs to the sample, one case in `one_in`."""
        if not self.includes(case, one_in):
            pytest.skip(NOT_CHOSEN)

    def includes(self, case: str, one_in: int) -> bool:
        """Return True if `case` belongs to the sample, one case in `one_in`."""
        return self.is_whole or zlib.crc32(f"{self.seed} {case}".encode()) % one_in == 0

    def rotation(self, cases: Iterable[T], count: int = 1) -> list[T]:
        """Return the `count` of the cases whose turn it is.

        Every seed has as many, and each comes again after `len(cases) / count` seeds, rounded up:
        for cases of which each takes seconds.
        """
        cases = list(cases)
        if self.is_whole or len(cases) <= count:
            return cases
        first = self.seed * count % len(cases)
        return (cases + cases)[first : first + count]

    def take_turns(self, cases: Iterable[T], case: T, count: int = 1) -> None:
        """Skip the test of `case` unless it is in the `rotation`."""
        if case not in self.rotation(cases, count):
            pytest.skip(NOT_CHOSEN)

    def choose(self, cases: Sequence[T], count: int, owner: str) -> Sequence[T]:
        """Return `count` of the cases that `owner` has, or all of them if they are fewer."""
        if self.is_whole or len(cases) <= count:
            return cases
        return random.Random(f"{self.seed} {owner}").sample(cases, count)
