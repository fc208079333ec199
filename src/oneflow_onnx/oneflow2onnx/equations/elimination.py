"""Elimination: triangular factors of matrices, and equations with triangular matrices.

Each step of a loop computes one column, or one row, of all matrices of a batch.
"""

from __future__ import annotations

import math

import numpy as np

from oneflow_onnx.oneflow2onnx import operators as o
from oneflow_onnx.oneflow2onnx.builder import INT64, OnnxBuilder
from oneflow_onnx.oneflow2onnx.equations.table import Equation, equation_lowering
from oneflow_onnx.oneflow2onnx.formulas import (
    Formula,
    last_position,
    positions,
    repeated,
    row_numbers,
)
from oneflow_onnx.oneflow2onnx.reference import Ref

INT32 = np.dtype(np.int32)


def _swap_rows(x: Formula, row: Formula, one: Formula, other: Formula) -> Formula:
    """`x` with two rows exchanged; `other` may differ from matrix to matrix: [..., 1, 1]."""
    at_one, at_other = row.equals(one), row.equals(other)
    first, second = x.at(one, -2), at_other.where(x, 0).reduced("ReduceSum", -2)
    return at_one.where(second, at_other.where(first, x))


@equation_lowering("lu")
def _lu(b: OnnxBuilder, equation: Equation) -> list[Ref]:
    """Both triangles in one matrix, the pivots, and the order of the rows.

    Gaussian elimination with partial pivoting: Golub and Van Loan, Matrix Computations, 3.4.
    """
    a = Formula(b, equation.operands[0])
    *batch, rows, columns = a.shape
    count = equation.shapes[1][-1]
    row, number = row_numbers(b, rows), row_numbers(b, count)
    column = positions(b, columns)

    def step(k: Formula, values: list[Formula]) -> list[Formula]:
        a, pivots, order = values
        sizes = (row < k).where(-1, a.at(k, -1).abs())
        dim = sizes.ref.rank - 2
        shape = (*batch, 1, 1)
        place = Formula(b, b.op("ArgMax", sizes.ref, shape=shape, dtype=INT64, axis=dim))
        a, order = (_swap_rows(matrix, row, k, place) for matrix in (a, order))
        current = a.at(k, -1)
        pivot = current.at(k, -2)
        factors = (row > k).where(current / pivot.equals(0).where(1, pivot), 0)
        below = (row > k) & column.equals(k)
        rest = a - factors * (column > k).where(a.at(k, -2), 0)
        return [below.where(factors, rest), number.equals(k).where(place, pivots), order]

    start = [a, (number * 0).expanded(*batch, count, 1), row.expanded(*batch, rows, 1)]
    a, pivots, order = repeated(count, start, step)
    vectors = (o.squeeze(b, x.ref, [x.ref.rank - 1]) for x in (pivots, order))
    return [a.ref, *(b.cast(x, INT32) for x in vectors)]


@equation_lowering("lu_pivots_to_permutation")
def _permutation(b: OnnxBuilder, equation: Equation) -> Ref:
    """The order of rows after exchanging each with its pivot, one after the other."""
    (pivots,) = equation.operands
    *batch, rows = equation.shape
    row = row_numbers(b, rows)
    others = Formula(b, o.unsqueeze(b, b.cast(pivots, INT64), [pivots.rank]))

    def step(k: Formula, values: list[Formula]) -> list[Formula]:
        return [_swap_rows(values[0], row, k, others.at(k, -2))]

    (order,) = repeated(pivots.shape[-1], [row.expanded(*batch, rows, 1)], step)
    return b.cast(o.squeeze(b, order.ref, [order.ref.rank - 1]), equation.dtype)


@equation_lowering("triangular_solve")
def _triangular_solve(b: OnnxBuilder, equation: Equation) -> Ref:
    """Substitution: each row of the solution from those that are known."""
    a, y = (Formula(b, operand) for operand in equation.operands)
    # From the right: the transposed equation.
    if not equation["left_side"]:
        y = y.transposed
    transposed = equation["transpose_a"] == equation["left_side"]
    a = a.transposed if transposed else a
    lower = equation["lower"] != transposed
    row, column = row_numbers(b, a.shape[-1]), positions(b, a.shape[-1])
    last = last_position(b, a.shape[-1])
    others = ((row > column) if lower else (row < column)).where(a, 0)

    def step(number: Formula, values: list[Formula]) -> list[Formula]:
        (x,) = values
        k = number if lower else last - number
        solution = y.at(k, -2) - others.at(k, -2) @ x
        if not equation["unit_diagonal"]:
            solution = solution / a.at(k, -2).at(k, -1)
        return [row.equals(k).where(solution, x)]

    (x,) = repeated(a.shape[-1], [Formula(b, o.filled(b, y.shape, 0, y.ref.dtype))], step)
    return x.ref if equation["left_side"] else x.transposed.ref


@equation_lowering("cholesky")
def _cholesky(b: OnnxBuilder, equation: Equation) -> Ref:
    """Column by column; NaN for a matrix that is not positive definite."""
    a = Formula(b, equation.operands[0])
    row, column = row_numbers(b, a.shape[-1]), positions(b, a.shape[-1])

    def step(k: Formula, values: list[Formula]) -> list[Formula]:
        (lower,) = values
        rest = a.at(k, -1) - lower @ lower.at(k, -2).transposed
        factor = (row < k).where(0, rest / rest.at(k, -2).sqrt())
        return [column.equals(k).where(factor, lower)]

    (lower,) = repeated(a.shape[-1], [Formula(b, o.filled(b, a.shape, 0, equation.dtype))], step)
    dim = lower.ref.rank - 2
    missing = lower.apply("IsNaN", dtype=np.dtype(bool)).ref
    failed = Formula(b, o.any_nonzero(b, missing, [dim, dim + 1]))
    return failed.where(math.nan, lower).ref
