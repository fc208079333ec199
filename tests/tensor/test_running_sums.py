"""Sums and products so far keep their precision over many elements."""

import numpy as np
import pytest
import torch

import oneflow as flow
from tests.oracle import eager_mode

# Many elements along the dimension; in the last, few results side by side.
SHAPES = [((100_000, 16), 0), ((16, 100_000), 1), ((100_000,), 0)]


@pytest.mark.parametrize("mode", ["cold", "compiled"])
@pytest.mark.parametrize(("shape", "dim"), SHAPES)
def test_long_sums_are_as_exact_as_pytorchs(shape, dim, mode):
    x = np.random.default_rng(0).random(shape, np.float32)
    exact = x.cumsum(dim, dtype=np.float64)
    with eager_mode(mode):
        error = np.abs(flow.tensor(x).cumsum(dim).numpy() - exact).max()
    # A sum that is rounded after each element is off by a hundred times as much.
    assert error < 16 * np.abs(torch.tensor(x).cumsum(dim).numpy() - exact).max()


@pytest.mark.parametrize("mode", ["cold", "compiled"])
def test_long_products_are_as_exact_as_pytorchs(mode):
    x = 1 + 1e-4 * np.random.default_rng(0).standard_normal((50_000, 16)).astype(np.float32)
    exact = x.cumprod(0, dtype=np.float64)
    with eager_mode(mode):
        error = np.abs(flow.tensor(x).cumprod(0).numpy() / exact - 1).max()
    assert error < 16 * np.abs(torch.tensor(x).cumprod(0).numpy() / exact - 1).max()
