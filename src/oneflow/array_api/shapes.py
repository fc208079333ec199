"""Other shapes and orders of the same elements."""

from __future__ import annotations

from collections.abc import Sequence

from oneflow.array_api.promotion import promoted, result_type
from oneflow.functional.shape import concat as joining, rearrange, reshape as shapes
from oneflow.tensor.operands import cast_to
from oneflow.tensor.tensor import Tensor


def concat(arrays: Sequence[Tensor], /, *, axis: int | None = 0) -> Tensor:
    """Return the arrays one after another along `axis`; flattened ones if it is None.

    Example:
        >>> import oneflow as flow
        >>> flow.array_api.concat([flow.tensor([1]), flow.tensor([2.5])])
        tensor([1.0000, 2.5000], dtype=oneflow.float32)
    """
    dtype = result_type(*arrays)
    parts = [cast_to(array, dtype) for array in arrays]
    if axis is None:
        return joining.cat([part.reshape(-1) for part in parts])
    return joining.cat(parts, axis)


def flip(x: Tensor, /, *, axis: int | tuple[int, ...] | None = None) -> Tensor:
    """Return `x` with the order along the axes, or all of them, reversed.

    Example:
        >>> import oneflow as flow
        >>> flow.array_api.flip(flow.tensor([1, 2, 3]))
        tensor([3, 2, 1], dtype=oneflow.int64)
    """
    axes = tuple(range(x.ndim)) if axis is None else axis
    return rearrange.flip(x, axes)


def permute_dims(x: Tensor, /, axes: tuple[int, ...]) -> Tensor:
    """Return `x` with its axes in another order.

    Example:
        >>> import oneflow as flow
        >>> flow.array_api.permute_dims(flow.ones(2, 3, 4), (2, 0, 1)).shape
        oneflow.Size([4, 2, 3])
    """
    return shapes.permute(x, axes)


def repeat(x: Tensor, repeats: int | Tensor, /, *, axis: int | None = None) -> Tensor:
    """Return `x` with each element along `axis` repeated; of the flattened array if it is None.

    Example:
        >>> import oneflow as flow
        >>> flow.array_api.repeat(flow.tensor([1, 2]), 2)
        tensor([1, 1, 2, 2], dtype=oneflow.int64)
    """
    return rearrange.repeat_interleave(x, repeats, axis)


def reshape(x: Tensor, /, shape: tuple[int, ...], *, copy: bool | None = None) -> Tensor:
    """Return `x` in another shape.

    Raises:
        ValueError: `copy` is False, and the strides of `x` need one.

    Example:
        >>> import oneflow as flow
        >>> flow.array_api.reshape(flow.arange(4), (2, 2))
        tensor([[0, 1],
                [2, 3]], dtype=oneflow.int64)
    """
    if copy:
        return shapes.reshape(x.clone(), shape)
    if copy is False:
        try:
            return x.view(shape)
        except RuntimeError as error:
            raise ValueError(f"reshape(): a copy is needed, but `copy` is False: {error}") from None
    return shapes.reshape(x, shape)


def roll(
    x: Tensor, /, shift: int | tuple[int, ...], *, axis: int | tuple[int, ...] | None = None
) -> Tensor:
    """Return `x` shifted along the axes, what falls off put in at the other end.

    Example:
        >>> import oneflow as flow
        >>> flow.array_api.roll(flow.arange(4), 1)
        tensor([3, 0, 1, 2], dtype=oneflow.int64)
    """
    return rearrange.roll(x, shift, axis)


def squeeze(x: Tensor, /, axis: int | tuple[int, ...]) -> Tensor:
    """Return `x` without the axes named.

    Raises:
        ValueError: one of them has another size than 1.

    Example:
        >>> import oneflow as flow
        >>> flow.array_api.squeeze(flow.ones(1, 3, 1), 0).shape
        oneflow.Size([3, 1])
    """
    axes = (axis,) if isinstance(axis, int) else axis
    for dim in axes:
        if x.shape[dim] != 1:
            raise ValueError(f"squeeze(): axis {dim} has size {x.shape[dim]}, expected 1")
    return shapes.squeeze(x, axes)


def stack(arrays: Sequence[Tensor], /, *, axis: int = 0) -> Tensor:
    """Return the arrays side by side along a new axis.

    Example:
        >>> import oneflow as flow
        >>> flow.array_api.stack([flow.tensor([1, 2]), flow.tensor([3, 4])])
        tensor([[1, 2],
                [3, 4]], dtype=oneflow.int64)
    """
    return joining.stack(promoted(*arrays), axis)


def unstack(x: Tensor, /, *, axis: int = 0) -> tuple[Tensor, ...]:
    """Return the parts of `x` along an axis, without that axis.

    Example:
        >>> import oneflow as flow
        >>> flow.array_api.unstack(flow.tensor([[1, 2], [3, 4]]))
        (tensor([1, 2], dtype=oneflow.int64), tensor([3, 4], dtype=oneflow.int64))
    """
    return joining.unbind(x, axis)
