"""Inverses, determinants and decompositions of the matrices in the last two dimensions.

A result that cannot be computed for some values is no error here: it comes with `info`, per matrix
0 or what went wrong, and `check_info` reports it at the next sync point.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import lax

from oneflow.primitives.operators import loops
from oneflow.primitives.operators.elementwise import add, conjugate, mul, neg, sub
from oneflow.primitives.operators.matmul import matmul, swap_last
from oneflow.primitives.registry import primitive
from oneflow.primitives.sharding.axes import leading_axes

# Each matrix is on its own.
_MATRICES = leading_axes(2)


class LinAlgError(RuntimeError):
    """A matrix has no inverse, or no decomposition of the requested kind.

    Example:
        >>> import oneflow as flow
        >>> try:
        ...     flow.linalg.inv(flow.zeros(2, 2)).tolist()
        ... except flow.linalg.LinAlgError:
        ...     print("singular")
        singular
    """


def adjoint(x):
    """`x` with its last two dimensions exchanged and complex numbers conjugated."""
    return conjugate(swap_last(x))


def _adjoint(x):
    return jnp.conj(jnp.swapaxes(x, -1, -2))


def _any_failed(x, info, *, message: str):
    return jnp.any(info != 0), jnp.zeros((), jnp.int64)


check_info = primitive(
    "check_info", lambda x, info, *, message: x, axes=leading_axes(0), linear=("x",)
)
check_info.gradient(x=lambda g: g, info=None)
check_info.checked(
    _any_failed, lambda value, attributes, in_specs: LinAlgError(attributes["message"])
)

# --- equations


def _solve(a, b):
    """The solution of ``a @ x = b`` and, per matrix, which pivot is 0, counted from 1."""
    lu, _, order = lax.linalg.lu(a)
    pivots = jnp.diagonal(lu, axis1=-2, axis2=-1) == 0
    info = jnp.where(jnp.any(pivots, -1), 1 + jnp.sum(jnp.cumsum(pivots, -1) == 0, -1), 0)
    batch = jnp.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    lu = jnp.broadcast_to(lu, batch + lu.shape[-2:])
    order = jnp.broadcast_to(order, batch + order.shape[-1:])
    x = jnp.broadcast_to(b, batch + b.shape[-2:])
    x = jnp.take_along_axis(x, order[..., None], axis=-2)
    x = lax.linalg.triangular_solve(lu, x, left_side=True, lower=True, unit_diagonal=True)
    return lax.linalg.triangular_solve(lu, x, left_side=True, lower=False), info.astype(jnp.int32)


def _solve_gradient(g, a, out, needs_input_grad):
    of_b = solve(adjoint(a), g[0])[0]
    return [neg(matmul(of_b, adjoint(out[0]))) if needs_input_grad[0] else None, of_b]


def _inverse(a):
    return _solve(a, jnp.eye(a.shape[-1], dtype=a.dtype))


def _inverse_gradient(g, out):
    out_h = adjoint(out[0])
    return neg(matmul(out_h, matmul(g[0], out_h)))


def _solve_triangular(a, b, *, lower: bool, unit_diagonal: bool):
    batch = jnp.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    a, b = (jnp.broadcast_to(matrix, batch + matrix.shape[-2:]) for matrix in (a, b))
    return lax.linalg.triangular_solve(
        a, b, left_side=True, lower=lower, unit_diagonal=unit_diagonal
    )


solve = primitive("solve", _solve, axes="... _ _, ... _ _ -> ... _ _, ...").gradient(
    _solve_gradient
)
inverse = primitive("inverse", _inverse, axes=_MATRICES).gradient(a=_inverse_gradient)
solve_triangular = primitive(
    "solve_triangular", _solve_triangular, axes="... _ _, ... _ n -> ... _ n", linear=("b",)
)

# --- determinants


def _det(a):
    return jnp.linalg.det(a) if a.shape[-1] else jnp.ones(a.shape[:-2], a.dtype)


det = primitive("det", _det, axes=_MATRICES)
slogdet = primitive("slogdet", lambda a: tuple(jnp.linalg.slogdet(a)), axes=_MATRICES)

# --- decompositions


def _from_lower(a):
    """The Hermitian matrix with the lower triangle of `a`."""
    below = jnp.tril(a, -1)
    diagonal = jnp.where(jnp.eye(a.shape[-1], dtype=bool), a.real, 0).astype(a.dtype)
    return below + diagonal + _adjoint(below)


def _cholesky(a):
    """The factor and the order of the first leading minor that is not positive, or 0."""
    lower = lax.linalg.cholesky(a)
    failed = jnp.any(jnp.isnan(lower), (-2, -1))
    if not a.shape[-1]:
        return lower, failed.astype(jnp.int32)
    info = lax.cond(
        jnp.any(failed), _failing_minor, lambda a: jnp.zeros(a.shape[:-2], jnp.int32), a
    )
    return lower, jnp.where(failed, info, 0)


def _failing_minor(a):
    """The order of the first leading minor that is not positive, by elimination."""
    size = a.shape[-1]

    def eliminate(k, state):
        rest, info = state
        column = lax.dynamic_index_in_dim(rest, k, -1, keepdims=False)
        pivot = lax.dynamic_index_in_dim(column, k, -1, keepdims=False).real
        info = jnp.where((info == 0) & ~(pivot > 0), k + 1, info)
        scaled = column / jnp.where(pivot > 0, pivot, 1)[..., None].astype(column.dtype)
        return rest - scaled[..., :, None] * jnp.conj(column)[..., None, :], info

    start = a, jnp.zeros(a.shape[:-2], jnp.int32)
    return loops.fori_loop(0, size, eliminate, start)[1]


def _svd_or_nan(a, *, full_matrices: bool = False, compute_uv: bool = True):
    """The singular value decomposition; NaN for matrices with NaN or infinities.

    LAPACK's `gesdd` does not return from some with infinities. XLA allocates square matrices of
    singular vectors where they are asked for, even if only the values are.
    """
    is_finite = jnp.isfinite(a).all((-2, -1), keepdims=True)
    finite = jnp.where(is_finite, a, jnp.nan)
    return jnp.linalg.svd(finite, full_matrices=full_matrices, compute_uv=compute_uv)


def _svd_vectors(a):
    return tuple(_svd_or_nan(a))


@jax.custom_jvp
def _full_svd(a):
    return tuple(_svd_or_nan(a, full_matrices=True))


@_full_svd.defjvp
def _full_svd_tangents(primals, tangents):
    """Vectors that belong to no singular value are not unique, and have no tangents."""
    outputs = _full_svd(*primals)
    _, changes = jax.jvp(_svd_vectors, primals, tangents)
    padded = [
        jnp.pad(change, [(0, n - m) for m, n in zip(change.shape, out.shape, strict=True)])
        for change, out in zip(changes, outputs, strict=True)
    ]
    return outputs, tuple(padded)


def _svd(a, *, full: bool):
    return _full_svd(a) if full and a.shape[-1] != a.shape[-2] else _svd_vectors(a)


def _eig(a, *, vectors: bool = True):
    if not a.size:
        a = a.astype(jnp.result_type(a.dtype, jnp.complex64))
        return (a[..., 0], a) if a.shape[-1] else (a.reshape(a.shape[:-1]), a)
    results = lax.linalg.eig(
        a,
        compute_left_eigenvectors=False,
        compute_right_eigenvectors=vectors,
        enable_eigvec_derivs=True,
    )
    return tuple(results)


# The gradient is that of a Hermitian operand, which is Hermitian too.
from_lower = primitive("from_lower", _from_lower, axes=_MATRICES, linear=("a",))
from_lower.gradient(a=lambda g: mul(add(g, adjoint(g)), 0.5))
cholesky = primitive("cholesky", _cholesky, axes=_MATRICES)
qr = primitive("qr", lambda a, *, mode: tuple(jnp.linalg.qr(a, mode=mode)), axes=_MATRICES)
svd = primitive("svd", _svd, axes=_MATRICES)
svdvals = primitive("svdvals", lambda a: _svd_or_nan(a, compute_uv=False), axes=_MATRICES)
eigh = primitive(
    "eigh", lambda a: tuple(jnp.linalg.eigh(a, symmetrize_input=False)), axes=_MATRICES
)
eig = primitive("eig", _eig, axes=_MATRICES)
eigvals = primitive("eigvals", lambda a: _eig(a, vectors=False)[0], axes=_MATRICES)
for _values in (eig, eigvals):
    _values.unsupported_on(
        "tpu",
        lambda in_specs: (
            "XLA has eigenvalues of symmetric matrices alone there (`linalg.eigh`); bring the "
            "matrix to the CPU with `.cpu()`"
        ),
    )

# --- what the singular values tell


def _above(values, atol, rtol):
    """A mask of the singular values that are larger than both tolerances.

    The relative one is in units of rounding, a power of 2: nothing is lost by the conversion.
    """
    unit = jnp.finfo(values.dtype).eps * jnp.max(values, -1, keepdims=True, initial=0)
    return values > jnp.maximum(jnp.asarray(atol)[..., None], jnp.asarray(rtol)[..., None] * unit)


def _pinv(a, atol, rtol, *, hermitian: bool):
    if hermitian:
        values, right = jnp.linalg.eigh(a, symmetrize_input=False)
        left, sizes = right, jnp.abs(values)
    else:
        left, values, out_h = _svd_or_nan(a)
        right, sizes = _adjoint(out_h), values
    is_above = _above(sizes, atol, rtol)
    inverted = jnp.where(is_above, 1 / jnp.where(is_above, values, 1), 0)
    return (right * inverted[..., None, :].astype(a.dtype)) @ _adjoint(left)


def _pinv_gradient(g, a, out):
    """Golub's and Pereyra's: of the part that is inverted and of the spaces that are not."""
    out_h, g_h = adjoint(out), adjoint(g)
    outside_columns = sub(g_h, matmul(a, matmul(out, g_h)))
    outside_rows = sub(g_h, matmul(g_h, matmul(out, a)))
    columns = matmul(outside_columns, matmul(out, out_h))
    rows = matmul(out_h, matmul(out, outside_rows))
    return sub(add(columns, rows), matmul(out_h, matmul(g, out_h)))


def _matrix_rank(a, atol, rtol, *, hermitian: bool):
    if hermitian:
        values = jnp.abs(jnp.linalg.eigh(a, symmetrize_input=False)[0])
    else:
        values = _svd_or_nan(a, compute_uv=False)
    return jnp.sum(_above(values, atol, rtol), -1, dtype=jnp.int64)


_TOLERANCES = {"atol": "float64", "rtol": "float64"}
pinv = primitive("pinv", _pinv, axes="... _ _, ..., ... -> ... _ _", scalar=_TOLERANCES)
pinv.gradient(a=_pinv_gradient, atol=None, rtol=None)
matrix_rank = primitive(
    "matrix_rank",
    _matrix_rank,
    axes="... _ _, ..., ... -> ...",
    scalar=_TOLERANCES,
    differentiable=False,
)
