"""Products of matrices, at least one of them sparse."""

from __future__ import annotations

from typing import Any

from oneflow.base.shape import Size, broadcast_shapes
from oneflow.functional.index.gather import index_select
from oneflow.functional.shape.concat import stack
from oneflow.sparse.operators import in_layout, joined, refuse, t
from oneflow.sparse.tensor import (
    SparseTensor,
    added_at,
    coordinates,
    flat_index,
    of_coordinates,
    reduced_at,
)
from oneflow.tensor.tensor import Tensor

# Ways to reduce the products of a row, by what they are called.
_REDUCTIONS = {"sum": "sum", "mean": "mean"} | {
    name: f"a{name.removeprefix('a')}" for name in ("amax", "amin", "max", "min")
}


def mm(mat1: Any, mat2: Any, reduce: str = "sum") -> Tensor:
    """Multiply two matrices, at least one of them sparse.

    Args:
        mat1: a matrix.
        mat2: a matrix.
        reduce: ``"sum"``, or of a sparse and a dense matrix ``"mean"``, ``"amax"`` or ``"amin"``:
            how the products of a row are reduced.

    Returns:
        A dense matrix, or of two sparse ones a sparse one.

    Raises:
        RuntimeError: shapes do not fit.

    Example:
        >>> import oneflow as flow
        >>> x = flow.tensor([[0.0, 2.0], [3.0, 0.0]]).to_sparse()
        >>> flow.sparse.mm(x, flow.tensor([[1.0], [2.0]])).tolist()
        [[4.0], [3.0]]
    """
    if mat1.ndim != 2 or mat2.ndim != 2 or mat1.shape[1] != mat2.shape[0]:
        raise RuntimeError(
            f"`mm` needs matrices whose shapes fit, got {tuple(mat1.shape)} and {tuple(mat2.shape)}"
        )
    if reduce not in _REDUCTIONS:
        raise ValueError(f"`reduce` must be one of {list(_REDUCTIONS)}, got {reduce!r}")
    both = isinstance(mat1, SparseTensor), isinstance(mat2, SparseTensor)
    if both != (True, False) and _REDUCTIONS[reduce] != "sum":
        raise refuse("mm", f"`reduce` {reduce!r} needs a sparse matrix, then a dense one")
    if both == (True, True):
        return _sparse_product(mat1, mat2)
    if both == (False, True):
        return mm(t(mat2), mat1.t()).t()
    return _dense_product(mat1, mat2, _REDUCTIONS[reduce])


def _check_values(x: SparseTensor) -> None:
    if x.dense_dim():
        raise refuse("mm", f"values must be numbers, got {x.dense_dim()} dense dimensions")


def _dense_product(x: SparseTensor, dense: Tensor, reduce: str = "sum") -> Tensor:
    """The product of a sparse and a dense matrix, or of batches of them."""
    _check_values(x)
    index = coordinates(x)
    batches = x.shape[:-2]
    rows = flat_index(index[:-1], x.shape[:-1])
    inner = stack([*index[:-2], index[-1]]) if batches else index[1:]
    columns = flat_index(inner, (*batches, x.shape[-1]))
    table = dense.reshape(-1, dense.shape[-1])
    products = x._values().unsqueeze(1) * index_select(table, 0, columns)
    result = _reduced(rows, products, Size(x.shape[:-1]).numel(), reduce)
    return result.reshape(*x.shape[:-1], dense.shape[-1])


def _reduced(rows: Tensor, products: Tensor, count: int, reduce: str) -> Tensor:
    if reduce == "sum":
        return added_at(rows, products, count)
    return reduced_at(rows, products, count, reduce)


def _sparse_product(x: SparseTensor, y: SparseTensor) -> SparseTensor:
    _check_values(x)
    _check_values(y)
    rows, inner = coordinates(x)
    ordered = y.to_sparse().coalesce()
    others, columns = ordered._indices()
    left, right = joined(inner, others)
    values = x._values().index_select(0, left) * ordered._values().index_select(0, right)
    index = stack([rows.index_select(0, left), columns.index_select(0, right)])
    result = of_coordinates(index, values, (x.shape[0], y.shape[1])).coalesce()
    return in_layout(result, x)


