"""The rows of the features promised are shown with programs compiled as for users."""

import pytest


@pytest.fixture(autouse=True)
def _compiled_as_for_users(compiled_as_for_users: None) -> None:
    """Use the fixture in every test."""
