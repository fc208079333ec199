"""Functions that make sparse tensors, and conversions between layouts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from oneflow.base.device import Device
from oneflow.base.dtype import DType, int64
from oneflow.base.flags import reject_strings
from oneflow.base.layout import Layout
from oneflow.base.shape import Size
from oneflow.functional.creation.factory_functions import arange, zeros
from oneflow.functional.creation.from_data import as_tensor
from oneflow.functional.index.search import nonzero
from oneflow.functional.shape.concat import cat
from oneflow.sparse.invariants import are_checked, check, check_size
from oneflow.sparse.tensor import (
    SparseParts,
    SparseTensor,
    added_at,
    compressed,
    coordinates,
    flat_index,
    of_coordinates,
    shared,
    sparse,
)
from oneflow.tensor.methods import attach
from oneflow.tensor.tensor import Tensor

_COMPRESSED = (Layout.sparse_csr, Layout.sparse_csc)


def sparse_coo_tensor(
    indices: Any = None,
    values: Any = None,
    size: Sequence[int] | None = None,
    *,
    dtype: DType | None = None,
    device: Device | str | None = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    check_invariants: bool | None = None,
    is_coalesced: bool | None = None,
) -> SparseTensor:
    """Make a tensor of values at some positions; all others are 0.

    Values at the same position count as their sum.

    Args:
        indices: coordinates: a row for each sparse dimension, a column for each value. Given alone,
            the size of a tensor without values, which `size` may say as well.
        values: a value for each column; further dimensions are dense.
        size: the shape; by default what holds the largest coordinates.
        dtype: the type of the values; theirs by default.
        device: where the tensor is; where the values are by default.
        pin_memory: changes nothing.
        requires_grad: ask for the gradient of the values.
        check_invariants: check that coordinates are within `size`, and in order if they are
            coalesced, which reads them.
        is_coalesced: say that no position occurs twice, and that they are in order.

    Raises:
        RuntimeError: shapes do not fit; a coordinate is negative and `size` is not given; with
            `check_invariants` also: one is outside of `size`, or they are not in order.

    Example:
        >>> import oneflow as flow
        >>> x = flow.sparse_coo_tensor([[0, 1], [2, 0]], [3.0, 4.0], (2, 3))
        >>> x.to_dense().tolist()
        [[0.0, 0.0, 3.0], [4.0, 0.0, 0.0]]
    """
    if values is None:
        size = indices if indices is not None else size
        if size is None:
            raise TypeError("sparse_coo_tensor(): give `indices` and `values`, or a `size`")
        size = tuple(size)
        indices = zeros(len(size), 0).long()
        values = zeros(0, dtype=dtype)
    values = as_tensor(values, dtype=dtype, device=device)
    if values.ndim == 0:
        values = values.reshape(1)
    # On the same memory, and with shapes of their own, which the arguments may change.
    values = values.view_as(values) if values.requires_grad else values.detach()
    index = as_tensor(indices, device=values.device).long().detach()
    if index.ndim != 2 or index.shape[1] != values.shape[0]:
        raise RuntimeError(
            "`indices` must have a column for each of the `values`, got shapes"
            f" {tuple(index.shape)} and {tuple(values.shape)}"
        )
    if size is None:
        size = (*_least_sizes(index), *values.shape[1:])
    check_size(size, index.shape[0], values.shape[1:])
    coalesced = values.shape[0] < 2 if is_coalesced is None else is_coalesced
    result = of_coordinates(index, values, size, coalesced)
    if are_checked(check_invariants):
        check(result._parts)
    return result.requires_grad_() if requires_grad else result


def without_values(
    layout: Layout, size: Sequence[int], dense_dim: int, dtype: DType, device: Device
) -> SparseTensor:
    """A tensor that stores nothing, and is 0 everywhere.

    Raises:
        NotImplementedError: the layout is not written, or a compressed one of other than matrices.
    """
    sparse_dim = len(size) - dense_dim
    if layout is Layout.sparse_coo:
        index = (zeros(sparse_dim, 0, dtype=int64, device=device),)
    elif layout in _COMPRESSED and sparse_dim == 2:
        starts = zeros(size[layout is Layout.sparse_csc] + 1, dtype=int64, device=device)
        index = starts, zeros(0, dtype=int64, device=device)
    else:
        raise NotImplementedError(
            f"tensors of layout {layout} with {sparse_dim} sparse dimensions cannot be made; "
            "`sparse_coo` takes any number, `sparse_csr` and `sparse_csc` take matrices"
        )
    values = zeros(0, *size[sparse_dim:], dtype=dtype, device=device)
    return sparse(SparseParts(layout, index, values, Size(size), True))


def _least_sizes(index: Tensor) -> list[int]:
    """The sizes of sparse dimensions that hold the largest coordinates."""
    if not index.shape[1]:
        return [0] * index.shape[0]
    least = int(index.amin())
    if least < 0:
        raise RuntimeError(f"`indices` must not be negative, got {least} among them")
    return (index.amax(1) + 1).tolist()


def sparse_compressed_tensor(
    compressed_indices: Any,
    plain_indices: Any,
    values: Any,
    size: Sequence[int] | None = None,
    *,
    dtype: DType | None = None,
    layout: Layout = Layout.sparse_csr,
    device: Device | str | None = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    check_invariants: bool | None = None,
) -> SparseTensor:
    """Make a matrix of values by where its rows (or columns) begin, and their columns (or rows).

    Args:
        compressed_indices: the place of the first value of each row, and the number of values.
        plain_indices: the column of each value.
        values: the values, row by row.
        size: the shape; by default what holds the largest column.
        dtype: the type of the values; theirs by default.
        layout: `oneflow.sparse_csr`, or `oneflow.sparse_csc`, where rows and columns change roles.
        device: where the tensor is; where the values are by default.
        pin_memory: changes nothing.
        requires_grad: ask for the gradient of the values.
        check_invariants: check that rows begin in order and that columns are within `size`, in
            order and distinct in each row, which reads them.

    Raises:
        NotImplementedError: another layout, or batches of matrices.
        RuntimeError: shapes do not fit; with `check_invariants` also: rows do not begin in order,
            or columns are outside of `size`, or not in order and distinct in each row.

    Example:
        >>> import oneflow as flow
        >>> flow.sparse_compressed_tensor([0, 1, 2], [1, 0], [3.0, 4.0]).to_dense().tolist()
        [[0.0, 3.0], [4.0, 0.0]]
    """
    if layout not in _COMPRESSED:
        raise NotImplementedError(f"`layout` must be one of {_COMPRESSED}, got {layout}")
    values = as_tensor(values, dtype=dtype, device=device)
    starts = as_tensor(compressed_indices, device=values.device)
    others = as_tensor(plain_indices, device=values.device)
    if starts.ndim != 1 or others.ndim != 1:
        raise NotImplementedError(
            "batches of sparse matrices do not exist: `compressed_indices` and `plain_indices` must"
            f" have one dimension, got shapes {tuple(starts.shape)}, {tuple(others.shape)}"
        )
    if others.shape[0] != values.shape[0]:
        raise RuntimeError(
            "`plain_indices` must have an entry for each of the `values`, got shapes"
            f" {tuple(others.shape)} and {tuple(values.shape)}"
        )
    if size is None:
        most = int(others.max()) + 1 if others.shape[0] else 0
        pair = (starts.shape[0] - 1, most)
        size = (*(pair if layout is Layout.sparse_csr else pair[::-1]), *values.shape[1:])
    check_size(size, 2, values.shape[1:])
    count = size[0 if layout is Layout.sparse_csr else 1]
    if starts.shape[0] != count + 1:
        raise RuntimeError(
            f"`compressed_indices` must have {count + 1} entries for size {tuple(size)}, got"
            f" {starts.shape[0]}"
        )
    parts = SparseParts(layout, (starts, others), shared(values), Size(size), True)
    if are_checked(check_invariants):
        check(parts)
    result = sparse(parts)
    return result.requires_grad_() if requires_grad else result


def sparse_csr_tensor(
    crow_indices: Any,
    col_indices: Any,
    values: Any,
    size: Sequence[int] | None = None,
    **options: Any,
) -> SparseTensor:
    """Make a matrix by where its rows begin: `sparse_compressed_tensor` of that layout.

    Args:
        crow_indices: the place of the first value of each row, and the number of values.
        col_indices: the column of each value.
        values: the values, row by row.
        size: the shape; by default what holds the largest column.
        options: the options of `sparse_compressed_tensor`.

    Example:
        >>> import oneflow as flow
        >>> flow.sparse_csr_tensor([0, 1, 2], [1, 0], [3.0, 4.0]).to_dense().tolist()
        [[0.0, 3.0], [4.0, 0.0]]
    """
    options.setdefault("layout", Layout.sparse_csr)
    return sparse_compressed_tensor(crow_indices, col_indices, values, size, **options)


def sparse_csc_tensor(
    ccol_indices: Any,
    row_indices: Any,
    values: Any,
    size: Sequence[int] | None = None,
    **options: Any,
) -> SparseTensor:
    """Make a matrix by where its columns begin: `sparse_compressed_tensor` of that layout.

    Args:
        ccol_indices: the place of the first value of each column, and the number of values.
        row_indices: the row of each value.
        values: the values, column by column.
        size: the shape; by default what holds the largest row.
        options: the options of `sparse_compressed_tensor`.

    Example:
        >>> import oneflow as flow
        >>> flow.sparse_csc_tensor([0, 1, 2], [1, 0], [3.0, 4.0]).to_dense().tolist()
        [[0.0, 4.0], [3.0, 0.0]]
    """
    options.setdefault("layout", Layout.sparse_csc)
    return sparse_compressed_tensor(ccol_indices, row_indices, values, size, **options)


def _nonzero(x: Tensor, sparse_dim: int | None) -> SparseTensor:
    """The elements that are not 0, or of some last dimensions those with one that is not."""
    dims = x.ndim if sparse_dim is None else sparse_dim
    nonzero_mask = x.detach() != 0
    if dims < x.ndim:
        nonzero_mask = nonzero_mask.flatten(dims).any(-1)
    index = nonzero(nonzero_mask).t()
    flat = flat_index(index, x.shape)
    values = x.reshape(-1, *x.shape[dims:]).index_select(0, flat)
    return of_coordinates(index, values, x.shape, True)


def to_sparse(
    self: Tensor,
    sparse_dim: int | Layout | None = None,
    *,
    layout: Layout | None = None,
    dense_dim: int | None = None,
    blocksize: Any = None,
) -> SparseTensor:
    """Return the elements that are not 0 as a sparse tensor.

    Args:
        self: a dense tensor, or a sparse one of another layout.
        sparse_dim: the number of sparse dimensions, all by default, or the layout.
        layout: `oneflow.sparse_coo` by default.
        dense_dim: in place of `sparse_dim`, the number of the other dimensions.
        blocksize: must be None: there are no layouts of blocks.

    Raises:
        NotImplementedError: the layout does not exist here.

    Example:
        >>> import oneflow as flow
        >>> flow.tensor([0.0, 5.0]).to_sparse().indices().tolist()
        [[1]]
    """
    if isinstance(sparse_dim, Layout):
        sparse_dim, layout = None, sparse_dim
    if dense_dim is not None:
        sparse_dim = self.ndim - dense_dim
    if layout in _COMPRESSED and blocksize is None:
        return _compressed(self, layout, sparse_dim)
    if layout not in (None, Layout.sparse_coo) or blocksize is not None:
        raise NotImplementedError(f"`to_sparse`: tensors of layout {layout} do not exist")
    if not isinstance(self, SparseTensor):
        return _nonzero(self, sparse_dim)
    if self.is_sparse:
        return self
    index, in_order = coordinates(self), self.layout is Layout.sparse_csr
    result = of_coordinates(index, self._values(), self.shape, in_order)
    return result.coalesce()


def _compressed(x: Tensor, layout: Layout, sparse_dim: int | None) -> SparseTensor:
    """A matrix with its rows or columns compressed."""
    if x.layout is layout and isinstance(x, SparseTensor):
        return x
    matrix = to_sparse(x, sparse_dim)
    if matrix.sparse_dim() != 2:
        raise RuntimeError(f"layout {layout} is for matrices, got shape {tuple(x.shape)}")
    index, values, size = matrix._indices(), matrix._values(), matrix.shape[:2]
    if layout is Layout.sparse_csc:
        index, size = index.flip(0), size[::-1]
    ordered = of_coordinates(index, values, (*size, *values.shape[1:])).coalesce()
    rows, others = ordered._indices()
    starts = compressed(rows, size[0])
    return sparse(SparseParts(layout, (starts, others), ordered._values(), matrix.shape, True))


def to_sparse_csr(self: Tensor, dense_dim: int | None = None) -> SparseTensor:
    """Return a matrix as one of layout `oneflow.sparse_csr`.

    Example:
        >>> import oneflow as flow
        >>> flow.tensor([[0.0, 5.0]]).to_sparse_csr().crow_indices().tolist()
        [0, 1]
    """
    return to_sparse(self, layout=Layout.sparse_csr, dense_dim=dense_dim)


def to_sparse_csc(self: Tensor, dense_dim: int | None = None) -> SparseTensor:
    """Return a matrix as one of layout `oneflow.sparse_csc`.

    Example:
        >>> import oneflow as flow
        >>> flow.tensor([[0.0, 5.0]]).to_sparse_csc().ccol_indices().tolist()
        [0, 0, 1]
    """
    return to_sparse(self, layout=Layout.sparse_csc, dense_dim=dense_dim)


@reject_strings
def to_dense(self: Tensor, dtype: DType | None = None, *, masked_grad: bool = True) -> Tensor:
    """Return a tensor with all elements; of a dense tensor itself.

    Args:
        self: the tensor.
        dtype: the type of its elements; the tensor's by default.
        masked_grad: changes nothing: only values have gradients.

    Example:
        >>> import oneflow as flow
        >>> flow.sparse_coo_tensor([[2]], [1.5], (4,)).to_dense().tolist()
        [0.0, 0.0, 1.5, 0.0]
    """
    if isinstance(self, SparseTensor):
        dims = self.sparse_dim()
        count = Size(self.shape[:dims]).numel()
        flat = flat_index(coordinates(self), self.shape)
        self = added_at(flat, self._values(), count).reshape(self.shape)
    return self if dtype is None else self.to(dtype)


def sparse_mask(self: Tensor, mask: SparseTensor) -> SparseTensor:
    """Return the tensor's elements at the positions of a sparse one.

    Example:
        >>> import oneflow as flow
        >>> mask = flow.sparse_coo_tensor([[1]], [7.0], (2,))
        >>> flow.tensor([3.0, 4.0]).sparse_mask(mask).to_dense().tolist()
        [0.0, 4.0]
    """
    if not isinstance(mask, SparseTensor) or mask.shape != self.shape:
        raise RuntimeError(
            "`mask` must be a sparse tensor of the same shape, got"
            f" {mask.layout}, {tuple(mask.shape)} for {tuple(self.shape)}"
        )
    dense = to_dense(self)
    dims = mask.sparse_dim()
    flat = flat_index(coordinates(mask), mask.shape)
    return mask.with_values(dense.reshape(-1, *dense.shape[dims:]).index_select(0, flat))


def spdiags(
    diagonals: Tensor, offsets: Tensor, shape: Sequence[int], layout: Layout | None = None
) -> SparseTensor:
    """Make a matrix of diagonals.

    Args:
        diagonals: a row for each; its element `j` is in column `j`.
        offsets: the diagonal of each row: above the main one if positive.
        shape: the shape of the matrix.
        layout: `oneflow.sparse_coo` by default.

    Raises:
        RuntimeError: the arguments do not fit each other; or an offset occurs twice, which reads
            them.

    Example:
        >>> import oneflow as flow
        >>> x = flow.sparse.spdiags(flow.ones(1, 2), flow.tensor([1]), (2, 2))
        >>> x.to_dense().tolist()
        [[0.0, 1.0], [0.0, 0.0]]
    """
    _check_diagonals(diagonals, offsets, shape)
    table, places = diagonals.reshape(-1, diagonals.shape[-1]), offsets.reshape(-1, 1)
    columns = arange(table.shape[1], device=table.device).expand(table.shape)
    rows = columns - places
    inside = (rows >= 0) & (rows < shape[0]) & (columns < shape[1])
    index = cat([rows[inside].unsqueeze(0), columns[inside].unsqueeze(0)])
    return to_sparse(of_coordinates(index, table[inside], shape).coalesce(), layout=layout)


def _check_diagonals(diagonals: Tensor, offsets: Tensor, shape: Sequence[int]) -> None:
    if len(shape) != 2:
        raise RuntimeError(f"Output shape must be 2d, got {tuple(shape)}")
    if diagonals.ndim > 2 or not diagonals.ndim:
        raise RuntimeError(f"Diagonals must be vector or matrix, got {diagonals.ndim} dimensions")
    if offsets.ndim > 1:
        raise RuntimeError(f"Offsets must be scalar or vector, got {offsets.ndim} dimensions")
    count = diagonals.shape[0] if diagonals.ndim == 2 else 1
    if count != offsets.numel():
        raise RuntimeError(
            f"Number of diagonals ({count}) does not match the number of offsets "
            f"({offsets.numel()})"
        )
    if offsets.dtype is not int64:
        raise RuntimeError(f"Offset Tensor must have dtype Long, got {offsets.dtype}")
    if len(set(offsets.reshape(-1).tolist())) < offsets.numel():
        raise RuntimeError("Offset tensor contains duplicate values")


for _method in (to_sparse, to_sparse_csr, to_sparse_csc, to_dense, sparse_mask):
    attach(_method.__name__, _method)
attach("to_sparse_coo", to_sparse)
