"""Functions whose names mean something else in `oneflow` today."""

from __future__ import annotations

from collections.abc import Sequence

from oneflow.base import dtype as dt
from oneflow.functional.elementwise import clamp as clamps
from oneflow.functional.index import gather as gathers, search
from oneflow.functional.nn import padding
from oneflow.functional.registry import function
from oneflow.functional.shape import concat as concats, reshape, stack
from oneflow.tensor.tensor import Tensor

_NAMESPACE = "compatible.single_client"


@function(method=False, namespace=_NAMESPACE)
def concat(
    inputs: Sequence[Tensor] | None = None,
    axis: int = 0,
    max_dim_size: int | None = None,
    values: Sequence[Tensor] | None = None,
) -> Tensor:
    """The tensors one after the other along an existing dimension.

    Args:
        inputs: the tensors.
        axis: the dimension.
        max_dim_size: the largest size that the dimension may get.
        values: another name of `inputs`.

    Raises:
        ValueError: there is no tensor, or the dimension gets larger than `max_dim_size`.

    Example:
        >>> from oneflow.compatible import single_client as flow
        >>> flow.concat([flow.ones(2), flow.zeros(1)], axis=0)
        tensor([1., 1., 0.], dtype=oneflow.float32)
    """
    tensors = values if inputs is None else inputs
    if not tensors:
        raise ValueError("concat() needs at least one tensor")
    result = concats.cat(tensors, axis)
    if max_dim_size is not None and result.shape[axis] > max_dim_size:
        raise ValueError(
            f"concat(): dimension {axis} gets the size {result.shape[axis]}, more than "
            f"max_dim_size={max_dim_size}"
        )
    return result


@function(method=False, namespace=_NAMESPACE)
def gather(
    params: Tensor,
    indices: Tensor,
    validate_indices: Tensor | None = None,
    axis: int | None = None,
    batch_dims: int = 0,
) -> Tensor:
    """The slices of `params` at `indices` along a dimension.

    Args:
        params: the tensor.
        indices: integers of any shape, which takes the place of the dimension.
        validate_indices: accepted; indices are always checked.
        axis: the dimension; by default the one after the batch dimensions.
        batch_dims: how many first dimensions `params` and `indices` have in common. If `axis` comes
            right after them, `indices` may have fewer, and all but its last count.

    Raises:
        IndexError: (at the next read of a value) an index does not exist.

    Example:
        >>> from oneflow.compatible import single_client as flow
        >>> flow.gather(flow.tensor([[1, 2], [3, 4]]), flow.tensor([1, 0]), axis=1)
        tensor([[2, 1],
                [4, 3]], dtype=oneflow.int64)
    """
    at = (batch_dims if axis is None else axis) % params.ndim
    if 0 < batch_dims == at and 0 < indices.ndim <= batch_dims + 1:
        return gathers.batch_gather(params, indices)
    if batch_dims == 0:
        flat = gathers.index_select(params, at, reshape.reshape(indices, (-1,)))
        shape = (*params.shape[:at], *indices.shape, *params.shape[at + 1 :])
        return reshape.reshape(flat, shape)
    pairs = zip(concats.unbind(params, 0), concats.unbind(indices, 0), strict=True)
    parts = [gather(x, i, None, at - 1, batch_dims - 1) for x, i in pairs]
    return concats.stack(parts, 0)


@function(method=False, namespace=_NAMESPACE)
def pad(x: Tensor, paddings: Sequence[Sequence[int]], constant_value: float = 0) -> Tensor:
    """`x` with elements added before and after each dimension.

    Args:
        x: the tensor.
        paddings: for each dimension, the first one first, how many before and after.
        constant_value: what is added.

    Raises:
        ValueError: there are not as many pairs as dimensions.

    Example:
        >>> from oneflow.compatible import single_client as flow
        >>> flow.pad(flow.ones(1, 2), [(0, 0), (1, 0)])
        tensor([[0., 1., 1.]], dtype=oneflow.float32)
    """
    if len(paddings) != x.ndim:
        raise ValueError(f"pad() needs a pair for each of {x.ndim} dimensions, got {len(paddings)}")
    widths = [amount for pair in reversed(list(paddings)) for amount in pair]
    return padding.pad(x, widths, value=constant_value)