def mv(input: Any, vec: Any) -> Tensor:
    """Multiply a sparse matrix by a vector."""
    return mm(input, vec.unsqueeze(1)).squeeze(1)


def bmm(input: Any, mat2: Any) -> Tensor:
    """Multiply a batch of sparse matrices by one of dense ones."""
    if not isinstance(input, SparseTensor) or isinstance(mat2, SparseTensor):
        raise refuse("bmm", "the first batch must be sparse, the second one dense")
    if input.ndim != 3 or mat2.ndim != 3 or input.shape[::2] != mat2.shape[:2]:
        raise RuntimeError(
            f"`bmm`: shapes must fit, got {tuple(input.shape)} and {tuple(mat2.shape)}"
        )
    return _dense_product(input, mat2)


def matmul(input: Any, other: Any) -> Tensor:
    """Multiply matrices, a matrix and a vector, or batches of matrices."""
    dims = input.ndim, other.ndim
    if dims == (2, 1):
        return mv(input, other)
    if dims == (1, 2):
        return mv(t(other), input)
    return bmm(input, other) if dims == (3, 3) else mm(input, other)


def addmm(mat: Tensor, mat1: Any, mat2: Any, *, beta: float = 1, alpha: float = 1) -> Tensor:
    """Return ``beta * mat + alpha * (mat1 @ mat2)``, where `mat1` or `mat2` is sparse.

    Args:
        mat: a dense matrix, which is broadcast.
        mat1: a matrix.
        mat2: a matrix.
        beta: the factor of `mat`.
        alpha: the factor of the product.

    Example:
        >>> import oneflow as flow
        >>> x = flow.eye(2).to_sparse()
        >>> flow.sparse.addmm(flow.ones(2, 2), x, flow.ones(2, 2), alpha=3).tolist()
        [[4.0, 4.0], [4.0, 4.0]]
    """
    product = mm(mat1, mat2)
    scaled = product if alpha == 1 else alpha * product
    if beta == 0:  # what `mat` holds, even NaN, does not count
        if broadcast_shapes(tuple(mat.shape), tuple(scaled.shape)) != tuple(scaled.shape):
            raise RuntimeError(
                "`addmm`: the shape of `mat` must broadcast to that of the product, got"
                f" {tuple(mat.shape)} and {tuple(scaled.shape)}"
            )
        return scaled
    return (mat if beta == 1 else beta * mat) + scaled


def sampled_addmm(
    input: SparseTensor, mat1: Tensor, mat2: Tensor, *, beta: float = 1, alpha: float = 1
) -> SparseTensor:
    """Return ``beta * input + alpha * (mat1 @ mat2)`` at the positions of `input`.

    Args:
        input: a sparse matrix.
        mat1: a dense matrix.
        mat2: a dense matrix.
        beta: the factor of `input`.
        alpha: the factor of the product.

    Example:
        >>> import oneflow as flow
        >>> x = flow.eye(2).to_sparse_csr()
        >>> flow.sparse.sampled_addmm(x, flow.ones(2, 3), flow.ones(3, 2)).values().tolist()
        [4.0, 4.0]
    """
    dims = input.ndim, mat1.ndim, mat2.ndim
    shape = *mat1.shape[:1], *mat2.shape[1:]
    if dims != (2, 2, 2) or tuple(input.shape) != shape or mat1.shape[1] != mat2.shape[0]:
        raise RuntimeError(
            "`sampled_addmm` needs matrices whose shapes fit, got"
            f" {tuple(input.shape)}, {tuple(mat1.shape)} and {tuple(mat2.shape)}"
        )
    rows, columns = coordinates(input)
    products = (mat1.index_select(0, rows) * mat2.t().index_select(0, columns)).sum(1)
    return input.with_values(beta * input._values() + alpha * products)
