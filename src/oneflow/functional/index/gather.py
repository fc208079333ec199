"""Reading elements at positions that are data: gather, index_select, take, masks and so on."""

from __future__ import annotations

from typing import Any

from oneflow.base.dtype import Category, int32, int64
from oneflow.base.shape import broadcast_shapes, wrap_dim
from oneflow.functional.registry import function
from oneflow.primitives.operators import indexing as p, scatter as s
from oneflow.primitives.operators.shape import unbind
from oneflow.program.value import Value
from oneflow.tensor.call import call, wrap
from oneflow.tensor.host_gather import gather_on_host
from oneflow.tensor.indexing import get_item
from oneflow.tensor.operands import as_mask
from oneflow.tensor.positions import positions_of_nonzero
from oneflow.tensor.tensor import Tensor
from oneflow.tensor.views import unwrap


def positions_of(index: Tensor, name: str) -> Tensor:
    """An index tensor after a check of its dtype.

    Raises:
        RuntimeError: it is neither int64 nor int32.
    """
    if index.dtype is not int64 and index.dtype is not int32:
        raise RuntimeError(f"{name}(): Expected dtype int32/int64 for index, got {index.dtype!r}")
    return index


def same_rank(input: Tensor, index: Tensor, name: str) -> None:
    """Check that `index` has as many dimensions as `input` (0-dim counts as 1).

    Raises:
        RuntimeError: it has not.
    """
    if (input.ndim or 1) != (index.ndim or 1) and index.numel():
        raise RuntimeError(
            f"{name}(): Index tensor must have the same number of dimensions as input tensor, got "
            f"{index.ndim} and {input.ndim}"
        )


@function()
def gather(input: Tensor, dim: int, index: Tensor, sparse_grad: bool = False) -> Tensor:
    """For each element of `index`, the element of `input` at that position along `dim`.

    Along the other dimensions it is the position of the index itself.

    Args:
        input: tensor.
        dim: dimension.
        index: int64 or int32 tensor of as many dimensions, not larger than `input` except along
            `dim`.
        sparse_grad: accepted; gradients are dense.

    Returns:
        Tensor of the shape of `index`.

    Raises:
        RuntimeError: shapes do not fit, or (at the next read of a value) a position does not exist.

    Example:
        >>> import oneflow as flow
        >>> x = flow.tensor([[1, 2], [3, 4]])
        >>> flow.gather(x, 1, flow.tensor([[0, 0], [1, 0]])).tolist()
        [[1, 1], [4, 3]]
    """
    at = wrap_dim(dim, input.ndim)
    if not index.numel():
        return input.reshape(-1)[:0].reshape(index.shape)
    positions_of(index, "gather")
    same_rank(input, index, "gather")
    if not input.ndim or not index.ndim:
        gathered = gather(input.reshape(-1), 0, index.reshape(-1))
        return gathered.reshape(index.shape)
    check_index_shape(index, input, at, "gather", "input")
    return call(s.gather, input, index, dim=at)


def check_index_shape(index: Tensor, other: Tensor, dim: int | None, name: str, what: str) -> None:
    """Check that `index` is not larger than `other`, except along `dim`.

    Raises:
        RuntimeError: it is.
    """
    for position, (have, limit) in enumerate(zip(index.shape, other.shape, strict=True)):
        if position != dim and have > limit:
            raise RuntimeError(
                f"{name}(): Size does not match at dimension {position} expected index "
                f"{list(index.shape)} to be no larger than {what} {list(other.shape)}"
                + (f" apart from dimension {dim}" if dim is not None else "")
            )


@function()
def index_select(input: Tensor, dim: int, index: Tensor) -> Tensor:
    """The slices at `index` along `dim`.

    Args:
        input: tensor.
        dim: dimension.
        index: int64 or int32 tensor of at most one dimension.

    Raises:
        IndexError: `index` has more dimensions, or (at the next read of a value) a position does
            not exist.

    Example:
        >>> import oneflow as flow
        >>> flow.arange(6).reshape(3, 2).index_select(0, flow.tensor([2, 0])).tolist()
        [[4, 5], [0, 1]]
    """
    positions_of(index, "index_select")
    if index.ndim > 1:
        raise IndexError("index_select(): Index is supposed to be a vector")
    at = wrap_dim(dim, input.ndim)
    indices = index if index.ndim else index.reshape(1)
    if not input.ndim:
        return call(p.index, input.reshape(1), indices, dims=(0,), negative=False).reshape(())
    on_host = gather_on_host(input, (at,), (unwrap(indices),), negative=False)
    if on_host is not None:
        return on_host
    return call(p.index, input, indices, dims=(at,), negative=False)


