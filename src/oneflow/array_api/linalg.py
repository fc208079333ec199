"""Linear algebra."""

from __future__ import annotations

from collections.abc import Sequence

from oneflow.array_api.promotion import promoted
from oneflow.array_api.reductions import reduction, sum as sum_of
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
    """Return the triangular factors of symmetric or Hermitian positive definite matrices.

    Example:
        >>> import oneflow as flow
        >>> flow.array_api.linalg.cholesky(flow.tensor([[4.0, 2.0], [2.0, 5.0]]))
        tensor([[2., 0.],
                [1., 2.]], dtype=oneflow.float32)
    """
    return decompositions.cholesky(x, upper)


def cross(x1: Tensor, x2: Tensor, /, *, axis: int = -1) -> Tensor:
    """Return the cross products of the vectors of three numbers along `axis`.

    Example:
        >>> import oneflow as flow
        >>> flow.array_api.linalg.cross(flow.tensor([1, 0, 0]), flow.tensor([0, 1, 0]))
        tensor([0, 0, 1], dtype=oneflow.int64)
    """
    return inverse.cross(*broadcast_tensors(*promoted(x1, x2)), dim=axis)


def diagonal(x: Tensor, /, *, offset: int = 0) -> Tensor:
    """Return the `offset`-th diagonals of matrices, counted upwards from the main ones.

    Example:
        >>> import oneflow as flow
        >>> flow.array_api.linalg.diagonal(flow.arange(6).reshape(2, 3), offset=1)
        tensor([1, 5], dtype=oneflow.int64)
    """
    return inverse.diagonal(x, offset)


def matmul(x1: Tensor, x2: Tensor, /) -> Tensor:
    """Return the matrix products.

    Example:
        >>> import oneflow as flow
        >>> flow.array_api.matmul(flow.ones(2, 3), flow.arange(3))
        tensor([3., 3.], dtype=oneflow.float32)
    """
    first, second = promoted(x1, x2)
    return products.matmul(first, second)


def matrix_norm(x: Tensor, /, *, keepdims: bool = False, ord: float | str | None = "fro") -> Tensor:
    """Return the norms of matrices.

    Example:
        >>> import oneflow as flow
        >>> flow.array_api.linalg.matrix_norm(flow.tensor([[3.0, 0.0], [0.0, 4.0]]))
        tensor(5., dtype=oneflow.float32)
    """
    return norms.matrix_norm(x, "fro" if ord is None else ord, keepdim=keepdims)


def matrix_rank(x: Tensor, /, *, rtol: float | Tensor | None = None) -> Tensor:
    """Return how many singular values are greater than `rtol` times the greatest.

    Example:
        >>> import oneflow as flow
        >>> flow.array_api.linalg.matrix_rank(flow.ones(3, 3))
        tensor(1, dtype=oneflow.int64)
    """
    return singular_values.matrix_rank(x, rtol=rtol)


def matrix_transpose(x: Tensor, /) -> Tensor:
    """Return the transposed matrices.

    Raises:
        ValueError: `x` has fewer than two dimensions.

    Example:
        >>> import oneflow as flow
        >>> flow.array_api.matrix_transpose(flow.ones(5, 2, 3)).shape
        oneflow.Size([5, 3, 2])
    """
    if x.ndim < 2:
        raise ValueError(f"matrix_transpose(): expected matrices, got shape {tuple(x.shape)}")
    return x.mT


def outer(x1: Tensor, x2: Tensor, /) -> Tensor:
    """Return the products of each number of one vector with each of the other.

    Example:
        >>> import oneflow as flow
        >>> flow.array_api.linalg.outer(flow.tensor([1, 2]), flow.tensor([10, 20]))
        tensor([[10, 20],
                [20, 40]], dtype=oneflow.int64)
    """
    first, second = promoted(x1, x2)
    return first.outer(second)


