"""A law for every operator of the table: in dtypes that its row does not name it lies never.

Where PyTorch computes with complex or whole numbers, OneFlow refuses or gives PyTorch's result, of
PyTorch's dtype, and PyTorch's gradients. Where PyTorch refuses complex numbers, so does OneFlow,
unless what it gives is plainly what is meant.
"""

from __future__ import annotations

import pytest

from tests.laws.test_operators import (
    _gradient_problem,
    _outcome,
    every_operator,
    operators_that,
)
from tests.oracle import FLOW, TORCH, difference, eager_mode
from tests.samples.table import Case, Operator

CASES = 2
DTYPES = ("complex128", "int64")
pytestmark = pytest.mark.usefixtures("quiet_torch")

# Both compute these and differ, with the reason.
DIFFERENT = {
    ("cholesky", "complex128"): "PyTorch's gradient of the real diagonal is complex",
    ("cholesky_inverse", "complex128"): "PyTorch takes the imaginary part of the diagonal along",
    ("roi_align", "int64"): "the row's reference is written for floating point numbers",
    ("matmul_transposed", "int64"): "the row's reference multiplies by a float last",
    ("linalg.lstsq", "complex128"): "the residuals' dtype",
}
# PyTorch refuses complex numbers; OneFlow's sums, choices and formulas hold for them.
COMPLEX_ALL_THE_SAME = {
    *(f"nn.functional.{kind}_pool{n}d" for kind in ("avg", "lp") for n in (1, 2, 3)),
    "nn.functional.max_unpool2d",
    "nn.functional.embedding_bag",
    "nansum",
    "nanmean",
    "nn.functional.local_response_norm",
    "unique",
    "unique_consecutive",
    "isin",
    "deg2rad",
    "rad2deg",
    "logit",
}


def _complex_gradient_problem(row: Operator, case: Case) -> str | None:
    try:
        return _gradient_problem(row, case, "complex128", 1)
    except RuntimeError as error:
        if "does not support automatic differentiation" in str(error):  # PyTorch's
            return None
        raise


@every_operator
def test_other_dtypes_are_refused_or_give_torchs_results(row: Operator) -> None:
    problems = []
    with eager_mode("cold"):
        for dtype in DTYPES:
            if dtype in row.dtypes or (row.name, dtype) in DIFFERENT:
                continue
            for case in row.cases[:CASES]:
                theirs, their_error = _outcome(TORCH, row, case, dtype)
                mine, my_error = _outcome(FLOW, row, case, dtype)
                if their_error is not None or my_error is not None:
                    continue
                problem = difference(mine, theirs, row.tolerance, row.values)
                if not problem and dtype == "complex128" and row.grad and row.values:
                    problem = _complex_gradient_problem(row, case)
                if problem:
                    problems.append(f"{row.name}{case} in {dtype}: {problem}")
    if problems:
        pytest.fail("\n".join(problems), pytrace=False)


@operators_that(
    lambda family, row: "complex64" not in row.dtypes and row.name not in COMPLEX_ALL_THE_SAME
)
def test_complex_numbers_are_refused_where_torch_refuses_them(row: Operator) -> None:
    if _outcome(TORCH, row, row.cases[0], "complex64")[1] is None:
        pytest.skip("PyTorch takes complex numbers, too")
    with eager_mode("cold"):
        result, error = _outcome(FLOW, row, row.cases[0], "complex64")
    assert error is not None, f"{row.name}{row.cases[0]} gives {result!r}, torch refuses"
