"""Fixtures that the tests of job functions share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import oneflow as flow


@pytest.fixture(autouse=True)
def fresh_session() -> Iterator[None]:
    """Let every test begin without jobs and variables, and leave none."""
    flow.clear_default_session()
    yield
    flow.clear_default_session()
