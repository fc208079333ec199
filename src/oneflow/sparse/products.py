"""Products of matrices, at least one of them sparse."""

from __future__ import annotations

from typing import Any

from oneflow.base.shape import Size, broadcast_shapes
from oneflow.functional.creation.factory_functions import arange
from oneflow.functional.index.gather import index_select
from oneflow.functional.index.search import unique
from oneflow.functional.shape.concat import cat, stack
from oneflow.sparse.layouts import written
from oneflow.sparse.operators import check_coordinates, in_layout, joined, t, unsupported
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
        raise unsupported("mm", f"`reduce` {reduce!r} needs a sparse matrix, then a dense one")
    if both == (True, True):
        return _sparse_product(mat1, mat2)
    if both == (False, True):
        return mm(t(mat2), mat1.t()).t()
    return _dense_product(mat1, mat2, _REDUCTIONS[reduce])


def _check_values(x: SparseTensor) -> None:
    if x.dense_dim():
        raise unsupported("mm", f"values must be numbers, got {x.dense_dim()} dense dimensions")


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


def _check_operands(name: str, mat1: Any, mat2: Any) -> None:
    """Refuse what is no product of a matrix in coordinates and a dense one."""
    if not isinstance(mat1, SparseTensor) or isinstance(mat2, SparseTensor):
        raise unsupported(name, "the first matrix must be sparse, the second one dense")
    check_coordinates(name, mat1)
    if mat1.dtype is not mat2.dtype:
        raise RuntimeError(f"`{name}`: dtypes must be equal, got {mat1.dtype} and {mat2.dtype}")
    if mat1.ndim != 2 or mat2.ndim != 2 or mat1.shape[1] != mat2.shape[0]:
        raise RuntimeError(
            f"`{name}` needs matrices whose shapes fit, got {tuple(mat1.shape)} and"
            f" {tuple(mat2.shape)}"
        )


def hspmm(mat1: SparseTensor, mat2: Tensor, *, out: SparseTensor | None = None) -> SparseTensor:
    """Multiply a sparse matrix by a dense one; rows of zeros are not stored.

    Args:
        mat1: a matrix of layout `oneflow.sparse_coo`.
        mat2: a dense matrix.
        out: takes the result.

    Returns:
        A tensor with one sparse and one dense dimension: a value for each row of `mat1` that
        stores something.

    Raises:
        RuntimeError: shapes, dtypes or layouts do not fit.

    Example:
        >>> import oneflow as flow
        >>> x = flow.tensor([[0.0, 0.0], [3.0, 0.0]]).to_sparse()
        >>> product = flow.sparse.hspmm(x, flow.tensor([[1.0, 2.0], [5.0, 6.0]]))
        >>> product._indices().tolist(), product._values().tolist()
        ([[1]], [[3.0, 6.0]])
    """
    _check_operands("hspmm", mat1, mat2)
    _check_values(mat1)
    coalesced = mat1.coalesce()
    rows, columns = coalesced._indices()
    stored, place = unique(rows, return_inverse=True)
    products = coalesced._values().unsqueeze(1) * index_select(mat2, 0, columns)
    values = added_at(place, products, stored.shape[0])
    size = mat1.shape[0], mat2.shape[1]
    result = of_coordinates(stored.unsqueeze(0), values, size, not stored.shape[0])
    return result if out is None else written(out, result, "hspmm")


def sspaddmm(
    input: SparseTensor,
    mat1: SparseTensor,
    mat2: Tensor,
    *,
    beta: float = 1,
    alpha: float = 1,
    out: SparseTensor | None = None,
) -> SparseTensor:
    """Return ``beta * input + alpha * (mat1 @ mat2)`` as a sparse matrix.

    Args:
        input: a matrix of layout `oneflow.sparse_coo`.
        mat1: a matrix of layout `oneflow.sparse_coo`.
        mat2: a dense matrix.
        beta: the factor of `input`.
        alpha: the factor of the product.
        out: takes the result.

    Returns:
        A matrix with the positions of `input`, and all those of each row of `mat1` that stores
        something; it is not coalesced.

    Raises:
        RuntimeError: shapes, dtypes or layouts do not fit.

    Example:
        >>> import oneflow as flow
        >>> x = flow.tensor([[0.0, 2.0], [0.0, 0.0]]).to_sparse()
        >>> flow.sparse.sspaddmm(x, x, flow.eye(2), alpha=3).to_dense().tolist()
        [[0.0, 8.0], [0.0, 0.0]]
    """
    if not isinstance(input, SparseTensor):
        raise unsupported("sspaddmm", "`input` must be sparse")
    check_coordinates("sspaddmm", input)
    product = hspmm(mat1, mat2)
    if input.shape != product.shape or input.dense_dim():
        raise RuntimeError(
            "`sspaddmm`: `input` must be a matrix of the product's shape, got"
            f" {tuple(input.shape)} and {tuple(product.shape)}"
        )
    elements = _by_elements(product)
    index = cat([input._indices(), elements._indices()], 1)
    values = cat([input._values() * beta, elements._values() * alpha])
    result = of_coordinates(index, values, input.shape, not index.shape[1])
    return result if out is None else written(out, result, "sspaddmm")


def _by_elements(product: SparseTensor) -> SparseTensor:
    """A matrix of rows as one of elements."""
    rows, width = product._indices()[0], product.shape[1]
    columns = arange(width, device=rows.device).expand(rows.shape[0], width)
    index = stack([rows.unsqueeze(1).expand(columns.shape), columns]).reshape(2, -1)
    return of_coordinates(index, product._values().reshape(-1), product.shape, not index.shape[1])


def smm(input: SparseTensor, mat: Tensor) -> SparseTensor:
    """Multiply a sparse matrix by a dense one, with a sparse result.

    Args:
        input: a matrix of layout `oneflow.sparse_coo`.
        mat: a dense matrix.

    Returns:
        A matrix with all elements of each row of `input` that stores something.

    Raises:
        RuntimeError: shapes, dtypes or layouts do not fit.

    Example:
        >>> import oneflow as flow
        >>> x = flow.tensor([[0.0, 0.0], [3.0, 0.0]]).to_sparse()
        >>> flow.sparse.smm(x, flow.ones(2, 2)).coalesce().indices().tolist()
        [[1, 1], [0, 1]]
    """
    _check_operands("smm", input, mat)
    return _by_elements(hspmm(input, mat))


def linear(input: Any, weight: Any, bias: Tensor | None = None) -> Tensor:
    """Multiply by a transposed matrix, and add a bias; `input` or `weight` is sparse."""
    product = matmul(input, t(weight) if isinstance(weight, SparseTensor) else weight.t())
    return product if bias is None else product + bias


def mv(input: Any, vec: Any) -> Tensor:
    """Multiply a sparse matrix by a vector."""
    return mm(input, vec.unsqueeze(1)).squeeze(1)


def bmm(input: Any, mat2: Any) -> Tensor:
    """Multiply a batch of sparse matrices by one of dense ones."""
    if not isinstance(input, SparseTensor) or isinstance(mat2, SparseTensor):
        raise unsupported("bmm", "the first batch must be sparse, the second one dense")
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
    if dims[0] > 2 and dims[1] == 2 and not isinstance(input, SparseTensor):
        rows = mm(input.reshape(-1, input.shape[-1]), other)
        return rows.reshape(*input.shape[:-1], other.shape[1])
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
