"""Factorization of symmetric and Hermitian matrices that need not be positive definite.

``A = L D L^T`` with blocks of one or two numbers on the diagonal of ``D``, in the form of LAPACK's
``sytrf`` and ``hetrf`` for the lower triangle. Bunch and Kaufman, "Some stable methods for
calculating inertia and solving symmetric linear systems" (1977).
"""

from __future__ import annotations

import functools
import math

import jax.numpy as jnp

from oneflow.primitives.operators import loops
from oneflow.primitives.operators.without_derivative import undefined_gradient
from oneflow.primitives.registry import primitive

# Bounds the growth of elements, equally by steps of one and of two columns.
_ALPHA = (1 + math.sqrt(17)) / 8


def _size(a):
    """The size by which pivots are compared: for complex numbers without the root."""
    return jnp.abs(a.real) + jnp.abs(a.imag) if jnp.iscomplexobj(a) else jnp.abs(a)


def _adjoint(a, hermitian: bool):
    transposed = jnp.swapaxes(a, -1, -2)
    return jnp.conj(transposed) if hermitian else transposed


def _from_lower(a, hermitian: bool):
    """The whole matrix of its lower triangle; a Hermitian one has a real diagonal."""
    lower = jnp.tril(a, -1)
    diagonal = jnp.diagonal(a)
    if hermitian:
        diagonal = diagonal.real.astype(a.dtype)
    return lower + _adjoint(lower, hermitian) + jnp.diag(diagonal)


def _pivot(a, k):
    """The row to exchange with, the number of columns of this step, and whether they are all 0."""
    places = jnp.arange(a.shape[0])
    column = jnp.where(places > k, _size(a[:, k]), -1)
    row = jnp.argmax(column)
    largest = jnp.maximum(column[row], 0)
    pivot = _size(a[k, k])
    in_row = jnp.max(jnp.where((places >= k) & (places != row), _size(a[row]), 0))
    is_zero = jnp.maximum(pivot, largest) == 0
    is_row_kept = (
        is_zero | (pivot >= _ALPHA * largest) | (pivot * in_row >= _ALPHA * largest * largest)
    )
    step = jnp.where(is_row_kept | (_size(a[row, row]) >= _ALPHA * in_row), 1, 2)
    return jnp.where(is_row_kept, k, row), step, is_zero


def _swapped(a, k, one, other):
    """The matrix with two rows and columns of its rest, from `k` on, swapped."""
    places = jnp.arange(a.shape[0])
    order = jnp.where(places == one, other, jnp.where(places == other, one, places))
    left = (places[:, None] >= k) & (places >= k)
    return jnp.where(left, a[order][:, order], a)


def _schur_complement(a, k, step, hermitian: bool):
    """The matrix after one step: `step` columns of ``L``, and the rest."""
    places = jnp.arange(a.shape[0])
    below = places >= k + step
    after = jnp.minimum(k + 1, a.shape[0] - 1)  # the last column has none, and is no pair
    first, second = jnp.where(below, a[:, k], 0), jnp.where(below, a[:, after], 0)
    pivot, next_pivot, off_diagonal = a[k, k], a[after, after], a[after, k]
    scale = jnp.abs(off_diagonal)
    d0, d1, e = pivot / scale, next_pivot / scale, off_diagonal / scale
    e_adjoint = jnp.conj(e) if hermitian else e
    divisor = (d0 * d1 - e * e_adjoint) * scale
    is_pair = step == 2
    l0 = jnp.where(is_pair, (d1 * first - e * second) / divisor, first / pivot)
    l1 = jnp.where(is_pair, (d0 * second - e_adjoint * first) / divisor, 0)
    if hermitian:
        first, second = jnp.conj(first), jnp.conj(second)
    update = jnp.outer(l0, first) + jnp.where(is_pair, jnp.outer(l1, second), 0)
    result = jnp.where(below[:, None] & below, a - update, a)
    result = jnp.where(below[:, None] & (places == k), l0[:, None], result)
    return jnp.where(below[:, None] & (places == k + 1) & is_pair, l1[:, None], result)


