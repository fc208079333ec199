"""Orthogonal factors of matrices by Householder's reflections, with LAPACK's signs."""

from __future__ import annotations

from oneflow_onnx.oneflow2onnx import operators as o
from oneflow_onnx.oneflow2onnx.builder import OnnxBuilder
from oneflow_onnx.oneflow2onnx.equations.table import Equation, equation_lowering
from oneflow_onnx.oneflow2onnx.formulas import (
    Formula,
    identity,
    last_position,
    positions,
    repeated,
    row_numbers,
    scale_of,
)
from oneflow_onnx.oneflow2onnx.lowering import Unsupported
from oneflow_onnx.oneflow2onnx.reference import Ref
from oneflow_onnx.oneflow2onnx.sizes import Dim, combine


def householder_vectors(a: Formula, count: Dim) -> tuple[Formula, Formula]:
    """``R`` with the vectors of `count` reflections below it, and their scales: [..., count, 1].

    LAPACK's `geqrf`: a reflection ``I - tau v v^T`` makes one column zero below the diagonal.
    """
    b, (*batch, rows, columns) = a.b, a.shape
    row, number, column = row_numbers(b, rows), row_numbers(b, count), positions(b, columns)

    def step(k: Formula, values: list[Formula]) -> list[Formula]:
        a, scales = values
        current = a.at(k, -1)
        first, tail = current.at(k, -2), (row > k).where(current, 0)
        square = (tail * tail).reduced("ReduceSum", -2)
        done = square.equals(0)
        norm = (first * first + square).sqrt()
        target = done.where(first, (first < 0).where(norm, -norm))
        scale = done.where(0, (target - first) / done.where(1, target))
        vector = row.equals(k).where(1, tail / done.where(1, first - target))
        rest = a - (scale * vector) * (vector.transposed @ a)
        written = (row > k).where(vector, row.equals(k).where(target, current))
        a = column.equals(k).where(written, (column > k).where(rest, a))
        return [a, number.equals(k).where(scale, scales)]

    scales = Formula(b, o.filled(b, (*batch, count, 1), 0, a.ref.dtype))
    factor = scale_of(a)
    packed, scales = repeated(count, [a / factor, scales], step)
    return (row > column).where(packed, packed * factor), scales


def product_of_householder(packed: Formula, scales: Formula, columns: Dim) -> Formula:
    """The first columns of the product of reflections."""
    b, rows = packed.b, packed.shape[-2]
    count = scales.shape[-2]
    row = row_numbers(b, rows)
    last = last_position(b, count)

    def step(number: Formula, values: list[Formula]) -> list[Formula]:
        (product,) = values
        k = last - number
        vector = row.equals(k).where(1, (row > k).where(packed.at(k, -1), 0))
        change = (scales.at(k, -2) * vector) * (vector.transposed @ product)
        return [product - change]

    return repeated(count, [identity(packed, columns)], step)[0]


@equation_lowering("geqrf")
def _geqrf(b: OnnxBuilder, equation: Equation) -> list[Ref]:
    packed, scales = householder_vectors(Formula(b, equation.operands[0]), equation.shapes[1][-1])
    return [packed.ref, o.squeeze(b, scales.ref, [scales.ref.rank - 1])]


@equation_lowering("householder_product")
def _householder_product(b: OnnxBuilder, equation: Equation) -> Ref:
    packed, scales = equation.operands
    scales = o.unsqueeze(b, scales, [scales.rank])
    return product_of_householder(Formula(b, packed), Formula(b, scales), equation.shape[-1]).ref


@equation_lowering("qr")
def _qr(b: OnnxBuilder, equation: Equation) -> list[Ref]:
    """The orthogonal and the upper triangular factor."""
    if equation["pivoting"]:
        raise Unsupported("QR factorizations with pivoting")
    a = Formula(b, equation.operands[0])
    rows, columns = a.shape[-2:]
    packed, scales = householder_vectors(a, combine(rows, columns, min))
    upper = (row_numbers(b, rows) > positions(b, columns)).where(0, packed)
    width = equation.shape[-1]
    return [product_of_householder(packed, scales, width).ref, upper.part(0, width, -2).ref]
