"""Singular values and eigenvalues by Jacobi's rotations of columns."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from oneflow_onnx.oneflow2onnx import operators as o
from oneflow_onnx.oneflow2onnx.builder import GraphBuilder
from oneflow_onnx.oneflow2onnx.equations.elimination import row_numbers
from oneflow_onnx.oneflow2onnx.equations.reflections import (
    identity,
    product_of_reflections,
    reflectors,
    scale_of,
    static_sizes,
)
from oneflow_onnx.oneflow2onnx.equations.table import Equation, equation
from oneflow_onnx.oneflow2onnx.formulas import Formula, positions, repeated
from oneflow_onnx.oneflow2onnx.loops import repeat_while
from oneflow_onnx.oneflow2onnx.lowering import Unsupported
from oneflow_onnx.oneflow2onnx.lowerings.ordering import ordered
from oneflow_onnx.oneflow2onnx.reference import Ref

BOOL = np.dtype(bool)
# Sweeps after which rotations end in any case; convergence is quadratic, and six to ten suffice.
_MOST_SWEEPS = 30


def _joined(parts: Sequence[Formula], dim: int) -> Formula:
    """Values one after the other along a dimension counted from the end."""
    b = parts[0].b
    return Formula(b, o.concat(b, [each.ref for each in parts], parts[0].ref.rank + dim))


def _rotated(x: Formula, rows: int) -> tuple[Formula, Formula]:
    """Columns with those of the left half made orthogonal to those of the right half, in pairs.

    Hestenes (1958). Only the first `rows` rows count; the others follow. The second result is the
    largest cosine of an angle between two columns of a pair before.
    """
    half = static_sizes(x)[1] // 2
    left, right = x.part(0, half, -1), x.part(half, 2 * half, -1)
    p, q = left.part(0, rows, -2), right.part(0, rows, -2)
    squares_p, squares_q, product = (
        (one * other).reduced("ReduceSum", -2) for one, other in ((p, p), (q, q), (p, q))
    )
    # Columns that are nothing but rounding errors of the others are let alone.
    tiny = (1e-3 * float(np.finfo(x.ref.dtype).eps)) ** 2
    still = product.equals(0) | (squares_p < tiny) | (squares_q < tiny)
    cosine = still.where(0, product.abs() / still.where(1, squares_p.sqrt() * squares_q.sqrt()))
    zeta = (squares_q - squares_p) / (2 * still.where(1, product))
    size = 1 / (zeta.abs() + (1 + zeta * zeta).sqrt())
    tangent = still.where(0, (zeta < 0).where(-size, size))
    c = 1 / (1 + tangent * tangent).sqrt()
    s = c * tangent
    # Rutishauser's form of c * left - s * right: rounding keeps the lengths of columns.
    share = s / (1 + c)
    turned = [left - s * (right + share * left), right + s * (left - share * right)]
    return _joined(turned, -1), cosine


def _tournament(count: int) -> np.ndarray:
    """The next order of columns, so that after ``count - 1`` steps all have met in pairs."""
    half = count // 2
    if half == 1:
        return np.arange(2)
    return np.array([0, half, *range(1, half - 1), *range(half + 1, count), half - 1])


def _orthogonalized(x: Formula, rows: int) -> Formula:
    """Columns, an even number, after rotations that make their first `rows` rows orthogonal."""
    b, count = x.b, static_sizes(x)[1]
    bound = b.constant(max(rows, 8) * np.finfo(x.ref.dtype).eps, x.ref.dtype)
    zero, one = (b.constant(number, x.ref.dtype) for number in (0, 1))
    order = Formula(b, b.constant(_tournament(count)))

    def step(_: Formula, values: list[Formula]) -> list[Formula]:
        columns, cosine = _rotated(values[0], rows)
        largest = o.reduce(b, "ReduceMax", cosine.ref, range(cosine.ref.rank), False)
        return [columns.at(order, -1), values[1].apply("Max", Formula(b, largest))]

    def sweep(values: list[Ref]) -> list[Ref]:
        start = [Formula(b, values[0]), Formula(b, zero)]
        return [each.ref for each in repeated(count - 1, start, step)]

    def unfinished(values: Sequence[Ref]) -> Ref:
        return b.op("Greater", values[1], bound, dtype=BOOL)

    return Formula(b, repeat_while(b, [x.ref, one], unfinished, sweep, _MOST_SWEEPS)[0])


def _with_vectors(x: Formula) -> tuple[Formula, Formula]:
    """The columns of ``x @ v``, which are orthogonal, and the orthogonal matrix `v`."""
    rows, columns = static_sizes(x)
    if columns % 2:
        zeros = Formula(x.b, o.filled(x.b, (*x.shape[:-1], 1), 0, x.ref.dtype))
        x = _joined([x, zeros], -1)
    turned = _orthogonalized(_joined([x, identity(x.transposed, x.shape[-1])], -2), rows)
    turned = turned.part(0, columns, -1)
    return turned.part(0, rows, -2), turned.part(rows, rows + columns, -2)


def _in_order(keys: Formula, *matrices: Formula) -> list[Formula]:
    """Row vectors with the largest element first, and the columns of matrices in the same order."""
    b, dim = keys.b, keys.ref.rank - 1
    values, places = ordered(b, keys.ref, keys.shape[-1], dim, largest=True)
    order = Formula(b, places)
    chosen = [
        b.op("GatherElements", x.ref, order.expanded(*x.shape).ref, shape=x.shape, axis=dim)
        for x in matrices
    ]
    return [Formula(b, each) for each in (values, *chosen)]


@equation("svd")
def _svd(b: GraphBuilder, each: Equation) -> list[Ref]:
    """Singular values and, where asked for, vectors."""
    a = Formula(b, each.operands[0])
    rows, columns = static_sizes(a)
    if each["subset_by_index"] is not None:
        raise Unsupported("some of the singular values")
    wide = rows < columns
    a = a.transposed if wide else a
    scale = scale_of(a)
    product, right = _with_vectors(a / scale)
    norms = (product * product).reduced("ReduceSum", -2).sqrt()
    norms, product, right = _in_order(norms, product, right)
    values = norms * scale
    singular = o.squeeze(b, values.ref, [values.ref.rank - 2])
    if not each["compute_uv"]:
        return [singular]
    left = _completed(product / norms.equals(0).where(1, norms), each["full_matrices"])
    first, second = (right, left) if wide else (left, right)
    return [singular, first.ref, second.transposed.ref]


def _completed(x: Formula, full: bool) -> Formula:
    """Orthonormal columns in place of those that are zero, and with `full` as many as rows."""
    b, (rows, columns) = x.b, static_sizes(x)
    packed, scales = reflectors(x, columns)
    count = rows if full else columns
    product = product_of_reflections(packed, scales, count)
    at_diagonal = row_numbers(b, rows).equals(positions(b, columns))
    diagonal = at_diagonal.where(packed, 0).reduced("ReduceSum", -2)
    signed = product.part(0, columns, -1) * (diagonal < 0).where(-1, diagonal * 0 + 1)
    return signed if count == columns else _joined([signed, product.part(columns, rows, -1)], -1)


@equation("eigh")
def _eigh(b: GraphBuilder, each: Equation) -> list[Ref]:
    """Eigenvectors and eigenvalues of symmetric matrices, the smallest value first.

    Of a matrix with positive eigenvalues the singular vectors are its eigenvectors; a multiple of
    the identity is added to make them so.
    """
    a = Formula(b, each.operands[0])
    size = static_sizes(a)[0]
    if each["subset_by_index"] is not None:
        raise Unsupported("some of the eigenvalues")
    row, column = row_numbers(b, size), positions(b, size)
    known = (row > column) if each["lower"] else (row < column)
    a = (known | row.equals(column)).where(a, a.transposed)
    scale = scale_of(a)
    a = a / scale
    norm = (a * a).reduced("ReduceSum", -2, -1).sqrt()
    vectors = _with_vectors(a + row.equals(column).where(norm, 0))[1]
    values = (vectors * (a @ vectors)).reduced("ReduceSum", -2)
    negative, vectors = _in_order(-values, vectors)
    values = -negative * scale
    return [vectors.ref, o.squeeze(b, values.ref, [values.ref.rank - 2])]