@function()
def take(input: Tensor, index: Tensor) -> Tensor:
    """The elements of the flattened tensor at `index`, in its shape.

    Raises:
        RuntimeError: `index` is not int64.
        IndexError: (at the next read of a value) a position does not exist.

    Example:
        >>> import oneflow as flow
        >>> flow.arange(4).reshape(2, 2).take(flow.tensor([3, 0]))
        tensor([3, 0], dtype=oneflow.int64)
    """
    if index.dtype is not int64:
        raise RuntimeError(f"take(): Expected a long tensor for index, but got {index.dtype!r}")
    if index.numel() and not input.numel():
        raise IndexError("take(): tried to take from an empty tensor")
    return call(p.index, input.reshape(-1), index, dims=(0,))


@function()
def take_along_dim(input: Tensor, indices: Tensor, dim: int | None = None) -> Tensor:
    """Like `gather`, with `input` and `indices` broadcast except along `dim`.

    Without `dim` it reads the flattened tensor.

    Raises:
        RuntimeError: `indices` is not int64, or has another number of dimensions.

    Example:
        >>> import oneflow as flow
        >>> x = flow.tensor([[3, 1, 2]])
        >>> flow.take_along_dim(x, x.argsort(1), 1)
        tensor([[1, 2, 3]], dtype=oneflow.int64)
    """
    if indices.dtype is not int64:
        raise RuntimeError(f"dtype of indices should be Long but got {indices.dtype!r}")
    if dim is None:
        return gather(input.reshape(-1), 0, indices.reshape(-1))
    if input.ndim != indices.ndim:
        raise RuntimeError(
            "take_along_dim(): input and indices should have the same number of dimensions, but "
            f"got {input.ndim} dimensions for input, and {indices.ndim} dimensions for indices"
        )
    at = wrap_dim(dim, input.ndim)
    common = [list(x.shape) for x in (input, indices)]
    for shape in common:
        shape[at] = 1
    shape = list(broadcast_shapes(*map(tuple, common)))
    wide = [[*shape[:at], x.shape[at], *shape[at + 1 :]] for x in (input, indices)]
    # Unlike `gather`, it counts negative positions from the end.
    nonnegative = indices + (indices < 0) * input.shape[at]
    return gather(input.expand(wide[0]), at, nonnegative.expand(wide[1]))


@function()
def masked_select(input: Tensor, mask: Tensor) -> Tensor:
    """The elements where `mask` is true, in one dimension. Reads the mask: a sync point.

    Raises:
        RuntimeError: the mask is neither bool nor integer.

    Example:
        >>> import oneflow as flow
        >>> x = flow.tensor([1, 2, 3])
        >>> flow.masked_select(x, x > 1)
        tensor([2, 3], dtype=oneflow.int64)
    """
    mask = as_mask(mask, "masked_select: expected BoolTensor for mask, got")
    if mask.shape == input.shape:
        return get_item(input, mask)
    shape = broadcast_shapes(input.shape, mask.shape)
    source = input.expand(shape).reshape(-1)
    (positions,) = positions_of_nonzero(mask.expand(shape).reshape(-1))
    return call(p.index, source, positions, dims=(0,))


def _coordinates(index: Tensor) -> list[Value]:
    """The index tensors that the last dimension of `index` holds side by side."""
    return list(unbind(unwrap(index), dim=index.ndim - 1))


@function(method=False)
def gather_nd(params: Tensor, indices: Tensor) -> Tensor:
    """Slices of `params` at n-dimensional positions, which the last dimension of `indices` holds.

    Args:
        params: tensor.
        indices: int tensor ``[..., n]``, n at most the number of dimensions of `params`.

    Returns:
        Tensor of shape ``indices.shape[:-1] + params.shape[n:]``.

    Raises:
        IndexError: (at the next read of a value) a position does not exist.

    Example:
        >>> import oneflow as flow
        >>> flow.gather_nd(flow.tensor([[1, 2], [3, 4]]), flow.tensor([[0, 1], [1, 0]]))
        tensor([2, 3], dtype=oneflow.int64)
    """
    coordinates = _checked_nd(params.ndim, indices, "gather_nd")
    return wrap(p.index(unwrap(params), *coordinates, dims=tuple(range(len(coordinates)))))


