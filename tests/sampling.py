"""A sample of many alike cases: small enough for every run, another one each day."""

from __future__ import annotations

import random
import zlib
from collections.abc import Sequence
from typing import NamedTuple, TypeVar

import pytest

T = TypeVar("T")


class Sample(NamedTuple):
    """The cases that a run of the tests takes of those which are too many.

    A `seed` of None takes all of them.
    """

    seed: int | None

    def take(self, case: str, one_in: int) -> None:
        """Skip the test of `case` unless it belongs to the sample, one case in `one_in`."""
        if self.seed is not None and zlib.crc32(f"{self.seed} {case}".encode()) % one_in:
            pytest.skip("not in the sample; run with --exhaustive")

    def choose(self, cases: Sequence[T], count: int, owner: str) -> Sequence[T]:
        """Return `count` of the cases that `owner` has, or all of them if they are fewer."""
        if self.seed is None or len(cases) <= count:
            return cases
        return random.Random(f"{self.seed} {owner}").sample(cases, count)
