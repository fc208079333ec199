"""How the tests of modules run."""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import pytest

from tests.oracle import eager_mode


@pytest.fixture(autouse=True)
def _compile_whole_programs() -> Iterator[None]:
    """One compilation per program, not one per operation: modules record many operations."""
    with eager_mode("compiled"):
        yield


@pytest.fixture(autouse=True)
def _quiet_torch() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
