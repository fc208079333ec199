"""Every operator of the table in `tests/samples`, exported and run by ONNX Runtime."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pytest

import oneflow as flow
from oneflow_onnx.oneflow2onnx.errors import UnsupportedOperatorsError
from oneflow_onnx.oneflow2onnx.sizes import DynamicSizeError
from tests.onnx.runtime import difference, exported, run, session_of
from tests.oracle import FLOW, flat_tensors
from tests.samples.table import Case, Operator, operators
from tests.sampling import Sample

ROWS = [(family, row) for family, row in operators() if row.values]
# The number of cases that run of each row; the rest with --exhaustive.
CASES = 3
OPSETS = (None, 13, 17, 21)
TOLERANCE = 2e-4

# Rows that are exported but cannot be compared, and why.
INCOMPARABLE = {
    "as_strided": "an input of a graph has no strides",
    "linalg.eig": "eigenvalues have no order: see test_linear_algebra.py",
    "linalg.eigvals": "eigenvalues have no order: see test_linear_algebra.py",
    "pow_modulo_integers": "ONNX Runtime computes powers of integers in floats",
    "Tensor.bfloat16": "ONNX Runtime gives no NumPy array of bfloat16",
}
# Rows of which ONNX leaves open what NaN or infinity gives: ONNX Runtime compares NaN.
_EXTREMES = ("max", "min", "amax", "amin", "argmax", "argmin")
_POOLS = ("nn.functional.max_pool2d", "nn.functional.fractional_max_pool2d")
FINITE_ONLY = frozenset((*_EXTREMES, *_POOLS, "atan2"))
# Rows whose gradients call primitives that have a lowering and that no row calls itself.
WITH_GRADIENTS = ("nn.functional.grouped_mm", "fake_quantize_per_tensor_affine", "renorm")


def cases(row: Operator, exhaustive: bool) -> Iterator[Case]:
    """The cases that run of a row."""
    for case in row.cases if exhaustive else row.cases[:CASES]:
        if row.name not in FINITE_ONLY or not ("nan" in str(case) or "inf" in str(case)):
            yield case


def expected(row: Operator, case: Case, call: Callable) -> list[flow.Tensor] | None:
    """The results of `call` for a case of a row; None where it raises or gives no tensors."""
    arguments = FLOW.arguments(case, row.dtypes[0], row.name)
    try:
        result = call(*arguments.args, **arguments.kwargs)
        return [tensor.clone() for tensor in flat_tensors(result)] or None
    except Exception:
        return None


def with_tensors(value: Any, tensors: Iterator[flow.Tensor]) -> Any:
    """The value with these tensors in place of its own."""
    if isinstance(value, flow.Tensor):
        return next(tensors)
    if type(value) in (list, tuple):
        return type(value)(with_tensors(part, tensors) for part in value)
    return value


def as_pairs(tensors: Iterable[flow.Tensor]) -> tuple[flow.Tensor, ...]:
    """Tensors, complex ones as pairs of real numbers."""
    return tuple(
        [flow.view_as_real(tensor) if tensor.is_complex() else tensor for tensor in tensors]
    )


def gradients_of(function: Callable) -> Callable:
    """The function that gives the gradients of the sum of the squares of what `function` gives."""

    def gradients(*args: Any, **kwargs: Any) -> tuple[flow.Tensor | None, ...]:
        tensors = flat_tensors([args, list(kwargs.values())])
        copies = [x.detach().requires_grad_(x.is_floating_point()) for x in tensors]
        given = iter(copies)
        args = with_tensors(args, given)
        kwargs = {key: with_tensors(value, given) for key, value in kwargs.items()}
        squares = [(y * y).sum() for y in flat_tensors(function(*args, **kwargs))]
        return flow.autograd.grad(squares, [x for x in copies if x.requires_grad])

    return gradients


def problem(
    row: Operator, case: Case, opset: int | None, call: Callable | None = None
) -> str | None:
    """Say what is wrong with a case, if anything is, of the row's function or of another `call`."""
    call = call or FLOW.function(row)
    wanted = expected(row, case, call)
    if wanted is None:
        return None
    arguments = FLOW.arguments(case, row.dtypes[0], row.name)
    inputs = flat_tensors([arguments.args, list(arguments.kwargs.values())])

    def function(*given: flow.Tensor) -> tuple[flow.Tensor, ...]:
        """The operator, complex numbers as pairs at the border."""
        pairs = zip(given, inputs, strict=True)
        tensors = iter([flow.view_as_complex(x) if y.is_complex() else x for x, y in pairs])
        args = with_tensors(arguments.args, tensors)
        kwargs = {key: with_tensors(value, tensors) for key, value in arguments.kwargs.items()}
        return as_pairs(flat_tensors(call(*args, **kwargs)))

    flat = as_pairs(inputs)

    try:
        proto = exported(function, flat, opset=opset)
    except RuntimeError as error:
        if "read inside `build`" in str(error):
            return None
        raise
    except DynamicSizeError as error:
        if "sizes from values" in str(error):
            return None
        raise
    return difference(run(session_of(proto), flat), as_pairs(wanted), TOLERANCE * row.tolerance)


@pytest.mark.parametrize(
    "row", [pytest.param(row, id=f"{family}-{row.name}") for family, row in ROWS]
)
def test_operator(row: Operator, exhaustive: bool) -> None:
    if row.name in INCOMPARABLE:
        pytest.skip(INCOMPARABLE[row.name])
    problems = []
    for case in cases(row, exhaustive):
        try:
            found = problem(row, case, None)
        except UnsupportedOperatorsError as error:
            problems.append(f"{case}: {error}")
            continue
        if found is not None:
            problems.append(f"{case}: {found}")
    assert not problems, "\n".join(problems)


@pytest.mark.parametrize("name", WITH_GRADIENTS)
def test_gradients(name: str) -> None:
    row = next(row for _, row in ROWS if row.name == name)
    gradients = gradients_of(FLOW.function(row))
    for case in row.cases:
        assert expected(row, case, gradients), f"{case} has no gradients"
        assert problem(row, case, None, gradients) is None, str(case)


@pytest.mark.parametrize("opset", OPSETS[1:])
def test_operators_in_later_opsets(opset: int, sample: Sample) -> None:
    """Some operators of each family in opsets beyond the default."""
    problems = []
    for family, row in ROWS:
        if row.name in INCOMPARABLE or not row.cases:
            continue
        if not sample.includes(f"{family} {row.name} {opset}", one_in=12):
            continue
        try:
            found = problem(row, row.cases[0], opset)
        except ValueError as error:
            found = None if "cannot express the model" in str(error) else repr(error)
        if found is not None:
            problems.append(f"{row.name}{row.cases[0]}: {found}")
    assert not problems, "\n".join(problems)
