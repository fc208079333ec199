"""Functions with several results give them by name, with `out=` as without it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import oneflow as flow

MATRIX = [[4.0, 1.0], [1.0, 3.0]]
CALLS: dict[str, Callable[..., Any]] = {
    "max": lambda x, **out: flow.max(x, 1, **out),
    "min": lambda x, **out: flow.min(x, 1, **out),
    "sort": lambda x, **out: flow.sort(x, **out),
    "topk": lambda x, **out: flow.topk(x, 1, **out),
    "kthvalue": lambda x, **out: flow.kthvalue(x, 1, **out),
    "mode": lambda x, **out: flow.mode(x, **out),
    "median": lambda x, **out: flow.median(x, 0, **out),
    "cummax": lambda x, **out: flow.cummax(x, 0, **out),
    "aminmax": lambda x, **out: flow.aminmax(x, dim=0, **out),
    "frexp": lambda x, **out: flow.frexp(x, **out),
    "triangular_solve": lambda x, **out: flow.triangular_solve(x, x, **out),
    **{
        name: (lambda x, name=name, **out: getattr(flow.linalg, name)(x, **out))
        for name in ("eigh", "eig", "slogdet", "qr", "svd", "lu", "inv_ex", "cholesky_ex")
    },
}


@pytest.mark.parametrize("name", CALLS)
def test_results_in_out_have_their_names(name: str) -> None:
    x = flow.tensor(MATRIX)
    plain = CALLS[name](x)
    out = tuple(flow.empty(part.shape, dtype=part.dtype) for part in plain)
    result = CALLS[name](x, out=out)
    # As in PyTorch a class of its own, here of the same fields.
    assert isinstance(result, type(plain))
    assert type(result).__name__ in (f"{type(plain).__name__}_out", type(plain).__name__)
    for field, part, target in zip(plain._fields, plain, out, strict=True):
        assert getattr(result, field) is target
        assert target.tolist() == part.tolist()


def test_results_may_be_put_into_those_of_a_call_before() -> None:
    before: Any = flow.max(flow.tensor(MATRIX), 1)
    result = CALLS["max"](flow.tensor(MATRIX).T, out=before)
    assert result.values is before.values
    assert result.values.tolist() == [4.0, 3.0]


@pytest.mark.parametrize("triangle", ["l", "u"])
def test_triangles_may_be_named_by_small_letters(triangle: str) -> None:
    x = flow.tensor([[4.0, 1.0], [2.0, 3.0]])
    expected = flow.linalg.eigvalsh(x, UPLO=triangle.upper())
    assert flow.linalg.eigvalsh(x, UPLO=triangle).tolist() == expected.tolist()
    with pytest.raises(RuntimeError, match="UPLO"):
        flow.linalg.eigvalsh(x, UPLO="x")


@pytest.mark.parametrize("batch", [(), (2,)])
def test_factors_of_matrices_without_rows_solve(batch: tuple[int, ...]) -> None:
    factors = flow.linalg.lu_factor(flow.empty(*batch, 0, 0))
    solution = flow.linalg.lu_solve(*factors, flow.empty(*batch, 0, 2))
    assert solution.tolist() == flow.empty(*batch, 0, 2).tolist()


EQUATIONS = {
    ". ..": "found '.' for operand 0 that is not part of any ellipsis",
    "i, . . .": "found '.' for operand 1 that is not part of any ellipsis",
    "... ...": "found '.' for operand 0 for which an ellipsis was already found",
    "1": "invalid subscript given at index 0",
    "a, b1": "invalid subscript given at index 4",
    "a->1": "invalid subscript given at index 3",
    ",": "fewer operands were provided than specified in the equation",
    "ai...": r"subscripts in the equation \(2\) is more than the number of dimensions \(1\)",
    "a->... .": r"found '.' for output but an ellipsis \(...\) was already found",
    "a->..": r"found '.' for output that is not part of any ellipsis \(...\)",
}


@pytest.mark.parametrize("equation", EQUATIONS)
def test_equations_that_mean_nothing_are_refused(equation: str) -> None:
    operands = [flow.ones(2)] * (1 if equation == "," else equation.count(",") + 1)
    with pytest.raises(RuntimeError, match=EQUATIONS[equation]):
        flow.einsum(equation, *operands)


def test_spaces_may_stand_between_subscripts() -> None:
    x = flow.ones(2, 3)
    assert flow.einsum(" ... i , i j -> ... j", x, x.T).tolist() == [[3.0, 3.0], [3.0, 3.0]]
