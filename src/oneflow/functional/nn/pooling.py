"""Pooling over sliding windows: maxima and averages."""

from __future__ import annotations

import functools
import math
from typing import Any, Literal, overload

from oneflow.base.dtype import Category
from oneflow.base.shape import as_integer, is_sequence
from oneflow.base.sizes import IntOrInts
from oneflow.functional.nn.spatial import (
    batched,
    per_dimension,
    require_elements,
    spatial_dims,
    unbatched,
)
from oneflow.functional.registry import function
from oneflow.primitives.operators import division, elementwise as e, pool as p
from oneflow.primitives.operators.creation import ones
from oneflow.tensor.call import call, wrap
from oneflow.tensor.operands import cast_to, widened
from oneflow.tensor.tensor import Tensor


def window_attributes(
    name: str,
    input: Tensor,
    dims: tuple[int, ...],
    kernel_size: IntOrInts,
    stride: IntOrInts | None,
    padding: IntOrInts,
    dilation: IntOrInts,
    ceil_mode: bool,
) -> dict[str, Any]:
    """The attributes of window primitives from users' arguments; the windows fit the input exactly.

    Raises:
        RuntimeError: numbers that make no sense together.
    """
    count = len(dims)
    kernel = per_dimension(kernel_size, count, "kernel_size")
    stride = (
        kernel
        if stride is None or (is_sequence(stride) and not len(stride))
        else per_dimension(stride, count, "stride")
    )
    return dict(
        _checked_windows(
            name,
            input.spec.shape,
            dims,
            kernel,
            stride,
            per_dimension(padding, count, "padding"),
            per_dimension(dilation, count, "dilation"),
            ceil_mode,
        )
    )


@functools.lru_cache(maxsize=1 << 12)
def _checked_windows(
    name: str,
    shape: tuple[int, ...],
    dims: tuple[int, ...],
    kernel: tuple[int, ...],
    stride: tuple[int, ...],
    padding: tuple[int, ...],
    dilation: tuple[int, ...],
    ceil_mode: bool,
) -> dict[str, Any]:
    """Compute the result of `window_attributes`, checked once for the shape of the input."""
    for label, numbers in (("kernel_size", kernel), ("stride", stride), ("dilation", dilation)):
        if min(numbers) < 1:
            raise RuntimeError(f"{name}: `{label}` must be greater than zero, got {numbers}")
    pairs = []
    for dim, width, step, pad, factor in zip(dims, kernel, stride, padding, dilation, strict=True):
        span = factor * (width - 1) + 1
        if not 0 <= pad <= span // 2:
            raise RuntimeError(
                f"{name}: pad should be at most half of effective kernel size, but got pad={pad}, "
                f"kernel_size={width} and dilation={factor}"
            )
        length = shape[dim]
        results = output_length(length, span, step, pad, ceil_mode)
        if results < 1:
            raise RuntimeError(
                f"{name}: Given input size {list(shape)}, the calculated output size is too small"
            )
        pairs.append((pad, max(pad, (results - 1) * step + span - length - pad)))
    return {
        "dims": dims,
        "kernel": kernel,
        "stride": stride,
        "padding": tuple(pairs),
        "dilation": dilation,
    }


