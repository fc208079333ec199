"""Determinants; triangular matrices, row by row: what is exact enough without pivots."""

from __future__ import annotations

import numpy as np

from oneflow_onnx.oneflow2onnx import operators as o
from oneflow_onnx.oneflow2onnx.builder import GraphBuilder
from oneflow_onnx.oneflow2onnx.lowering import Call, Unsupported, lowering
from oneflow_onnx.oneflow2onnx.reference import Ref
from oneflow_onnx.oneflow2onnx.sizes import broadcast_shapes

# Rows up to which they are written one after the other.
_MOST_ROWS = 64


def _rows(x: Ref) -> int:
    """The number of rows of square matrices."""
    rows = x.shape[-1]
    if not isinstance(rows, int) or rows > _MOST_ROWS:
        raise Unsupported(f"triangular matrices of more than {_MOST_ROWS} rows, or of any number")
    return rows


def _block(b: GraphBuilder, x: Ref, rows: tuple[int, int], columns: tuple[int, int]) -> Ref:
    """The rows and columns from the first number up to the second one."""
    starts, sizes = zip(*((first, end - first) for first, end in (rows, columns)), strict=True)
    return o.slice_(b, x, [x.rank - 2, x.rank - 1], starts, sizes)


@lowering("solve_triangular")
def _solve_triangular(b: GraphBuilder, call: Call) -> Ref:
    """Substitution: each row of the solution from those that are known."""
    a, y = call.operands
    count = _rows(a)
    width = y.shape[-1]
    y = o.expand(b, y, call.result.shape)
    known: list[Ref] = []
    for row in range(count) if call["lower"] else reversed(range(count)):
        x = o.slice_(b, y, [y.rank - 2], [row], [1])
        if known:
            columns = (0, row) if call["lower"] else (row + 1, count)
            factors = _block(b, a, (row, row + 1), columns)
            above = o.concat(b, known, y.rank - 2)
            x = b.op("Sub", x, o.matmul(b, factors, above))
        if not call["unit_diagonal"]:
            shape = (*broadcast_shapes([a.shape[:-2], y.shape[:-2]]), 1, width)
            x = b.op("Div", x, _block(b, a, (row, row + 1), (row, row + 1)), shape=shape)
        known = [*known, x] if call["lower"] else [x, *known]
    return o.concat(b, known, y.rank - 2)


@lowering("cholesky")
def _cholesky(b: GraphBuilder, call: Call) -> list[Ref]:
    """Column by column; 1 for a matrix that is not positive definite."""
    (a,) = call.operands
    count, batch = _rows(a), a.shape[:-2]
    if not count:
        return [a, o.filled(b, batch, 0, np.dtype(np.int32))]
    columns: list[Ref] = []
    for place in range(count):
        column = _block(b, a, (place, count), (place, place + 1))
        if columns:
            left = o.concat(b, columns, a.rank - 1)
            below = _block(b, left, (place, count), (0, place))
            across = _block(b, left, (place, place + 1), (0, place))
            order = [*range(a.rank - 2), a.rank - 1, a.rank - 2]
            column = b.op("Sub", column, o.matmul(b, below, o.transpose(b, across, order)))
        pivot = b.op("Sqrt", _block(b, column, (0, 1), (0, 1)))
        column = b.op("Div", column, pivot)
        above = o.filled(b, (*batch, place, 1), 0, a.dtype)
        columns.append(o.concat(b, [above, column], a.rank - 2) if place else column)
    lower = o.concat(b, columns, a.rank - 1)
    failed = b.cast(b.op("IsNaN", lower, dtype=np.dtype(bool)), np.int32)
    info = o.reduce(b, "ReduceMax", failed, [a.rank - 2, a.rank - 1], keepdim=False)
    return [lower, info]


@lowering("check_info")
def _check_info(b: GraphBuilder, call: Call) -> Ref:
    """The matrix, whatever the check would say: a file cannot raise."""
    return call.operands[0]


@lowering("det")
def _det(b: GraphBuilder, call: Call) -> Ref:
    (x,) = call.operands
    # Those of up to three rows are formulas.
    if x.dtype != np.float32 or x.shape[-1] in (0, 1, 2, 3):
        raise Unsupported("determinants of a type for which runtimes have no `Det`")
    return b.op("Det", x, shape=call.result.shape)