@function(method=False, namespace=_NAMESPACE)
def slice_(x: Tensor, begin: Sequence[int | None], size: Sequence[int | None]) -> Tensor:
    """The part of `x` that begins at `begin` and has the sizes `size`.

    Args:
        x: the tensor.
        begin: the first index of each dimension; None for its beginning.
        size: how many indices of each dimension; None or -1 for all that follow.

    Raises:
        ValueError: there are not as many numbers as dimensions, or the part is not within `x`.

    Example:
        >>> from oneflow.compatible import single_client as flow
        >>> flow.slice(flow.arange(6).reshape(2, 3), [0, 1], [None, 2])
        tensor([[1, 2],
                [4, 5]], dtype=oneflow.int64)
    """
    if not len(begin) == len(size) == x.ndim:
        raise ValueError(
            f"slice() needs a begin and a size for each of {x.ndim} dimensions, got {len(begin)} "
            f"and {len(size)}"
        )
    bounds = []
    for dim, (first, count) in enumerate(zip(begin, size, strict=True)):
        limit = x.shape[dim]
        start = 0 if first is None else first + limit * (first < 0)
        stop = limit if count in (None, -1) else start + count
        if not 0 <= start <= stop <= limit:
            raise ValueError(
                f"slice(): {start} to {stop} is not within the size {limit} of dimension {dim}"
            )
        bounds.append((start, stop, 1))
    return stack.slice_(x, bounds)


def _is_descending(direction: str) -> bool:
    """Return True for "DESCENDING".

    Raises:
        ValueError: it is neither this nor "ASCENDING".
    """
    if direction not in ("ASCENDING", "DESCENDING"):
        raise ValueError(f"`direction` must be 'ASCENDING' or 'DESCENDING', got {direction!r}")
    return direction == "DESCENDING"


@function(method=False, namespace=_NAMESPACE)
def sort(input: Tensor, axis: int = -1, direction: str = "ASCENDING") -> Tensor:
    """The elements in order along a dimension.

    Args:
        input: the tensor.
        axis: the dimension.
        direction: "ASCENDING" or "DESCENDING".

    Raises:
        ValueError: the direction is something else.

    Example:
        >>> from oneflow.compatible import single_client as flow
        >>> flow.sort(flow.tensor([1, 3, 2]), direction="DESCENDING")
        tensor([3, 2, 1], dtype=oneflow.int64)
    """
    return search.sort(input, axis, _is_descending(direction))[0]


@function(method=False, namespace=_NAMESPACE)
def argsort(input: Tensor, axis: int = -1, direction: str = "ASCENDING") -> Tensor:
    """The positions, int32, that would sort a tensor; the arguments of `sort`.

    Example:
        >>> from oneflow.compatible import single_client as flow
        >>> flow.argsort(flow.tensor([1, 3, 2]), direction="DESCENDING")
        tensor([1, 2, 0], dtype=oneflow.int32)
    """
    return search.sort(input, axis, _is_descending(direction))[1].to(dt.int32)


@function(method=False, namespace=_NAMESPACE)
def scatter_nd(indices: Tensor, updates: Tensor, shape: Sequence[int]) -> Tensor:
    """Zeros of `shape` with `updates` added at n-dimensional positions.

    Example:
        >>> from oneflow.compatible import single_client as flow
        >>> flow.scatter_nd(indices=flow.tensor([[1]]), updates=flow.tensor([4.0]), shape=(3,))
        tensor([0., 4., 0.], dtype=oneflow.float32)
    """
    return gathers.scatter_nd(indices, updates, shape)


@function(method=False, namespace=_NAMESPACE)
def tensor_scatter_nd_update(params: Tensor, indices: Tensor, updates: Tensor) -> Tensor:
    """A copy of `params` with `updates` written at n-dimensional positions.

    Example:
        >>> from oneflow.compatible import single_client as flow
        >>> x, at = flow.zeros(3), flow.tensor([[1]])
        >>> flow.tensor_scatter_nd_update(params=x, indices=at, updates=flow.tensor([4.0]))
        tensor([0., 4., 0.], dtype=oneflow.float32)
    """
    return gathers.tensor_scatter_nd_update(params, indices, updates)


@function(method=False, namespace=_NAMESPACE, aliases=("clip",))
def clamp(values: Tensor, min_value: float | None = None, max_value: float | None = None) -> Tensor:
    """Every element limited to ``[min_value, max_value]``.

    Example:
        >>> from oneflow.compatible import single_client as flow
        >>> flow.clip(flow.tensor([-1.0, 5.0]), min_value=0, max_value=2)
        tensor([0., 2.], dtype=oneflow.float32)
    """
    return clamps.clamp(values, min_value, max_value)