def output_length(length: int, span: int, step: int, pad: int, ceil_mode: bool) -> int:
    """Number of windows of `span` elements.

    The last one must start inside the input or its left padding.
    """
    remaining = length + 2 * pad - span
    if not ceil_mode:
        return remaining // step + 1
    results = -(-remaining // step) + 1
    return results - 1 if (results - 1) * step >= length + pad else results


# --- maxima


def max_pool(
    input: Tensor,
    kernel_size: IntOrInts,
    stride: IntOrInts | None,
    padding: IntOrInts,
    dilation: IntOrInts,
    return_indices: bool,
    ceil_mode: bool,
    data_format: str,
    count: int,
) -> Any:
    """Maximum over windows of `count` spatial dimensions; see `max_pool2d`."""
    name = f"max_pool{count}d"
    input, was_unbatched = batched(input, count, name)
    require_elements(name, input.spec.shape)
    dims = spatial_dims(count, data_format)
    windows = window_attributes(
        name, input, dims, kernel_size, stride, padding, dilation, ceil_mode
    )
    if not return_indices:
        return unbatched(call(p.max_pool, input, **windows), was_unbatched)
    values, indices = call(p.max_pool_with_indices, input, **windows)
    return unbatched(values, was_unbatched), unbatched(indices, was_unbatched)


@overload
def max_pool1d(
    x: Tensor,
    kernel_size: IntOrInts,
    stride: IntOrInts | None = None,
    padding: IntOrInts = 0,
    dilation: IntOrInts = 1,
    *,
    return_indices: Literal[True],
    ceil_mode: bool = False,
    data_format: str = "channels_first",
) -> tuple[Tensor, Tensor]: ...
@overload
def max_pool1d(
    x: Tensor,
    kernel_size: IntOrInts,
    stride: IntOrInts | None = None,
    padding: IntOrInts = 0,
    dilation: IntOrInts = 1,
    return_indices: Literal[False] = False,
    ceil_mode: bool = False,
    data_format: str = "channels_first",
) -> Tensor: ...
@function(method=False, namespace="nn.functional", also=("max_pool1d",))
def max_pool1d(
    x: Tensor,
    kernel_size: IntOrInts,
    stride: IntOrInts | None = None,
    padding: IntOrInts = 0,
    dilation: IntOrInts = 1,
    return_indices: bool = False,
    ceil_mode: bool = False,
    data_format: str = "channels_first",
) -> Any:
    """Maximum over windows of one spatial dimension; arguments as for `max_pool2d`.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.functional.max_pool1d(flow.tensor([[1.0, 3.0, 2.0, 0.0]]), 2)
        tensor([[3., 2.]], dtype=oneflow.float32)
    """
    return max_pool(
        x, kernel_size, stride, padding, dilation, return_indices, ceil_mode, data_format, 1
    )


@overload
def max_pool2d(
    x: Tensor,
    kernel_size: IntOrInts,
    stride: IntOrInts | None = None,
    padding: IntOrInts = 0,
    dilation: IntOrInts = 1,
    *,
    return_indices: Literal[True],
    ceil_mode: bool = False,
    data_format: str = "channels_first",
) -> tuple[Tensor, Tensor]: ...
@overload
def max_pool2d(
    x: Tensor,
    kernel_size: IntOrInts,
    stride: IntOrInts | None = None,
    padding: IntOrInts = 0,
    dilation: IntOrInts = 1,
    return_indices: Literal[False] = False,
    ceil_mode: bool = False,
    data_format: str = "channels_first",
) -> Tensor: ...
@function(method=False, namespace="nn.functional", also=("max_pool2d",))
def max_pool2d(
    x: Tensor,
    kernel_size: IntOrInts,
    stride: IntOrInts | None = None,
    padding: IntOrInts = 0,
    dilation: IntOrInts = 1,
    return_indices: bool = False,
    ceil_mode: bool = False,
    data_format: str = "channels_first",
) -> Any:
    """Maximum over windows of two spatial dimensions.

    Args:
        x: ``[N, C, H, W]`` or ``[C, H, W]``.
        kernel_size: size of the windows, one number or one per spatial dimension.
        stride: distance between windows; default: `kernel_size`.
        padding: elements of minus infinity on both sides, at most half the kernel.
        dilation: distance between the elements of a window.
        return_indices: also return where each maximum is within its ``H * W`` plane, for
            `max_unpool2d`.
        ceil_mode: also take a last window that is partly outside.
        data_format: ``"channels_first"`` or ``"channels_last"``.

    Returns:
        ``[N, C, H', W']``, and with `return_indices` an int64 tensor of the same shape.

    Raises:
        RuntimeError: sizes that do not fit together.

    Example:
        >>> import oneflow as flow
        >>> x = flow.tensor([[[1.0, 5.0, 2.0], [4.0, 3.0, 6.0]]])
        >>> flow.nn.functional.max_pool2d(x, 2, stride=1)
        tensor([[[5., 6.]]], dtype=oneflow.float32)
    """
    return max_pool(
        x, kernel_size, stride, padding, dilation, return_indices, ceil_mode, data_format, 2
    )


@overload
def max_pool3d(
    x: Tensor,
    kernel_size: IntOrInts,
    stride: IntOrInts | None = None,
    padding: IntOrInts = 0,
    dilation: IntOrInts = 1,
    *,
    return_indices: Literal[True],
    ceil_mode: bool = False,
    data_format: str = "channels_first",
) -> tuple[Tensor, Tensor]: ...
@overload
def max_pool3d(
    x: Tensor,
    kernel_size: IntOrInts,
    stride: IntOrInts | None = None,
    padding: IntOrInts = 0,
    dilation: IntOrInts = 1,
    return_indices: Literal[False] = False,
    ceil_mode: bool = False,
    data_format: str = "channels_first",
) -> Tensor: ...
@function(method=False, namespace="nn.functional", also=("max_pool3d",))
def max_pool3d(
    x: Tensor,
    kernel_size: IntOrInts,
    stride: IntOrInts | None = None,
    padding: IntOrInts = 0,
    dilation: IntOrInts = 1,
    return_indices: bool = False,
    ceil_mode: bool = False,
    data_format: str = "channels_first",
) -> Any:
    """Maximum over windows of three spatial dimensions; arguments as for `max_pool2d`.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.functional.max_pool3d(flow.ones(1, 2, 4, 4, 6), 2).shape
        oneflow.Size([1, 2, 2, 2, 3])
    """
    return max_pool(
        x, kernel_size, stride, padding, dilation, return_indices, ceil_mode, data_format, 3
    )


# --- averages


def average_pool(
    input: Tensor,
    kernel_size: IntOrInts,
    stride: IntOrInts | None,
    padding: IntOrInts,
    ceil_mode: bool,
    count_include_pad: bool,
    divisor_override: int | None,
    data_format: str,
    count: int,
) -> Tensor:
    """Average over windows of `count` spatial dimensions; see `avg_pool2d`."""
    name = f"avg_pool{count}d"
    dtype = input.dtype
    input, was_unbatched = batched(widened(input), count, name)
    require_elements(name, input.spec.shape)
    dims = spatial_dims(count, data_format)
    windows = window_attributes(name, input, dims, kernel_size, stride, padding, 1, ceil_mode)
    del windows["dilation"]
    sums = call(p.window_sum, input, **windows)
    if divisor_override is not None:
        divisor_override = as_integer(divisor_override, "divisor_override")
    divisor = divisor_override or _divisor(input, windows, count_include_pad)
    divide = division.trunc_divide if dtype.category < Category.FLOAT else e.div
    return unbatched(cast_to(call(divide, sums, divisor), dtype), was_unbatched)


def _divisor(input: Tensor, windows: dict[str, Any], count_include_pad: bool) -> Any:
    """Number of elements that each window counts; a tensor where that varies."""
    pairs = windows["padding"]
    # A last window that reaches beyond the padding (ceil_mode) does not count what lies there.
    included_padding = (
        tuple((low, low) for low, _ in pairs) if count_include_pad else ((0, 0),) * len(pairs)
    )
    if all(
        high <= wide for (_, high), (_, wide) in zip(pairs, included_padding, strict=True)
    ) and all(low <= wide for (low, _), (wide, _) in zip(pairs, included_padding, strict=True)):
        return math.prod(windows["kernel"])
    shape = [1] * input.ndim
    for dim, (low, high) in zip(windows["dims"], included_padding, strict=True):
        shape[dim] = input.shape[dim] + low + high
    left = tuple(
        (low - low_included, high - high_included)
        for (low, high), (low_included, high_included) in zip(pairs, included_padding, strict=True)
    )
    filled = ones(shape=tuple(shape), dtype=input.dtype, device=input.device)
    return call(p.window_sum, wrap(filled), **{**windows, "padding": left})


@function(method=False, namespace="nn.functional", also=("avg_pool1d",))
def avg_pool1d(
    input: Tensor,
    kernel_size: IntOrInts,
    stride: IntOrInts | None = None,
    padding: IntOrInts = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = 0,
    data_format: str = "channels_first",
) -> Tensor:
    """Average over windows of one spatial dimension; arguments as for `avg_pool2d`.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.functional.avg_pool1d(flow.tensor([[1.0, 3.0, 2.0, 0.0]]), 2)
        tensor([[2., 1.]], dtype=oneflow.float32)
    """
    return average_pool(
        input,
        kernel_size,
        stride,
        padding,
        ceil_mode,
        count_include_pad,
        divisor_override,
        data_format,
        1,
    )


@function(method=False, namespace="nn.functional")
def avg_pool2d(
    input: Tensor,
    kernel_size: IntOrInts,
    stride: IntOrInts | None = None,
    padding: IntOrInts = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = 0,
    data_format: str = "channels_first",
) -> Tensor:
    """Average over windows of two spatial dimensions.

    Args:
        input: ``[N, C, H, W]`` or ``[C, H, W]``.
        kernel_size: size of the windows, one number or one per spatial dimension.
        stride: distance between windows; default: `kernel_size`.
        padding: zeros on both sides, at most half the kernel.
        ceil_mode: also take a last window that is partly outside.
        count_include_pad: count the padding in the average.
        divisor_override: divide by this number instead of the size of the window; 0 or None: do
            not.
        data_format: ``"channels_first"`` or ``"channels_last"``.

    Returns:
        ``[N, C, H', W']``.

    Raises:
        RuntimeError: sizes that do not fit together.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.functional.avg_pool2d(flow.ones(1, 3, 3), 2, padding=1)
        tensor([[[0.2500, 0.5000],
                 [0.5000, 1.0000]]], dtype=oneflow.float32)
    """
    return average_pool(
        input,
        kernel_size,
        stride,
        padding,
        ceil_mode,
        count_include_pad,
        divisor_override,
        data_format,
        2,
    )


@function(method=False, namespace="nn.functional")
def avg_pool3d(
    input: Tensor,
    kernel_size: IntOrInts,
    stride: IntOrInts | None = None,
    padding: IntOrInts = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = 0,
    data_format: str = "channels_first",
) -> Tensor:
    """Average over windows of three spatial dimensions; arguments as for `avg_pool2d`.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.functional.avg_pool3d(flow.ones(1, 2, 4, 4, 6), 2).shape
        oneflow.Size([1, 2, 2, 2, 3])
    """
    return average_pool(
        input,
        kernel_size,
        stride,
        padding,
        ceil_mode,
        count_include_pad,
        divisor_override,
        data_format,
        3,
    )
