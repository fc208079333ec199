"""A sample of many alike cases: small enough for every run, another one each day."""

from __future__ import annotations

import zlib
from typing import NamedTuple

import pytest


class Sample(NamedTuple):
    """The cases that a run of the tests takes of those which are too many.

    A `seed` of None takes all of them.
    """

    seed: int | None

    def take(self, case: str, one_in: int) -> None:
        """Skip the test of `case` unless it belongs to the sample, one case in `one_in`."""
        if self.seed is not None and zlib.crc32(f"{self.seed} {case}".encode()) % one_in:
            pytest.skip("not in the sample; run with --exhaustive")
