"""Pooling to a given output size: the windows follow from it."""

from __future__ import annotations

import math
from typing import Any, Literal, overload

from oneflow.base.dtype import Category
from oneflow.base.shape import is_sequence
from oneflow.functional.nn.spatial import (
    batched,
    per_dimension,
    require_elements,
    require_sizes,
    spatial_dims,
    unbatched,
)
from oneflow.functional.registry import function
from oneflow.primitives.operators.elementwise import div
from oneflow.primitives.operators.pool import max_pool, max_pool_with_indices, window_sum
from oneflow.primitives.operators.reduce import mean
from oneflow.primitives.operators.resample import Resampling, adaptive_max_pool, resample
from oneflow.tensor.call import call
from oneflow.tensor.operands import cast_to, widened
from oneflow.tensor.tensor import Tensor


def _require_dimensions(input: Tensor, output_size: Any, name: str) -> None:
    """Refuse an input with no more dimensions than there are sizes for.

    Raises:
        ValueError: that is so (what PyTorch raises before it asks for a batch).
    """
    count = len(output_size) if isinstance(output_size, list | tuple) else 0
    if count > 1 and isinstance(input, Tensor) and input.ndim <= count:
        raise ValueError(
            f"{name}: Input dimension should be at least {count + 1}, got input of size "
            f"{list(input.shape)}"
        )


