"""Eigenvalues of any square matrices, by QR iterations with complex numbers."""

from __future__ import annotations

import operator
from collections.abc import Sequence

import numpy as np

from oneflow_onnx.oneflow2onnx import operators as o
from oneflow_onnx.oneflow2onnx.builder import INT64, OnnxBuilder
from oneflow_onnx.oneflow2onnx.complex_numbers import complex_lowering
from oneflow_onnx.oneflow2onnx.decompositions.complex.formulas import ComplexFormula
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
from oneflow_onnx.oneflow2onnx.lowering import Call
from oneflow_onnx.oneflow2onnx.reference import Ref
from oneflow_onnx.oneflow2onnx.sizes import combine

# Steps per eigenvalue after which iterations end in any case, as in LAPACK; two or three suffice.
_MOST_STEPS = 30
# Steps without success after which a shift is tried that no symmetry of the matrix suggests.
_PATIENCE = 10


@complex_lowering("eig")
def _eig(b: OnnxBuilder, call: Call, flags: Sequence[bool]) -> list[Ref]:
    a, scale, bound = _scaled(b, call, flags)
    triangular, unitary = _schur(a, bound)
    values, vectors = _triangular_vectors(triangular, bound)
    return [_row(values.scaled(scale)), _normalized(unitary @ vectors).pairs]


@complex_lowering("eigvals")
def _eigvals(b: OnnxBuilder, call: Call, flags: Sequence[bool]) -> Ref:
    a, scale, bound = _scaled(b, call, flags)
    triangular, _ = _schur(a, bound)
    return _row(_diagonal(triangular).scaled(scale))


def _scaled(
    b: OnnxBuilder, call: Call, flags: Sequence[bool]
) -> tuple[ComplexFormula, Formula, Formula]:
    """Matrices without large elements, their scale, and what counts as nothing beside them."""
    a = ComplexFormula.of(b, call.operands[0], flags[0])
    scale = scale_of(a.re.abs() + a.im.abs())
    a = ComplexFormula(a.re / scale, a.im / scale)
    norm = a.square.reduced("ReduceSum", -2, -1).sqrt()
    return a, scale, norm * float(np.finfo(norm.ref.dtype).eps)


def _least(dtype: np.dtype) -> float:
    """The smallest number whose square is not rounded to 0."""
    return float(np.sqrt(np.finfo(dtype).tiny))


def _row(x: ComplexFormula) -> Ref:
    """Row vectors as pairs without the dimension of rows."""
    b, dim = x.re.b, x.re.ref.rank - 2
    re, im = (Formula(b, o.squeeze(b, part.ref, [dim])) for part in (x.re, x.im))
    return ComplexFormula(re, im).pairs


def _diagonal(x: ComplexFormula) -> ComplexFormula:
    """The diagonals of matrices as row vectors."""
    b, size = x.re.b, x.re.shape[-1]
    on_diagonal = row_numbers(b, size).equals(positions(b, size))
    return x.kept(on_diagonal).reduced("ReduceSum", -2)


# --- Schur's form


def _schur(a: ComplexFormula, bound: Formula) -> tuple[ComplexFormula, ComplexFormula]:
    """A matrix `t`, which counts from the diagonal up, and a unitary `q`: a = q t q^H.

    QR iterations with shifts: Golub and Van Loan, Matrix Computations, 7.5. The last row of what is
    left becomes zero but for its end, an eigenvalue; then what is left is one row smaller.
    """
    b, (*batch, _, size) = a.re.b, a.re.shape
    unit = identity(a.re, size)
    last = last_position(b, size).expanded(*batch, 1, 1)
    start = [a.re, a.im, unit, unit * 0, last, last * 0]

    def sweep(values: Sequence[Ref]) -> list[Ref]:
        *both, end, steps = (Formula(b, value) for value in values)
        t, q = ComplexFormula(*both[:2]), ComplexFormula(*both[2:])
        rotation = _rotation(t - ComplexFormula(unit, unit * 0) * _shift(t, end, steps), end)
        t, q = rotation.adjoint @ t @ rotation, q @ rotation
        active = _left_of_end(t, end) > bound
        end, steps = active.where(end, end - 1), active.where(steps + 1, 0)
        return [formula.ref for formula in (t.re, t.im, q.re, q.im, end, steps)]

    def is_active(values: Sequence[Ref]) -> Ref:
        left = Formula(b, values[4]) > 0
        return o.any_nonzero(b, left.ref, range(left.ref.rank), keepdim=False)

    most = combine(size, _MOST_STEPS, operator.mul)
    refs = repeat_while(b, [formula.ref for formula in start], is_active, sweep, most)
    t_re, t_im, q_re, q_im, *_ = (Formula(b, ref) for ref in refs)
    return ComplexFormula(t_re, t_im), ComplexFormula(q_re, q_im)


def _left_of_end(t: ComplexFormula, end: Formula) -> Formula:
    """The length of row `end` up to the diagonal: [..., 1, 1]."""
    b, size = end.b, t.re.shape[-1]
    here = row_numbers(b, size).equals(end) & (positions(b, size) < end)
    return t.kept(here).square.reduced("ReduceSum", -2, -1).sqrt()


