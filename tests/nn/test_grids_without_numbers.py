"""`grid_sample` at positions that are no numbers: PyTorch's values (its gradients there crash)."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
import torch

import oneflow as flow
from tests.oracle import eager_mode

NAN, INF = float("nan"), float("inf")
GRID = [
    [NAN, 0.0],
    [0.0, NAN],
    [NAN, NAN],
    [INF, 0.0],
    [0.1, -INF],
    [0.5, 1.6],
    [-0.5, 0.9],
    [3.0, 0.0],
]
CASES = [
    *itertools.product(
        ((2, 2), (5, 6)),
        ("bilinear", "nearest", "bicubic"),
        ("zeros", "border", "reflection"),
        (True, False),
    )
]


def sampled(f: Any, size: tuple[int, int], *options: Any) -> np.ndarray:
    image = f.arange(1.0, 1.0 + size[0] * size[1]).reshape(1, 1, *size)
    result = f.nn.functional.grid_sample(image, f.tensor([[GRID]]), *options)
    return np.array(result[0, 0, 0].tolist())


@pytest.mark.parametrize(
    ("case", "mode"),
    [
        *[(case, "cold") for case in CASES],
        *[(case, "compiled") for case in CASES if case[0] == (2, 2) and case[3]],
    ],
    ids=str,
)
def test_values_are_pytorchs(case: tuple[Any, ...], mode: str) -> None:
    size, interpolation, padding, align_corners = case
    expected = sampled(torch, size, interpolation, padding, align_corners)
    with eager_mode(mode):
        result = sampled(flow, size, interpolation, padding, align_corners)
    np.testing.assert_allclose(result, expected, rtol=1e-5)
