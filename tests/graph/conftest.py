"""The mode in which eager twins of graphs run."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.oracle import eager_mode
from tests.sampling import Sample

HOT_ONE_IN = 5


@pytest.fixture
def hot_twin() -> None:
    """Let the eager twin become hot: after many steps, rounding of other kernels would show."""


@pytest.fixture(autouse=True)
def _cold_or_hot(request: pytest.FixtureRequest, sample: Sample) -> Iterator[None]:
    """Interpret what is not a graph; in other tests on other days it becomes hot as usual."""
    is_hot = "hot_twin" in request.fixturenames
    if is_hot or sample.includes(request.node.nodeid, one_in=HOT_ONE_IN):
        yield
        return
    with eager_mode("cold"):
        yield
