"""Factorizations in the forms that LAPACK gives them: pivots, reflectors; and exponentials."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import lax

from oneflow.primitives.operators.without_derivative import undefined_gradient
from oneflow.primitives.registry import primitive
from oneflow.primitives.sharding.axes import leading_axes

# Each matrix is on its own.
_MATRICES = leading_axes(2)


def _lu(a):
    """Both triangles in one matrix, the pivots counted from 1, and which of them is 0, or 0."""
    packed, pivots, _ = lax.linalg.lu(a)
    is_zero = jnp.diagonal(packed, axis1=-2, axis2=-1) == 0
    first = 1 + jnp.sum(jnp.cumsum(is_zero, -1) == 0, -1)
    info = jnp.where(jnp.any(is_zero, -1), first, 0)
    return packed, pivots + 1, info.astype(jnp.int32)


def _permutation(pivots, *, rows: int):
    """The matrix by which rows were exchanged: of its product with the triangles comes the whole.

    Row ``i`` was exchanged with row ``pivots[i] - 1``, one after the other.
    """
    places = jnp.clip(pivots - 1, 0, rows - 1)  # others are an error, by `_find_bad_pivot`
    order = lax.linalg.lu_pivots_to_permutation(places, rows)
    return jnp.swapaxes(jax.nn.one_hot(order, rows, dtype=jnp.float32), -1, -2)


def _find_bad_pivot(pivots, *, rows: int):
    """Tell whether a pivot is no row, and which: the largest or the smallest."""
    largest, smallest = jnp.max(pivots, initial=0), jnp.min(pivots, initial=max(rows, 1))
    is_bad = (largest > rows) | (smallest < 1)
    return is_bad, jnp.where(largest > rows, largest, smallest)


lu = primitive("lu", _lu, axes=_MATRICES)
lu_permutation = primitive(
    "lu_permutation", _permutation, axes=leading_axes(1), differentiable=False
)
lu_permutation.checked(
    _find_bad_pivot,
    lambda value, attributes, specs: RuntimeError(
        f"`pivots` must be between 1 and LU.size(-2) = {attributes['rows']}, got {value}; give "
        "those of `linalg.lu_factor`"
    ),
)


# Coefficients of the Pade approximant of degree 13, the norm up to which it is exact in float64,
# and the most squarings: Higham (2005), table 2.3 and algorithm 2.3.
_PADE = (
    64764752532480000.0,
    32382376266240000.0,
    7771770303897600.0,
    1187353796428800.0,
    129060195264000.0,
    10559470521600.0,
    670442572800.0,
    33522128640.0,
    1323241920.0,
    40840800.0,
    960960.0,
    16380.0,
    182.0,
    1.0,
)
_LARGEST_NORM = 5.371920351148152
_MAX_EXPONENT = 16


def _matrix_exp(a):
    """The exponential of a fraction of the matrix, squared as often as the matrix was halved."""
    if not a.size:
        return a
    norm = lax.stop_gradient(jnp.max(jnp.sum(jnp.abs(a), -2), -1))
    exponent = jnp.ceil(jnp.log2(jnp.maximum(norm / _LARGEST_NORM, 1)))
    count = jnp.clip(exponent, 0, _MAX_EXPONENT)[..., None, None]
    result = _pade(a / jnp.exp2(count).astype(a.dtype))
    for number in range(_MAX_EXPONENT):
        # A finished matrix is not squared again: its square might overflow, and have no gradient.
        is_squared = number < count
        base = jnp.where(is_squared, result, 0)
        result = jnp.where(is_squared, base @ base, result)
    return result


def _pade(a):
    """The exponential of matrices with small norms."""
    one = jnp.eye(a.shape[-1], dtype=a.dtype)
    a2 = a @ a
    a4 = a2 @ a2
    a6 = a4 @ a2

    def combined(parity: int):
        low, high = _PADE[parity:8:2], _PADE[8 + parity :: 2]
        upper = a6 @ sum(c * power for c, power in zip(high, (a2, a4, a6), strict=True))
        return upper + sum(c * power for c, power in zip(low, (one, a2, a4, a6), strict=True))

    odd, even = a @ combined(1), combined(0)
    return jnp.linalg.solve(even - odd, even + odd)


matrix_exp = primitive("matrix_exp", _matrix_exp, axes=_MATRICES)


def _apply_householder(vectors, tau, matrix, *, adjoint: bool):
    """`matrix` multiplied by the reflections ``I - tau v v^H``, the last one first.

    Vector ``k`` is column ``k`` of `vectors` below its element ``k``, which counts as 1. With
    `adjoint` it is multiplied by the adjoint of their product.
    """
    places = jnp.arange(vectors.shape[-2])
    numbers = range(tau.shape[-1])
    scales = jnp.conj(tau) if adjoint else tau
    for k in numbers if adjoint else reversed(numbers):
        vector = jnp.where(places > k, vectors[..., k], 0) + (places == k).astype(vectors.dtype)
        products = jnp.einsum("...i,...ij->...j", jnp.conj(vector), matrix)
        matrix = matrix - scales[..., k, None, None] * vector[..., :, None] * products[..., None, :]
    return matrix


def _householder_product(a, tau):
    """The first columns of the product of reflections."""
    one = jnp.broadcast_to(jnp.eye(*a.shape[-2:], dtype=a.dtype), a.shape)
    return _apply_householder(a, tau, one, adjoint=False)


def _geqrf(a):
    """Reflectors and ``R`` of a QR factorization in one matrix, and the reflections' scales."""
    packed, tau = jnp.linalg.qr(a, mode="raw")
    return jnp.swapaxes(packed, -1, -2), tau


apply_householder = primitive(
    "apply_householder",
    _apply_householder,
    axes="... _ _, ... _, ... _ m -> ... _ m",
    linear=("matrix",),
)
householder_product = primitive(
    "householder_product", _householder_product, axes="... _ _, ... _ -> ... _ _"
)
geqrf = primitive("geqrf", _geqrf, axes="... _ _ -> ... _ _, ... _")
geqrf.gradient(undefined_gradient("geqrf"))