def _checked_nd(ndim: int, indices: Tensor, name: str) -> list[Value]:
    if not indices.ndim or indices.shape[-1] > ndim:
        raise RuntimeError(
            f"{name}(): the last dimension of the indices, of shape {tuple(indices.shape)}, must "
            f"be at most the number of dimensions, {ndim}"
        )
    return _coordinates(indices)


@function(method=False)
def scatter_nd(index: Tensor, update: Tensor, shape: Any) -> Tensor:
    """Zeros of `shape` with `update` added at n-dimensional positions.

    Args:
        index: int tensor ``[..., n]``.
        update: tensor of shape ``index.shape[:-1] + shape[n:]``.
        shape: shape of the result.

    Example:
        >>> import oneflow as flow
        >>> flow.scatter_nd(flow.tensor([[2], [0]]), flow.tensor([5.0, 6.0]), [4])
        tensor([6., 0., 5., 0.], dtype=oneflow.float32)
    """
    into = update.new_zeros(tuple(shape))
    return _put_nd(into, index, update, accumulate=True, name="scatter_nd")


@function(method=False, inplace=True)
def tensor_scatter_nd_update(tensor: Tensor, indices: Tensor, updates: Tensor) -> Tensor:
    """A copy of `tensor` with `updates` written at n-dimensional positions.

    Example:
        >>> import oneflow as flow
        >>> flow.tensor_scatter_nd_update(flow.zeros(3), flow.tensor([[1]]), flow.tensor([4.0]))
        tensor([0., 4., 0.], dtype=oneflow.float32)
    """
    return _put_nd(tensor, indices, updates, accumulate=False, name="tensor_scatter_nd_update")


@function(method=False)
def tensor_scatter_nd_add(params: Tensor, indices: Tensor, updates: Tensor) -> Tensor:
    """A copy of `params` with `updates` added at n-dimensional positions.

    Example:
        >>> import oneflow as flow
        >>> at = flow.tensor([[1], [1]])
        >>> flow.tensor_scatter_nd_add(flow.ones(3), at, flow.tensor([4.0, 5.0]))
        tensor([ 1., 10.,  1.], dtype=oneflow.float32)
    """
    return _put_nd(params, indices, updates, accumulate=True, name="tensor_scatter_nd_add")


def _put_nd(into: Tensor, index: Tensor, update: Tensor, accumulate: bool, name: str) -> Tensor:
    if into.dtype is not update.dtype:
        raise RuntimeError(
            f"{name}(): expected updates of the tensor's dtype {into.dtype}, got {update.dtype}"
        )
    coordinates = _checked_nd(into.ndim, index, name)
    dims = tuple(range(len(coordinates)))
    want = (*index.shape[:-1], *into.shape[len(dims) :])
    if tuple(update.shape) != want:
        raise RuntimeError(f"{name}(): updates have shape {tuple(update.shape)}, expected {want}")
    return wrap(
        p.index_put(unwrap(into), unwrap(update), *coordinates, dims=dims, accumulate=accumulate)
    )


@function(method=False)
def batch_gather(in_: Tensor, indices: Tensor) -> Tensor:
    """Per batch, the slices of `in_` at `indices`.

    All but the last dimension of `indices` are batch dimensions.

    Raises:
        TypeError: `indices` holds no integers.
        RuntimeError: the batch dimensions differ.

    Example:
        >>> import oneflow as flow
        >>> x = flow.tensor([[1, 2], [3, 4]])
        >>> flow.batch_gather(x, flow.tensor([[1], [0]])).tolist()
        [[2], [3]]
    """
    if not in_.ndim >= indices.ndim > 0:
        raise RuntimeError(
            f"batch_gather(): `indices` has {indices.ndim} dimension(s), expected 1 to the "
            f"{in_.ndim} of the input"
        )
    if indices.dtype.category is not Category.INTEGER:
        raise TypeError(f"batch_gather(): `indices` must hold integers, got {indices.dtype!r}")
    at = indices.ndim - 1
    if in_.shape[:at] != indices.shape[:at]:
        raise RuntimeError(
            f"batch_gather(): the batch dimensions of input {tuple(in_.shape)} and indices "
            f"{tuple(indices.shape)} differ"
        )
    trailing = in_.ndim - indices.ndim
    wide = indices.reshape((*indices.shape, *(1,) * trailing))
    return gather(in_, at, wide.expand((*indices.shape, *in_.shape[at + 1 :])))