def _shift(t: ComplexFormula, end: Formula, steps: Formula) -> ComplexFormula:
    """Wilkinson's: of the two eigenvalues of the four elements at the end the nearer to the last.

    Every `_PATIENCE` steps without success it is an exceptional one, some other number.
    """
    b, size = end.b, t.re.shape[-1]
    row, column = row_numbers(b, size), positions(b, size)

    def element(i: Formula, j: Formula) -> ComplexFormula:
        return t.kept(row.equals(i) & column.equals(j)).reduced("ReduceSum", -2, -1)

    before = end - 1
    last = element(end, end)
    product = element(before, end) * element(end, before)
    half = (element(before, before) - last).scaled(0.5)
    root = (half * half + product).sqrt()
    # The sum with the root that points the same way does not cancel.
    is_negative = half.re * root.re + half.im * root.im < 0
    total = half + root.replaced(is_negative, -root)
    is_zero = total.square.equals(0)
    shift = last - product / ComplexFormula(is_zero.where(1, total.re), total.im)
    needs_other = (steps + 1).apply("Mod", _PATIENCE).equals(0)
    length = _left_of_end(t, end)
    other = last + ComplexFormula(length * 0.75, length * 0.4375)
    return shift.replaced(needs_other, other)


def _rotation(a: ComplexFormula, end: Formula) -> ComplexFormula:
    """The unitary factor of the first rows and columns up to `end`, by Householder's reflections.

    A reflection ``I - factor v v^H`` makes one column zero below the diagonal.
    """
    b, size, dtype = end.b, a.re.shape[-1], a.re.ref.dtype
    row, unit = row_numbers(b, size), identity(a.re, size)

    def step(k: Formula, values: list[Formula]) -> list[Formula]:
        rest, rotation = ComplexFormula(*values[:2]), ComplexFormula(*values[2:])
        x = rest.at(k, -1).kept((row > k - 1) & (row < end + 1))
        first = x.at(k, -2)
        norm, size_of_first = x.square.reduced("ReduceSum", -2).sqrt(), first.abs()
        none = size_of_first.equals(0)
        direction = first.scaled(1 / none.where(1, size_of_first))
        direction = ComplexFormula(none.where(1, direction.re), direction.im)
        vector = x.replaced(row.equals(k), first + direction.scaled(norm))
        done = norm < _least(dtype)
        factor = done.where(0, 1 / done.where(1, norm * (norm + size_of_first)))
        scaled = vector.scaled(factor)
        rest = rest - scaled @ (vector.adjoint @ rest)
        rotation = rotation - (rotation @ vector) @ scaled.adjoint
        return [rest.re, rest.im, rotation.re, rotation.im]

    return ComplexFormula(*repeated(size, [a.re, a.im, unit, unit * 0], step)[2:])


# --- eigenvectors


def _triangular_vectors(t: ComplexFormula, bound: Formula) -> tuple[ComplexFormula, ComplexFormula]:
    """Eigenvalues and, as columns, eigenvectors of triangular matrices, by substitution."""
    b, size, dtype = bound.b, t.re.shape[-1], t.re.ref.dtype
    row, column = row_numbers(b, size), positions(b, size)
    values, last = _diagonal(t), last_position(b, size)
    # Equal eigenvalues count as different by rounding, so that something is divided by.
    least = bound.apply("Max", _least(dtype))

    def step(number: Formula, parts_of_x: list[Formula]) -> list[Formula]:
        x, k = ComplexFormula(*parts_of_x), last - number
        here = t.at(k, -2)
        gap = here.at(k, -1) - values
        close = gap.abs() < least
        gap = ComplexFormula(close.where(least, gap.re), close.where(0, gap.im))
        vector = (-(here.kept(column > k) @ x) / gap).kept(column > k)
        one = Formula(b, b.cast(column.equals(k).ref, dtype))
        vector = ComplexFormula(vector.re + one, vector.im)
        # Columns that grow are made shorter, before they overflow.
        factor = 1 / vector.abs().apply("Max", 1)
        x = x.replaced(row.equals(k), vector).scaled(factor)
        return [x.re, x.im]

    zeros = t.re * 0
    return values, ComplexFormula(*repeated(size, [zeros, zeros], step))


def _normalized(x: ComplexFormula) -> ComplexFormula:
    """Columns of length 1 whose largest element is real, as in LAPACK."""
    b, (*batch, size, columns) = x.re.b, x.re.shape
    square = x.square
    norm, dim = square.reduced("ReduceSum", -2).sqrt(), square.ref.rank - 2
    place = b.op("ArgMax", square.ref, shape=(*batch, 1, columns), dtype=INT64, axis=dim)
    here = row_numbers(b, size).equals(Formula(b, place))
    largest = x.kept(here).reduced("ReduceSum", -2)
    return x * largest.conjugate.scaled(1 / (largest.abs() * norm))
