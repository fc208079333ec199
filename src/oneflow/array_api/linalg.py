"""Linear algebra."""

from __future__ import annotations

from collections.abc import Sequence

from oneflow.array_api.promotion import promoted
from oneflow.array_api.reductions import sum as sum_of
from oneflow.base.dtype import DType
from oneflow.functional.elementwise.complex import conj
from oneflow.functional.linalg import (
    decompositions,
    einsum,
    inverse,
    matmul as products,
    norms,
    singular_values,
)
from oneflow.functional.linalg.decompositions import (
    eigh as eigh,
    eigvalsh as eigvalsh,
    svd as svd,
    svdvals as svdvals,
)
from oneflow.functional.linalg.inverse import (
    det as det,
    inv as inv,
    matrix_power as matrix_power,
    slogdet as slogdet,
)
from oneflow.functional.shape.reshape import movedim
from oneflow.functional.shape.stack import broadcast_tensors
from oneflow.tensor.tensor import Tensor


def cholesky(x: Tensor, /, *, upper: bool = False) -> Tensor:
    """Return the triangular factors of symmetric or Hermitian positive definite matrices."""
    return decompositions.cholesky(x, upper)


def cross(x1: Tensor, x2: Tensor, /, *, axis: int = -1) -> Tensor:
    """Return the cross products of the vectors of three numbers along `axis`."""
    return inverse.cross(*broadcast_tensors(*promoted(x1, x2)), dim=axis)


def diagonal(x: Tensor, /, *, offset: int = 0) -> Tensor:
    """Return the `offset`-th diagonals of matrices, counted upwards from the main ones."""
    return inverse.diagonal(x, offset)


def matmul(x1: Tensor, x2: Tensor, /) -> Tensor:
    """Return the matrix products."""
    first, second = promoted(x1, x2)
    return products.matmul(first, second)


def matrix_norm(x: Tensor, /, *, keepdims: bool = False, ord: float | str | None = "fro") -> Tensor:
    """Return the norms of matrices."""
    return norms.matrix_norm(x, "fro" if ord is None else ord, keepdim=keepdims)


def matrix_rank(x: Tensor, /, *, rtol: float | Tensor | None = None) -> Tensor:
    """Return how many singular values are greater than `rtol` times the greatest."""
    return singular_values.matrix_rank(x, rtol=rtol)


def matrix_transpose(x: Tensor, /) -> Tensor:
    """Return the transposed matrices.

    Raises:
        ValueError: `x` has fewer than two dimensions.
    """
    if x.ndim < 2:
        raise ValueError(f"matrix_transpose(): expected matrices, got shape {tuple(x.shape)}")
    return x.mT


def outer(x1: Tensor, x2: Tensor, /) -> Tensor:
    """Return the products of each number of one vector with each of the other."""
    first, second = promoted(x1, x2)
    return first.outer(second)


def pinv(x: Tensor, /, *, rtol: float | Tensor | None = None) -> Tensor:
    """Return the pseudo-inverses; singular values up to `rtol` times the greatest count as 0."""
    return singular_values.pinv(x, rtol)


def qr(x: Tensor, /, *, mode: str = "reduced") -> tuple:
    """Return orthonormal columns and the triangular factors, ``"reduced"`` or ``"complete"``."""
    return decompositions.qr(x, mode)


def solve(x1: Tensor, x2: Tensor, /) -> Tensor:
    """Return the solutions of ``x1 @ x == x2``; `x2` is a vector if it has one dimension."""
    matrices, rhs = promoted(x1, x2)
    if rhs.ndim == 1:
        return inverse.solve(matrices, rhs[:, None])[..., 0]
    # Of one dimension less PyTorch's function takes a batch of vectors.
    return inverse.solve(matrices, rhs[None] if rhs.ndim == matrices.ndim - 1 else rhs)


def tensordot(
    x1: Tensor, x2: Tensor, /, *, axes: int | tuple[Sequence[int], Sequence[int]] = 2
) -> Tensor:
    """Return the products summed over pairs of axes, or over the last and first ones."""
    first, second = promoted(x1, x2)
    return einsum.tensordot(first, second, axes)


def trace(x: Tensor, /, *, offset: int = 0, dtype: DType | None = None) -> Tensor:
    """Return the sums of the `offset`-th diagonals of matrices."""
    return sum_of(inverse.diagonal(x, offset), axis=-1, dtype=dtype)


def vecdot(x1: Tensor, x2: Tensor, /, *, axis: int = -1) -> Tensor:
    """Return the dot products along an axis, which counts from the end, conjugating `x1`."""
    first, second = (movedim(each, axis, -1) for each in promoted(x1, x2))
    return products.matmul(conj(first)[..., None, :], second[..., None])[..., 0, 0]


def vector_norm(
    x: Tensor,
    /,
    *,
    axis: int | tuple[int, ...] | None = None,
    keepdims: bool = False,
    ord: float = 2,
) -> Tensor:
    """Return the norms over the axes, or over everything."""
    return norms.vector_norm(x, ord, axis, keepdims)
