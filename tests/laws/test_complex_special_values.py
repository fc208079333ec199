"""Complex functions at zeros of both signs, infinite and NaN parts: PyTorch's values, cold and hot.

PyTorch follows Annex G of the C standard where it has the function.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch

import oneflow as flow
from tests.oracle import eager_mode

FUNCTIONS = [
    *("abs", "acos", "acosh", "angle", "asin", "asinh", "atan", "atanh", "cos", "cosh", "exp"),
    *("exp2", "expm1", "log", "log10", "log1p", "log2", "reciprocal", "rsqrt", "sigmoid", "sin"),
    *("sinh", "sqrt", "square", "tan", "tanh"),
]
PARTS = (0.0, -0.0, 1.0, -1.0, 0.5, -2.25, np.inf, -np.inf, np.nan)
# More than fit into a vector register, and not a multiple of it.
NUMBERS = np.array([complex(a, b) for a, b in itertools.product(PARTS, PARTS)] * 3)


def parts_of(array: np.ndarray) -> np.ndarray:
    """Return the real and imaginary parts."""
    return np.stack([array.real, array.imag])


def assert_same(name: str, got: np.ndarray, expected: np.ndarray, tolerance: float) -> None:
    """Compare parts; zeros by their signs, too."""
    ours, theirs = parts_of(got), parts_of(expected)
    np.testing.assert_allclose(ours, theirs, rtol=tolerance, atol=tolerance)
    is_zero = (theirs == 0) & (ours == 0)
    if name == "acos":  # PyTorch gives imaginary zeros of one sign in complex64, of another in 128
        is_zero[1] = False
    np.testing.assert_array_equal(np.signbit(ours)[is_zero], np.signbit(theirs)[is_zero])


@pytest.mark.parametrize("mode", ["cold", pytest.param("compiled", marks=pytest.mark.one_in(4))])
@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_values_are_pytorchs(name: str, dtype: str, mode: str) -> None:
    numbers = NUMBERS.astype(dtype)
    expected = getattr(torch, name)(torch.tensor(numbers)).numpy()
    with eager_mode(mode):
        got = getattr(flow, name)(flow.tensor(numbers)).numpy()
    assert got.dtype == expected.dtype
    assert_same(name, got, expected, 1e-5 if dtype == "complex64" else 1e-12)


@pytest.mark.parametrize("mode", ["cold", "compiled"])
def test_log1p_keeps_small_real_parts(mode: str) -> None:
    numbers = np.array([1e-10 + 1e-12j, -1e-10 + 1e-9j, 1e-200 + 1e-300j])
    with eager_mode(mode):
        got = flow.log1p(flow.tensor(numbers)).numpy()
    # Terms of the third order are below the rounding.
    assert_same("log1p", got / numbers, (1 - numbers / 2), 1e-15)
    np.testing.assert_allclose(got.real, (numbers - numbers**2 / 2).real, rtol=1e-15)


def test_values_in_a_graph() -> None:
    class Functions(flow.nn.Graph):
        def build(self, x):
            return [getattr(flow, name)(x) for name in FUNCTIONS]

    numbers = NUMBERS.astype(np.complex64)
    for name, got in zip(FUNCTIONS, Functions()(flow.tensor(numbers)), strict=True):
        expected = getattr(torch, name)(torch.tensor(numbers)).numpy()
        assert_same(name, got.numpy(), expected, 1e-5)
