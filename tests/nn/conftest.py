"""The modes in which tests of modules run."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.oracle import eager_mode
from tests.sampling import Sample

COMPILED_ONE_IN = 5


@pytest.fixture(autouse=True)
def _cold_or_compiled(request: pytest.FixtureRequest, sample: Sample) -> Iterator[None]:
    """Interpret the programs of a test; compile them whole in others on other days.

    Compiling is what takes the time. `tests.laws.test_modules_in_graphs` compiles modules, too.
    """
    is_compiled = sample.includes(request.node.nodeid, one_in=COMPILED_ONE_IN)
    with eager_mode("compiled" if is_compiled else "cold"):
        yield


@pytest.fixture(autouse=True)
def _quiet_torch(quiet_torch: None) -> None:
    """Ignore PyTorch's warnings in every test."""
