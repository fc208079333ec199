"""A law for functions of one number: gradients in float32 are those in float64.

A slope that is a difference of nearly equal numbers loses its digits near the point where they are
equal, in float32 long before any sample shows it; so the points have every order of magnitude.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

import oneflow as flow
from tests.laws.test_operators import operators_that
from tests.oracle import FLOW, eager_mode, to_numpy
from tests.samples.table import Operator, TensorSample

FAMILIES = ("activations", "unary")
_MAGNITUDES = np.exp(np.linspace(math.log(1e-30), math.log(1e2), 60))
_NEAR_ONE = np.exp(np.linspace(math.log(1e-7), math.log(0.3), 20))
POINTS = np.concatenate([_MAGNITUDES, 1 - _NEAR_ONE, 1 + _NEAR_ONE])
POINTS = np.concatenate([POINTS, -POINTS]).astype(np.float32)
ACROSS_ELEMENTS = {f"nn.functional.{name}" for name in ("softmax", "log_softmax", "softmin")}
# Errors count relative to the gradient, or to this if it is smaller.
LEAST = 1e-3
LARGEST = 1e37  # beyond, an intermediate number may overflow


def _gradients(row: Operator, dtype: str) -> list[np.ndarray] | None:
    """The first gradient at all points and, if there is one, the second; None for no such row."""
    case = row.cases[0]
    samples = [
        sample for sample in (*case.args, *case.kwargs.values()) if isinstance(sample, TensorSample)
    ]
    if len(samples) != 1 or not samples[0].grad or samples[0].dtype is not None:
        return None
    x = flow.tensor(POINTS.astype(dtype), requires_grad=True)
    arguments = [x if argument is samples[0] else argument for argument in case.args]
    if all(argument is not x for argument in arguments):
        return None
    output = FLOW.function(row)(*arguments, **case.kwargs)
    if not isinstance(output, flow.Tensor) or output.shape != x.shape or not output.requires_grad:
        return None
    (first,) = flow.autograd.grad(output.sum(), x, create_graph=row.second_grad)
    if not row.second_grad or not first.requires_grad:
        return [to_numpy(first)]
    return [to_numpy(first), to_numpy(flow.autograd.grad(first.sum(), x)[0])]


@pytest.mark.parametrize("mode", ["cold", pytest.param("compiled", marks=pytest.mark.one_in(8))])
@operators_that(
    lambda family, row: (
        family in FAMILIES and "float64" in row.gradient_dtypes and row.name not in ACROSS_ELEMENTS
    )
)
def test_gradients_keep_their_digits(row: Operator, mode: str) -> None:
    with eager_mode(mode):
        single, double = _gradients(row, "float32"), _gradients(row, "float64")
    if single is None or double is None:
        pytest.skip("not a function of one number")
    is_in_range = np.ones(POINTS.shape, bool)
    for order, (got, expected) in enumerate(zip(single, double, strict=True), 1):
        is_in_range &= np.isfinite(expected) & (np.abs(expected) < LARGEST)
        with np.errstate(invalid="ignore"):
            errors = np.abs(got - expected) / np.maximum(np.abs(expected), LEAST)
        worst = int(np.argmax(np.where(is_in_range, np.nan_to_num(errors, nan=np.inf), 0)))
        assert not is_in_range[worst] or errors[worst] < 1e-2, (
            f"order {order} at {POINTS[worst]}: {got[worst]}, in float64 {expected[worst]}"
        )