def _target_sizes(
    name: str, input: Tensor, output_size: Any, dims: tuple[int, ...]
) -> tuple[int, ...]:
    """The output's spatial sizes; None keeps the input's.

    Raises:
        RuntimeError: a negative size, or an input without elements in a spatial dimension.
    """
    output_sizes = tuple(output_size) if is_sequence(output_size) else (output_size,) * len(dims)
    if len(output_sizes) not in (1, len(dims)):
        raise RuntimeError(
            f"{name}: output_size must be one or {len(dims)} numbers, got {output_sizes}"
        )
    output_sizes = output_sizes * (len(dims) // len(output_sizes))
    sizes = per_dimension(
        [
            input.shape[dim] if size is None else size
            for size, dim in zip(output_sizes, dims, strict=True)
        ],
        len(dims),
        "output_size",
    )
    require_sizes(name, input, dims, sizes)
    if min(sizes) < 0:
        raise RuntimeError(f"{name}: elements of output_size must be at least 0, got {sizes}")
    if any(input.shape[dim] == 0 for dim in dims):
        raise RuntimeError(
            f"{name}: Expected input to have non-zero size for non-batch dimensions, but input has "
            f"sizes {list(input.shape)}"
        )
    return sizes


def _even_windows(
    input: Tensor, dims: tuple[int, ...], sizes: tuple[int, ...]
) -> dict[str, Any] | None:
    """Window attributes if all windows have one size and do not overlap, else None."""
    if any(size == 0 or input.shape[dim] % size for dim, size in zip(dims, sizes, strict=True)):
        return None
    kernel = tuple(input.shape[dim] // size for dim, size in zip(dims, sizes, strict=True))
    return {"dims": dims, "kernel": kernel, "stride": kernel, "padding": ((0, 0),) * len(dims)}


def adaptive_average(input: Tensor, output_size: Any, data_format: str, count: int) -> Tensor:
    """Average pooling of `count` spatial dimensions to `output_size`.

    Raises:
        NotImplementedError: the input holds integers, whose means are none.
    """
    name = f"adaptive_avg_pool{count}d"
    if input.dtype.category in (Category.INTEGER, Category.BOOL):
        raise NotImplementedError(
            f"{name}: `input` must be floating point, got {input.dtype!r}; convert it first, for "
            "example by `.float()`"
        )
    _require_dimensions(input, output_size, name)
    input, was_unbatched = batched(input, count, name)
    dims = spatial_dims(count, data_format)
    sizes = _target_sizes(name, input, output_size, dims)
    windows = _even_windows(input, dims, sizes)
    if set(sizes) == {1}:
        output = call(mean, input, dims=dims, keepdim=True)
    elif windows is not None:
        sums = call(window_sum, widened(input), **windows)
        output = cast_to(call(div, sums, math.prod(windows["kernel"])), input.dtype)
    else:
        output = input
        for dim, size in zip(dims, sizes, strict=True):
            resampling = Resampling("area", input.shape[dim], size)
            output = call(resample, output, dim=dim, resampling=resampling)
    return unbatched(output, was_unbatched)


def adaptive_maximum(
    input: Tensor,
    output_size: Any,
    return_indices: bool,
    count: int,
    data_format: str = "channels_first",
) -> Any:
    """Max pooling of `count` spatial dimensions to `output_size`."""
    name = f"adaptive_max_pool{count}d"
    _require_dimensions(input, output_size, name)
    require_elements(name, input.shape)
    input, was_unbatched = batched(input, count, name)
    dims = spatial_dims(count, data_format)
    sizes = _target_sizes(name, input, output_size, dims)
    windows = _even_windows(input, dims, sizes)
    if windows is None:
        values, indices = call(adaptive_max_pool, input, dims=dims, size=sizes)
    else:
        windows["dilation"] = (1,) * count
        if not return_indices:
            return unbatched(call(max_pool, input, **windows), was_unbatched)
        values, indices = call(max_pool_with_indices, input, **windows)
    values = unbatched(values, was_unbatched)
    return (values, unbatched(indices, was_unbatched)) if return_indices else values


@function(method=False, namespace="nn.functional", also=("adaptive_avg_pool1d",))
def adaptive_avg_pool1d(
    input: Tensor, output_size: Any, data_format: str = "channels_first"
) -> Tensor:
    """Average ``[N, C, L]`` to a given length; arguments as for `adaptive_avg_pool2d`.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.functional.adaptive_avg_pool1d(flow.tensor([[1.0, 3.0, 5.0]]), 2)
        tensor([[2., 4.]], dtype=oneflow.float32)
    """
    return adaptive_average(input, output_size, data_format, 1)


@function(method=False, namespace="nn.functional", also=("adaptive_avg_pool2d",))
def adaptive_avg_pool2d(
    input: Tensor, output_size: Any, data_format: str = "channels_first"
) -> Tensor:
    """Average over windows chosen so that the output has a given size.

    Args:
        input: ``[N, C, H, W]`` or ``[C, H, W]``.
        output_size: one number or two; None keeps the input's size.
        data_format: ``"channels_first"`` or ``"channels_last"``.

    Returns:
        ``[N, C, *output_size]``.

    Example:
        >>> import oneflow as flow
        >>> x = flow.tensor([[[1.0, 2.0], [3.0, 4.0]]])
        >>> flow.nn.functional.adaptive_avg_pool2d(x, (1, None))
        tensor([[[2., 3.]]], dtype=oneflow.float32)
    """
    return adaptive_average(input, output_size, data_format, 2)


@function(method=False, namespace="nn.functional", also=("adaptive_avg_pool3d",))
def adaptive_avg_pool3d(
    input: Tensor, output_size: Any, data_format: str = "channels_first"
) -> Tensor:
    """Average ``[N, C, D, H, W]`` to a given size; arguments as for `adaptive_avg_pool2d`.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.functional.adaptive_avg_pool3d(flow.ones(1, 2, 5, 6, 7), 3).shape
        oneflow.Size([1, 2, 3, 3, 3])
    """
    return adaptive_average(input, output_size, data_format, 3)


@overload
def adaptive_max_pool1d(
    input: Tensor, output_size: Any, return_indices: Literal[False] = False
) -> Tensor: ...
@overload
def adaptive_max_pool1d(
    input: Tensor, output_size: Any, return_indices: Literal[True]
) -> tuple[Tensor, Tensor]: ...
@function(method=False, namespace="nn.functional")
def adaptive_max_pool1d(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
    """Maxima of ``[N, C, L]`` to a given length; arguments as for `adaptive_max_pool2d`.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.functional.adaptive_max_pool1d(flow.tensor([[1.0, 3.0, 5.0]]), 2)
        tensor([[3., 5.]], dtype=oneflow.float32)
    """
    return adaptive_maximum(input, output_size, return_indices, 1)


@overload
def adaptive_max_pool2d(
    input: Tensor,
    output_size: Any,
    return_indices: Literal[False] = False,
    data_format: str = "channels_first",
) -> Tensor: ...
@overload
def adaptive_max_pool2d(
    input: Tensor,
    output_size: Any,
    return_indices: Literal[True],
    data_format: str = "channels_first",
) -> tuple[Tensor, Tensor]: ...
@function(method=False, namespace="nn.functional")
def adaptive_max_pool2d(
    input: Tensor,
    output_size: Any,
    return_indices: bool = False,
    data_format: str = "channels_first",
) -> Any:
    """Maximum over windows chosen so that the output has a given size.

    Args:
        input: ``[N, C, H, W]`` or ``[C, H, W]``.
        output_size: one number or two; None keeps the input's size.
        return_indices: also return where each maximum is within its ``H * W`` plane.
        data_format: ``"channels_first"`` or ``"channels_last"``.

    Returns:
        ``[N, C, *output_size]``, and with `return_indices` an int64 tensor of the same shape.

    Example:
        >>> import oneflow as flow
        >>> x = flow.tensor([[[1.0, 2.0], [3.0, 4.0]]])
        >>> flow.nn.functional.adaptive_max_pool2d(x, (1, None))
        tensor([[[3., 4.]]], dtype=oneflow.float32)
    """
    return adaptive_maximum(input, output_size, return_indices, 2, data_format)


@overload
def adaptive_max_pool3d(
    input: Tensor, output_size: Any, return_indices: Literal[False] = False
) -> Tensor: ...
@overload
def adaptive_max_pool3d(
    input: Tensor, output_size: Any, return_indices: Literal[True]
) -> tuple[Tensor, Tensor]: ...
@function(method=False, namespace="nn.functional")
def adaptive_max_pool3d(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
    """Maxima of ``[N, C, D, H, W]`` to a given size; arguments as for `adaptive_max_pool2d`.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.functional.adaptive_max_pool3d(flow.ones(1, 2, 5, 6, 7), 3).shape
        oneflow.Size([1, 2, 3, 3, 3])
    """
    return adaptive_maximum(input, output_size, return_indices, 3)
