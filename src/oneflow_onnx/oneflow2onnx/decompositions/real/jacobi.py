"""Singular values and eigenvalues by Jacobi's rotations of columns."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from oneflow_onnx.oneflow2onnx import operators as o
from oneflow_onnx.oneflow2onnx.builder import OnnxBuilder
from oneflow_onnx.oneflow2onnx.decompositions.real.reflections import (
    householder_vectors,
    product_of_householder,
)
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
from oneflow_onnx.oneflow2onnx.loops import repeat_while
from oneflow_onnx.oneflow2onnx.lowering import Unsupported
from oneflow_onnx.oneflow2onnx.lowerings.ordering import ordered
from oneflow_onnx.oneflow2onnx.reference import Ref
from oneflow_onnx.oneflow2onnx.sizes import Dim

BOOL = np.dtype(bool)
# Sweeps after which rotations end in any case; convergence is quadratic, and six to ten suffice.
_MAX_ITERATIONS = 30


def _joined(parts: Sequence[Formula], dim: int) -> Formula:
    """Values one after the other along a dimension counted from the end."""
    b = parts[0].b
    return Formula(b, o.concat(b, [part.ref for part in parts], parts[0].ref.rank + dim))


class _Order:
    """Luk and Park's odd-even order: neighbours meet and change places, in turns.

    In one step those meet that start at even places, in the next the others, so that within as many
    steps as there are columns each meets every other one.

    Args:
        like: the columns.
    """

    def __init__(self, like: Formula) -> None:
        b, count = like.b, like.shape[-1]
        self._place = positions(b, count)
        self._last = last_position(b, count)
        self._dtype = like.ref.dtype

    def neighbors(self, step: Formula) -> tuple[Formula, Formula, Formula]:
        """Return 1 for the left and -1 for the right of a pair, whom each meets, and who is alone.

        Args:
            step: the number of the step.
        """
        b, place = self._place.b, self._place
        side = 1 - 2 * (place + step).apply("Mod", 2)
        neighbor = place + side
        is_single = (neighbor < 0) | (neighbor > self._last)
        return (
            Formula(b, b.cast(side.ref, self._dtype)),
            is_single.where(place, neighbor),
            is_single,
        )


def _rotate(x: Formula, rows: Dim, order: _Order, step: Formula) -> tuple[Formula, Formula]:
    """Columns after a step that makes those that meet orthogonal, and has them change places.

    Hestenes (1958). Only the first `rows` rows count; the others follow. The second result is the
    largest cosine of an angle between two that met.
    """
    side, neighbor, is_single = order.neighbors(step)
    other = x.at(neighbor, -1)
    p, q = x.part(0, rows, -2), other.part(0, rows, -2)
    product, square = ((p * factor).reduced("ReduceSum", -2) for factor in (q, p))
    square_other = square.at(neighbor, -1)
    # Columns that are nothing but rounding errors of the others are let alone.
    tiny = (1e-3 * float(np.finfo(x.ref.dtype).eps)) ** 2
    is_orthogonal = is_single | product.equals(0) | (square < tiny) | (square_other < tiny)
    lengths = square.sqrt() * square_other.sqrt()
    cosine = is_orthogonal.where(0, product.abs() / is_orthogonal.where(1, lengths))
    # Both columns of a pair compute the same angle; the right one turns the other way.
    zeta = side * (square_other - square) / (2 * is_orthogonal.where(1, product))
    size = 1 / (zeta.abs() + (1 + zeta * zeta).sqrt())
    tangent = is_orthogonal.where(0, side * (zeta < 0).where(-size, size))
    c = 1 / (1 + tangent * tangent).sqrt()
    s = c * tangent
    # Rutishauser's form of c * other + s * x: rounding keeps the lengths of columns.
    return other + s * (x - s / (1 + c) * other), cosine


def _orthogonalized(x: Formula, rows: Dim) -> Formula:
    """Columns after rotations that make their first `rows` rows orthogonal, in some order."""
    b, count, dtype = x.b, x.shape[-1], x.ref.dtype
    eps = float(np.finfo(dtype).eps)
    bound = (Formula(b, b.number(rows, dtype)).apply("Max", 8) * eps).ref
    zero, one = (b.constant(number, dtype) for number in (0, 1))
    order = _Order(x)

    def step(number: Formula, values: list[Formula]) -> list[Formula]:
        columns, cosine = _rotate(values[0], rows, order, number)
        largest = o.reduce(b, "ReduceMax", cosine.ref, range(cosine.ref.rank), False)
        return [columns, values[1].apply("Max", Formula(b, largest))]

    def sweep(values: list[Ref]) -> list[Ref]:
        start = [Formula(b, values[0]), Formula(b, zero)]
        return [formula.ref for formula in repeated(count, start, step)]

    def is_active(values: Sequence[Ref]) -> Ref:
        return b.op("Greater", values[1], bound, dtype=BOOL)

    return Formula(b, repeat_while(b, [x.ref, one], is_active, sweep, _MAX_ITERATIONS)[0])


def _with_vectors(x: Formula) -> tuple[Formula, Formula]:
    """The columns of ``x @ v``, which are orthogonal, and the orthogonal matrix `v`."""
    rows = x.shape[-2]
    both = _joined([x, identity(x.transposed, x.shape[-1])], -2)
    orthogonalized = _orthogonalized(both, rows)
    return orthogonalized.part(0, rows, -2), orthogonalized.part(rows, both.shape[-2], -2)


def _in_order(keys: Formula, *matrices: Formula) -> list[Formula]:
    """Row vectors with the largest element first, and the columns of matrices in the same order."""
    b, dim = keys.b, keys.ref.rank - 1
    values, places = ordered(b, keys.ref, keys.shape[-1], dim, largest=True)
    order = Formula(b, places)
    columns = [
        b.op("GatherElements", x.ref, order.expanded(*x.shape).ref, shape=x.shape, axis=dim)
        for x in matrices
    ]
    return [Formula(b, ref) for ref in (values, *columns)]


@equation_lowering("svd")
def _svd(b: OnnxBuilder, equation: Equation) -> list[Ref]:
    """Singular values and, where requested, vectors."""
    a = Formula(b, equation.operands[0])
    if equation["subset_by_index"] is not None:
        raise Unsupported("some of the singular values")
    rows, columns = a.shape[-2:]
    count = equation.shapes[0][-1]
    # If sizes are symbolic, either may be the smaller one; matrices then stay as they are.
    wide = count == rows and count != columns
    a = a.transposed if wide else a
    scale = scale_of(a)
    product, right = _with_vectors(a / scale)
    norms = (product * product).reduced("ReduceSum", -2).sqrt()
    norms, product, right = _in_order(norms, product, right)
    norms, product = (x.part(0, count, -1) for x in (norms, product))
    singular = o.squeeze(b, (norms * scale).ref, [norms.ref.rank - 2])
    if not equation["compute_uv"]:
        return [singular]
    left = _completed(product / norms.equals(0).where(1, norms), equation["full_matrices"])
    right = right if equation["full_matrices"] else right.part(0, count, -1)
    first, second = (right, left) if wide else (left, right)
    return [singular, first.ref, second.transposed.ref]


def _completed(x: Formula, full: bool) -> Formula:
    """Orthonormal columns in place of those that are zero, and with `full` as many as rows."""
    b, (rows, columns) = x.b, x.shape[-2:]
    packed, scales = householder_vectors(x, columns)
    count = rows if full else columns
    product = product_of_householder(packed, scales, count)
    at_diagonal = row_numbers(b, rows).equals(positions(b, columns))
    diagonal = at_diagonal.where(packed, 0).reduced("ReduceSum", -2)
    signed = product.part(0, columns, -1) * (diagonal < 0).where(-1, diagonal * 0 + 1)
    return signed if count == columns else _joined([signed, product.part(columns, rows, -1)], -1)


@equation_lowering("eigh")
def _eigh(b: OnnxBuilder, equation: Equation) -> list[Ref]:
    """Eigenvectors and eigenvalues of symmetric matrices, the smallest value first.

    The singular vectors of a matrix with positive eigenvalues are its eigenvectors; a multiple of
    the identity is added to make the eigenvalues positive.
    """
    a = Formula(b, equation.operands[0])
    size = a.shape[-1]
    if equation["subset_by_index"] is not None:
        raise Unsupported("some of the eigenvalues")
    row, column = row_numbers(b, size), positions(b, size)
    is_read = (row > column) if equation["lower"] else (row < column)
    a = (is_read | row.equals(column)).where(a, a.transposed)
    scale = scale_of(a)
    a = a / scale
    norm = (a * a).reduced("ReduceSum", -2, -1).sqrt()
    vectors = _with_vectors(a + row.equals(column).where(norm, 0))[1]
    values = (vectors * (a @ vectors)).reduced("ReduceSum", -2)
    negative, vectors = _in_order(-values, vectors)
    values = -negative * scale
    return [vectors.ref, o.squeeze(b, values.ref, [values.ref.rank - 2])]
