"""A law for elementwise operators: values and gradients at NaN, infinity and kinks are PyTorch's.

The numbers are few, because PyTorch's vectorised loops on the CPU decide differently at NaN than
its loops for the last few elements, which are those of its GPUs.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
import torch

import oneflow as flow
from tests.laws.test_operators import (
    _gradient_problem,
    _outcome,
    _problem,
    operators_that,
)
from tests.oracle import TORCH, eager_mode, to_numpy
from tests.samples.table import Case, Operator, TensorSample

FAMILIES = ("activations", "unary", "arithmetic")
VALUES = (math.nan, math.inf, -math.inf, 0.0, 1.0, -1.0, 0.5)
pytestmark = pytest.mark.usefixtures("quiet_torch")

# Both compute these and differ, with the reason.
DIFFERENT = {
    "digamma_below_0": "poles",
    "digamma": "poles of the gradient are infinite, not large",
    "polygamma": "poles are infinite, not large; the gradient at infinity",
    "Tensor.polygamma": "the same",
    "mvlgamma": "poles",
    "special.i1": "the gradient at NaN is NaN",
    "special.i1e": "the same",
    "special.log_ndtr": "the gradient at -infinity is infinite; PyTorch's is NaN",
    "nn.functional.gelu": "PyTorch's result at infinity depends on the number of elements",
    "copysign": "PyTorch's gradient at infinity is NaN",
    "polar": "PyTorch's gradients at NaN and infinity are NaN for either operand",
}


def _special_case(row: Operator) -> Case | None:
    """The first case with special numbers for its one or two tensors."""
    args = row.cases[0].args
    places = [
        index
        for index, argument in enumerate(args)
        if isinstance(argument, TensorSample) and argument.grad and argument.dtype is None
    ]
    if len(places) not in (1, 2):
        return None
    rows = list(itertools.product(VALUES, repeat=len(places)))
    given = list(args)
    for place, column in zip(places, zip(*rows, strict=True), strict=True):
        given[place] = TensorSample((len(column),), values=column)
    return Case(tuple(given), row.cases[0].kwargs)


@operators_that(
    lambda family, row: (
        family in FAMILIES and bool(row.gradient_dtypes) and row.name not in DIFFERENT
    )
)
def test_special_values_give_torchs_values_and_gradients(row: Operator) -> None:
    case = _special_case(row)
    if case is None or _outcome(TORCH, row, case, "float64")[1] is not None:
        pytest.skip("not a function of one or two tensors of any values")
    with eager_mode("cold"):
        problem = _problem(row, case, "float64") or _gradient_problem(row, case, "float64", 1)
    assert problem is None, problem


_DIFFERENT = [math.inf, -math.inf, 1.0, 0.2, math.nan, math.inf]
# Functions of an infinite operand whose other branch has an infinite slope, and their operands.
BRANCHES = {
    "prelu": ([math.inf, -1.0, 2.0, math.nan], [0.5]),
    "prelu of an infinite weight": ([3.0, 2.0], [math.inf]),
    "smooth_l1_loss": (_DIFFERENT, [0.0, 0.0, 0.5, math.inf, 0.0, math.inf]),
    "huber_loss": (_DIFFERENT, [0.0, 0.0, 0.5, math.inf, 0.0, math.inf]),
}


@pytest.mark.parametrize("mode", ["cold", "compiled"])
@pytest.mark.parametrize("name", BRANCHES)
def test_branches_that_are_not_taken_have_no_part_in_gradients(name: str, mode: str) -> None:
    gradients = []
    with eager_mode(mode):
        for library in (flow, torch):
            x, y = (library.tensor(column, requires_grad=True) for column in BRANCHES[name])
            function = getattr(library.nn.functional, name.split()[0])
            function(x, y).sum().backward()
            gradients.append([to_numpy(x.grad), to_numpy(y.grad)])
    for mine, theirs in zip(*gradients, strict=True):
        np.testing.assert_allclose(mine, theirs)


# Functions of a part of the real numbers; derivatives are formulas, which go on outside of it.
IN_PART = (
    *("acos", "acosh", "asin", "atanh", "erfinv", "log", "log10", "log1p", "log2", "logit"),
    *("rsqrt", "sqrt"),
)


@pytest.mark.parametrize("mode", ["cold", "compiled"])
@pytest.mark.parametrize("name", IN_PART)
def test_second_derivatives_outside_of_the_domain(name: str, mode: str) -> None:
    derivatives = []
    with eager_mode(mode):
        for library in (flow, torch):
            x = library.tensor([-3.0, -1.5, -0.5, 0.5, 1.5, 3.0], requires_grad=True)
            y = getattr(library, name)(x).sum()
            (slope,) = library.autograd.grad(y, x, create_graph=True)
            (second,) = library.autograd.grad(slope.sum(), x)
            derivatives.append([to_numpy(slope.detach()), to_numpy(second)])
    for mine, theirs in zip(*derivatives, strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-5)
