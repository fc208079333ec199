"""Sums of complex logarithms without phase, or without a number: as PyTorch's."""

import math

import numpy as np
import pytest
import torch

import oneflow as flow

_INF, _NAN = math.inf, math.nan
ROWS = (
    (complex(_INF, 0), 1, complex(-_INF, 0)),
    (complex(-_INF, 2), complex(-_INF, -1), 1 + 1j),
    (complex(-_INF, _INF), 1),
    (complex(-_INF, 1), 1j),
    (complex(_NAN, 0), 1),
    (1, complex(1, _NAN), 2),
    (complex(-_INF, _NAN), 1),
    (1, complex(-_INF, _NAN), 2),
    (complex(_INF, _NAN), 1),
    (complex(-_INF, 0), complex(_INF, 0)),
)


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("row", ROWS, ids=str)
def test_running_sums_of_complex_logarithms(row, dtype):
    results = [
        lib.logcumsumexp(lib.tensor(row, dtype=getattr(lib, dtype)), 0).numpy()
        for lib in (flow, torch)
    ]
    np.testing.assert_allclose(*results, rtol=1e-6)
