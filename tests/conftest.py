"""Settings of the whole test suite."""

from __future__ import annotations

import os

import numpy as np
import pytest
import torch

# Devices of one process, which stand for ranks in the tests of global tensors.
os.environ["ONEFLOW_CPU_DEVICES"] = "8"
import oneflow as flow

# Tests run in parallel processes; one thread each is the fair share, and sums repeat exactly.
torch.set_num_threads(1)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--exhaustive",
        action="store_true",
        help="run every sample of the operator table in every dtype, not a bounded number of them",
    )


@pytest.fixture(autouse=True)
def _fixed_seeds() -> None:
    """Every test starts from the same random state."""
    np.random.seed(0)
    torch.manual_seed(0)
    flow.manual_seed(0)


@pytest.fixture
def exhaustive(request: pytest.FixtureRequest) -> bool:
    """Whether the command line asked for all samples."""
    return request.config.getoption("--exhaustive")