def pinv(x: Tensor, /, *, rtol: float | Tensor | None = None) -> Tensor:
    """Return the pseudo-inverses; singular values up to `rtol` times the greatest count as 0.

    Example:
        >>> import oneflow as flow
        >>> flow.array_api.linalg.pinv(flow.tensor([[2.0, 0.0], [0.0, 4.0]]))
        tensor([[0.5000, 0.0000],
                [0.0000, 0.2500]], dtype=oneflow.float32)
    """
    return singular_values.pinv(x, rtol)


def qr(x: Tensor, /, *, mode: str = "reduced") -> tuple:
    """Return orthonormal columns and the triangular factors, ``"reduced"`` or ``"complete"``.

    Example:
        >>> import oneflow as flow
        >>> q, r = flow.array_api.linalg.qr(flow.randn(3, 2))
        >>> q.shape, flow.allclose(q.mT @ q, flow.eye(2), atol=1e-5)
        (oneflow.Size([3, 2]), True)
    """
    return decompositions.qr(x, mode)


def solve(x1: Tensor, x2: Tensor, /) -> Tensor:
    """Return the solutions of ``x1 @ x == x2``; `x2` is a vector if it has one dimension.

    Example:
        >>> import oneflow as flow
        >>> matrix = flow.tensor([[2.0, 0.0], [0.0, 4.0]])
        >>> flow.array_api.linalg.solve(matrix, flow.tensor([2.0, 2.0]))
        tensor([1.0000, 0.5000], dtype=oneflow.float32)
    """
    matrices, rhs = promoted(x1, x2)
    if rhs.ndim == 1:
        return inverse.solve(matrices, rhs[:, None])[..., 0]
    # PyTorch's function takes a right-hand side of one dimension less for a batch of vectors.
    return inverse.solve(matrices, rhs[None] if rhs.ndim == matrices.ndim - 1 else rhs)


def tensordot(
    x1: Tensor, x2: Tensor, /, *, axes: int | tuple[Sequence[int], Sequence[int]] = 2
) -> Tensor:
    """Return the products summed over pairs of axes, or over the last and first ones.

    Example:
        >>> import oneflow as flow
        >>> flow.array_api.tensordot(flow.ones(2, 3, 4), flow.ones(3, 4, 5)).shape
        oneflow.Size([2, 5])
    """
    first, second = promoted(x1, x2)
    return einsum.tensordot(first, second, axes)


def trace(x: Tensor, /, *, offset: int = 0, dtype: DType | None = None) -> Tensor:
    """Return the sums of the `offset`-th diagonals of matrices.

    Example:
        >>> import oneflow as flow
        >>> flow.array_api.linalg.trace(flow.eye(3))
        tensor(3., dtype=oneflow.float32)
    """
    return sum_of(inverse.diagonal(x, offset), axis=-1, dtype=dtype)


def vecdot(x1: Tensor, x2: Tensor, /, *, axis: int = -1) -> Tensor:
    """Return the dot products along an axis, which counts from the end, conjugating `x1`.

    Example:
        >>> import oneflow as flow
        >>> flow.array_api.vecdot(flow.tensor([[1, 2], [3, 4]]), flow.tensor([1, 1]))
        tensor([3, 7], dtype=oneflow.int64)
    """
    first, second = (movedim(vectors, axis, -1) for vectors in promoted(x1, x2))
    return products.matmul(conj(first)[..., None, :], second[..., None])[..., 0, 0]


def vector_norm(
    x: Tensor,
    /,
    *,
    axis: int | tuple[int, ...] | None = None,
    keepdims: bool = False,
    ord: float = 2,
) -> Tensor:
    """Return the norms over the axes, or over everything.

    Example:
        >>> import oneflow as flow
        >>> flow.array_api.linalg.vector_norm(flow.tensor([[3.0, 4.0]]), axis=1)
        tensor([5.], dtype=oneflow.float32)
    """
    x, axis, keepdims = reduction(x, axis, keepdims)
    return norms.vector_norm(x, ord, axis, keepdims)
