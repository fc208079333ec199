"""A job that the tests of this folder start first and read last."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator

import pytest

from tests.distributed.launching import start


@pytest.fixture(scope="session")
def late_job() -> Iterator[subprocess.Popen[str]]:
    """A job that sleeps for 40 s, beside the tests before the one that reads it."""
    with start("fault.py", "starts late", "0") as job:
        yield job
        job.kill()
