"""Fixtures that the tests of job functions share."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def _fresh_session(fresh_session: None) -> None:
    """Let every test begin without jobs and variables."""
