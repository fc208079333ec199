"""A law for every operator that sums: half precision holds its results, not what leads to them.

Squares, products and sums of half precision overflow beyond 65504 and vanish below 6e-8. PyTorch
computes them in single precision, so norms of large and of small numbers are right.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

from oneflow.primitives.registry import PRIMITIVES
from oneflow.tensor.call import wrap
from oneflow.tensor.views import unwrap
from tests.laws.test_operators import operators_that
from tests.oracle import (
    FLOW,
    TORCH,
    differentiated,
    dtype_name,
    eager_mode,
    flat_tensors,
    to_numpy,
)
from tests.samples.table import Case, Operator, TensorSample

# Cases that run one operation after the other, and those that run as one executable.
CASES = {"cold": 2, "compiled": 1}
FAMILIES = (
    "activations",
    "layers",
    "linear_algebra",
    "losses",
    "normalization",
    "pooling",
    "reduction",
)
SIZES = (1e-4, 300.0, 4e4)
# Relative to the largest number; the smallest ones that half precision has are 6e-8 apart.
RELATIVE, ABSOLUTE = 0.02, 2e-7
pytestmark = pytest.mark.usefixtures("quiet_torch")

# PyTorch itself computes these in half precision.
DIFFERENT = {
    ("logcumsumexp", 300.0): "logarithms, from which it takes the gradient",
    ("logcumsumexp", 4e4): "likewise",
    ("nn.functional.local_response_norm", 300.0): "squares",
    ("std", 4e4): "twice the deviation, by which it divides the gradient",
    ("std_mean", 4e4): "likewise",
}


def _resized(value: Any, size: float) -> Any:
    """A sample with random numbers up to about `size`; others as they are."""
    if isinstance(value, TensorSample):
        if value.values is not None or value.dtype is not None:
            return value
        low, high = value.low * size / 2, value.high * size / 2
        return dataclasses.replace(value, low=low, high=high)
    if type(value) in (list, tuple):
        return type(value)(_resized(part, size) for part in value)
    return value


def _resized_case(case: Case, size: float) -> Case:
    args = tuple(_resized(value, size) for value in case.args)
    return Case(args, {name: _resized(value, size) for name, value in case.kwargs.items()})


def _results(library: Any, row: Operator, case: Case) -> list[Any]:
    """The results of a call, and its gradients."""
    arguments = library.arguments(case, "float16", row.name, with_grad=row.grad)
    results = flat_tensors(library.function(row)(*arguments.args, **arguments.kwargs))
    if not row.grad:
        return results
    arguments = library.arguments(case, "float16", row.name, with_grad=True)
    _, levels = differentiated(library, row, arguments, row.name, 1)
    return results + (levels[0] or [])


def _problem(mine: Any, theirs: Any) -> str | None:
    if theirs is None or mine is None:
        return None
    if dtype_name(mine) != dtype_name(theirs):
        return f"dtype {dtype_name(mine)}, expected {dtype_name(theirs)}"
    ours, expected = (to_numpy(tensor).astype(np.float64) for tensor in (mine, theirs))
    finite = np.isfinite(expected)
    largest = np.max(np.abs(expected[finite]), initial=0.0)
    with np.errstate(invalid="ignore"):
        close = np.abs(ours - expected) <= RELATIVE * largest + ABSOLUTE
    return None if np.all(close[finite]) else f"{ours.tolist()}, expected {expected.tolist()}"


@pytest.mark.one_in(4)
@operators_that(lambda family, row: family in FAMILIES and row.values)
@pytest.mark.parametrize("mode", CASES)
def test_large_and_small_numbers_of_half_precision(row: Operator, mode: str) -> None:
    problems = []
    with eager_mode(mode):
        for size in SIZES:
            for case in row.cases[: CASES[mode]] if (row.name, size) not in DIFFERENT else ():
                call = _resized_case(case, size)
                try:
                    expected = _results(TORCH, row, call)
                except (RuntimeError, NotImplementedError):  # not in half precision
                    continue
                # Gradients of what is not finite are none.
                if not all(np.all(np.isfinite(to_numpy(x))) for x in expected if x is not None):
                    continue
                results = _results(FLOW, row, call)
                for mine, theirs in zip(results, expected, strict=False):
                    problem = _problem(mine, theirs)
                    if problem:
                        problems.append(f"{row.name}{call}: {problem}")
    if problems:
        pytest.fail("\n".join(problems), pytrace=False)


# Attributes of reductions, and what PyTorch calls them.
REDUCTIONS = {
    "mean": ("mean", {}),
    "nanmean": ("nanmean", {}),
    "norm2": ("linalg.vector_norm", {}),
    "std": ("std", {"correction": 1.0}),
    "var": ("var", {"correction": 1.0}),
}


@pytest.mark.parametrize("size", [1e-4, 200.0])
@pytest.mark.parametrize("name", REDUCTIONS)
def test_reductions_and_their_decompositions(name: str, size: float) -> None:
    numbers = np.float16(size) * np.array([[1.0, -1.25, 1.0, 0.0625]], np.float16)
    called, attributes = REDUCTIONS[name]
    primitive = PRIMITIVES[name]
    decomposition = primitive.traits.decomposition
    given = TORCH.make(numbers).requires_grad_()
    expected = TORCH.function(Operator(called, ()))(given, dim=1, **attributes)
    expected.sum().backward()
    for function in filter(None, (primitive, decomposition and decomposition.function)):
        x = FLOW.make(numbers).requires_grad_()
        result = wrap(function(unwrap(x), dims=(1,), **attributes))
        result.sum().backward()
        assert _problem(result, expected) is None
        assert _problem(x.grad, given.grad) is None
