"""Undoing max pooling: maxima go back to where they were found."""

from __future__ import annotations

from collections.abc import Sequence

from oneflow.base.sizes import IntOrInts
from oneflow.functional.nn.spatial import batched, per_dimension, unbatched
from oneflow.functional.registry import function
from oneflow.primitives.operators import pool as p
from oneflow.tensor.call import call
from oneflow.tensor.tensor import Tensor


def max_unpool(
    input: Tensor,
    indices: Tensor,
    kernel_size: IntOrInts,
    stride: IntOrInts | None,
    padding: IntOrInts,
    output_size: Sequence[int] | None,
    count: int,
) -> Tensor:
    """Zeros with each value at its index, over `count` spatial dimensions; see `max_unpool2d`."""
    name = f"max_unpool{count}d"
    kernel = per_dimension(kernel_size, count, "kernel_size")
    stride = kernel if stride is None else per_dimension(stride, count, "stride")
    padding = per_dimension(padding or 0, count, "padding")
    if indices.shape != input.shape:
        raise RuntimeError(
            f"{name}: expected `indices` of the shape of `input`, {list(input.shape)}, got "
            f"{list(indices.shape)}"
        )
    input, was_unbatched = batched(input, count, name)
    indices, _ = batched(indices, count, name)
    size = tuple(
        (length - 1) * step - 2 * pad + width
        for length, step, pad, width in zip(input.shape[2:], stride, padding, kernel, strict=True)
    )
    if output_size is not None:
        size = _checked_output_size(name, size, stride, tuple(output_size)[-count:])
    output = call(p.unpool, input, indices, dims=tuple(range(2, 2 + count)), size=size)
    return unbatched(output, was_unbatched)


def _checked_output_size(
    name: str, expected: tuple[int, ...], stride: tuple[int, ...], output_size: tuple[int, ...]
) -> tuple[int, ...]:
    for length, step, size in zip(expected, stride, output_size, strict=True):
        if not length - step < size < length + step:
            raise ValueError(
                f"{name}: invalid output_size {list(output_size)}: each size must be less than a "
                f"stride away from {list(expected)}"
            )
    return output_size


@function(method=False, namespace="nn.functional")
def max_unpool1d(
    input: Tensor,
    indices: Tensor,
    kernel_size: IntOrInts,
    stride: IntOrInts | None = None,
    padding: IntOrInts = 0,
    output_size: Sequence[int] | None = None,
) -> Tensor:
    """Undo `max_pool1d`; arguments as for `max_unpool2d`.

    Example:
        >>> import oneflow as flow
        >>> values, indices = flow.nn.functional.max_pool1d(
        ...     flow.tensor([[1.0, 3.0, 2.0, 0.0]]), 2, return_indices=True
        ... )
        >>> flow.nn.functional.max_unpool1d(values, indices, 2)
        tensor([[0., 3., 2., 0.]], dtype=oneflow.float32)
    """
    return max_unpool(input, indices, kernel_size, stride, padding, output_size, 1)


@function(method=False, namespace="nn.functional")
def max_unpool2d(
    input: Tensor,
    indices: Tensor,
    kernel_size: IntOrInts,
    stride: IntOrInts | None = None,
    padding: IntOrInts = 0,
    output_size: Sequence[int] | None = None,
) -> Tensor:
    """Put maxima back where `max_pool2d` found them; everything else is zero.

    Args:
        input: result of `max_pool2d`.
        indices: its indices.
        kernel_size: the value given to `max_pool2d`.
        stride: the value given to `max_pool2d`.
        padding: the value given to `max_pool2d`.
        output_size: shape of the result, where several inputs lead to the same pooled size.

    Returns:
        A tensor of the size that was pooled.

    Raises:
        RuntimeError: an index outside the result.
        ValueError: an `output_size` that cannot be.

    Example:
        >>> import oneflow as flow
        >>> x = flow.tensor([[[1.0, 5.0], [4.0, 3.0]]])
        >>> values, indices = flow.nn.functional.max_pool2d(x, 2, return_indices=True)
        >>> flow.nn.functional.max_unpool2d(values, indices, 2)
        tensor([[[0., 5.],
                 [0., 0.]]], dtype=oneflow.float32)
    """
    return max_unpool(input, indices, kernel_size, stride, padding, output_size, 2)


@function(method=False, namespace="nn.functional")
def max_unpool3d(
    input: Tensor,
    indices: Tensor,
    kernel_size: IntOrInts,
    stride: IntOrInts | None = None,
    padding: IntOrInts = 0,
    output_size: Sequence[int] | None = None,
) -> Tensor:
    """Undo `max_pool3d`; arguments as for `max_unpool2d`.

    Example:
        >>> import oneflow as flow
        >>> volume = flow.ones(1, 2, 2, 2)
        >>> values, indices = flow.nn.functional.max_pool3d(volume, 2, return_indices=True)
        >>> flow.nn.functional.max_unpool3d(values, indices, 2).shape
        oneflow.Size([1, 2, 2, 2])
    """
    return max_unpool(input, indices, kernel_size, stride, padding, output_size, 3)
