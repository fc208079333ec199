"""A law for gradients that the table does not compare with PyTorch's, most of which it lacks.

They are compared with difference quotients of the values, and second gradients with those of the
first ones. `tests/primitives/test_special_functions.py` compares those of Bessel functions and
orthogonal polynomials, at whose samples quotients lose their digits.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

import oneflow as flow
from oneflow import Tensor
from tests.laws.test_operators import operators_that
from tests.oracle import FLOW, flat_tensors
from tests.samples.table import Case, Operator

# Rows whose values tell nothing about gradients.
NO_QUOTIENTS = {
    "cond_of_inverse": "its matrices are nearly singular",
    "linalg.eigvalsh": "one triangle is not read, and the gradient is symmetric",
    "svd": "vectors may have any sign",
    "svd_lowrank": "vectors may have any sign",
}


def _function_of_leaves(row: Operator, case: Case) -> tuple[Callable, tuple[Tensor, ...]]:
    """Return the call as a function of the tensors that take a gradient, and these tensors."""
    leaves = tuple(FLOW.arguments(case, "float64", row.name, with_grad=True).leaves)

    def call(*tensors: Tensor) -> tuple[Tensor, ...]:
        values = iter(tensors)
        arguments = FLOW.arguments(case, "float64", row.name, True, lambda leaf: next(values))
        outputs = flat_tensors(FLOW.function(row)(*arguments.args, **arguments.kwargs))
        return tuple(output for output in outputs if output.requires_grad)

    return call, leaves


def _has_gradient(call: Callable, leaves: tuple[Tensor, ...]) -> bool:
    """The result has a gradient; without one it is refused, and not wrong."""
    outputs = call(*leaves) if leaves else ()
    if not outputs:
        return False
    try:
        flow.autograd.grad([output.sum() for output in outputs], leaves, allow_unused=True)
    except NotImplementedError:
        return False
    return True


def _has_second_gradient(call: Callable, leaves: tuple[Tensor, ...]) -> bool:
    """Check the second gradient, unless it is refused."""
    try:
        return flow.autograd.gradgradcheck(call, leaves)
    except NotImplementedError:
        return False


@pytest.mark.one_in(2)
@operators_that(
    lambda family, row: not row.grad and family != "special" and row.name not in NO_QUOTIENTS
)
def test_gradients_are_those_of_differences(row: Operator) -> None:
    checked = 0
    for case in row.cases:
        call, leaves = _function_of_leaves(row, case)
        if not _has_gradient(call, leaves):
            continue
        checked += 1
        flow.autograd.gradcheck(call, leaves)
        if _has_second_gradient(call, leaves):
            continue
        for leaf in leaves:  # of some alone there may be one
            _has_second_gradient(call, tuple(x if x is leaf else x.detach() for x in leaves))
    if not checked:
        pytest.skip("it has no gradient")
