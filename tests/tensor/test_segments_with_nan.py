"""Gradients of reductions of runs in which numbers are NaN or 0, beside PyTorch's."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch

import oneflow as flow

_NAN = math.nan
_ROWS = (
    [1.0, _NAN, 3.0, 4.0, 5.0, 5.0],
    [_NAN, _NAN, _NAN, 2.0, 2.0, 1.0],
    [0.0, 0.0, 3.0, 4.0, 5.0, 0.0],
    [2.0, 3.0, 0.0, 7.0, _NAN, 1.5],
)


def _gradient(library: Any, row: list[float], reduction: str, initial: float | None) -> np.ndarray:
    data = library.tensor(row, dtype=library.float64, requires_grad=True)
    lengths = library.tensor([1, 2, 3, 0])
    library.segment_reduce(data, reduction, lengths=lengths, initial=initial).sum().backward()
    return data.grad.numpy()


@pytest.mark.parametrize("row", _ROWS, ids=str)
@pytest.mark.parametrize("reduction", ["sum", "mean", "prod", "max", "min"])
@pytest.mark.parametrize("initial", [None, 0.5])
def test_gradients_of_runs_are_torchs(row: list, reduction: str, initial: float | None) -> None:
    expected = _gradient(torch, row, reduction, initial)
    np.testing.assert_allclose(_gradient(flow, row, reduction, initial), expected)


@pytest.mark.parametrize("reduction", ["amax", "amin"])
def test_numbers_that_are_nan_share_the_gradient_of_their_place(reduction: str) -> None:
    source = flow.tensor([1.0, _NAN, _NAN, 2.0], requires_grad=True)
    start = flow.tensor([0.0, 5.0], requires_grad=True)
    places = flow.tensor([0, 0, 0, 1])
    start.scatter_reduce(0, places, source, reduction).sum().backward()
    is_new = reduction == "amin"
    assert source.grad.tolist() == [0.0, 0.5, 0.5, float(is_new)]
    assert start.grad.tolist() == [0.0, float(not is_new)]