def _factor(a, *, hermitian: bool):
    """The factors in the lower triangle of one matrix, the pivots, and the first that is 0."""
    size = a.shape[0]

    def advance(state):
        k, a, pivots, info = state
        row, step, is_zero = _pivot(a, k)
        a = _swapped(a, k, k + step - 1, row)
        a = jnp.where(is_zero, a, _schur_complement(a, k, step, hermitian))
        number = (row + 1).astype(jnp.int32)
        places = jnp.arange(size)
        pair = (step == 2) & ((places == k) | (places == k + 1))
        pivots = jnp.where(pair, -number, jnp.where(places == k, number, pivots))
        info = jnp.where(is_zero & (info == 0), k + 1, info)
        return k + step, a, pivots, info

    start = (
        jnp.int32(0),
        _from_lower(a, hermitian),
        jnp.zeros(size, jnp.int32),
        jnp.int32(0),
    )
    _, packed, pivots, info = loops.while_loop(lambda state: state[0] < size, advance, start)
    return jnp.tril(packed), pivots, info


def _ldl_factor(a, *, hermitian: bool):
    if not a.size:
        return a, jnp.zeros(a.shape[:-1], jnp.int32), jnp.zeros(a.shape[:-2], jnp.int32)
    factor = functools.partial(_factor, hermitian=hermitian)
    return jnp.vectorize(factor, signature="(n,n)->(n,n),(n),()")(a)


def _solve(packed, pivots, b, *, hermitian: bool):
    """The solution for one matrix: the factors are applied one after the other."""
    size = packed.shape[0]
    places = jnp.arange(size)
    negative = pivots < 0
    count = jnp.cumsum(negative)
    # Columns with negative pivots come in pairs, each with a first and a second one.
    is_first = negative & (count % 2 == 1)
    is_second = negative & ~is_first
    # The two rows that each column exchanges; they may be one.
    one = places + is_first
    other = jnp.where(is_second, places, jnp.abs(pivots) - 1)
    from_row = places + 1 + is_first

    def swapped(b, k):
        order = jnp.where(places == one[k], other[k], places)
        return b[jnp.where(places == other[k], one[k], order)]

    def column(k):
        return jnp.where(places >= from_row[k], packed[:, k], 0)

    def forward(k, b):
        b = swapped(b, k)
        return b - column(k)[:, None] * b[k]

    def backward(number, b):
        k = size - 1 - number
        factors = jnp.conj(column(k)) if hermitian else column(k)
        return swapped(b.at[k].add(-(factors @ b)), k)

    b = loops.fori_loop(0, size, forward, b)
    b = _solve_diagonal(packed, is_first, is_second, b, hermitian)
    return loops.fori_loop(0, size, backward, b)


def _solve_diagonal(packed, is_first, is_second, b, hermitian: bool):
    """The solution for the blocks on the diagonal."""
    diagonal = jnp.diagonal(packed)
    if hermitian:
        diagonal = diagonal.real.astype(packed.dtype)
    below = jnp.where(is_first, jnp.append(jnp.diagonal(packed, -1), 0), 0)
    # For each row of a pair: the other's number on the diagonal, and what couples it to this one.
    paired = jnp.where(is_first, jnp.roll(diagonal, -1), jnp.roll(diagonal, 1))
    above = jnp.conj(below) if hermitian else below
    off_diagonal = jnp.where(is_first, above, jnp.roll(below, 1))
    is_pair = is_first | is_second
    scale = jnp.where(is_pair, jnp.abs(off_diagonal), 1).astype(b.dtype)
    adjoint = jnp.conj(off_diagonal) if hermitian else off_diagonal
    others = jnp.where(is_first[:, None], jnp.roll(b, -1, 0), jnp.roll(b, 1, 0))
    divisor = (diagonal / scale) * (paired / scale) - (off_diagonal / scale) * (adjoint / scale)
    numerator = (paired / scale)[:, None] * b - (off_diagonal / scale)[:, None] * others
    pairs = numerator / jnp.where(is_pair, divisor * scale, 1)[:, None]
    return jnp.where(is_pair[:, None], pairs, b / jnp.where(is_pair, 1, diagonal)[:, None])


def _ldl_solve(b, packed, pivots, *, hermitian: bool):
    shape = (*jnp.broadcast_shapes(b.shape[:-2], packed.shape[:-2]), *b.shape[-2:])
    if 0 in shape:
        return jnp.zeros(shape, b.dtype)
    solve = functools.partial(_solve, hermitian=hermitian)
    return jnp.vectorize(solve, signature="(n,n),(n),(n,k)->(n,k)")(packed, pivots, b)


ldl_factor = primitive("ldl_factor", _ldl_factor, axes="... _ _ -> ... _ _, ... _, ...")
ldl_factor.gradient(undefined_gradient("linalg.ldl_factor"))
ldl_solve = primitive(
    "ldl_solve", _ldl_solve, axes="... _ k, ... _ _, ... _ -> ... _ k", linear=("b",)
)
