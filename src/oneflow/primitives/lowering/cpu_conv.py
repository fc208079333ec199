"""Convolutions on the CPU, for channels-last activations.

Measured against XLA's own convolution (see `docs/performance.md`): a pointwise convolution is a
matrix product; the gradient in the input is a convolution that is written out, with the kernel
already flipped; the gradient in the weight of a small kernel is one matrix product per kernel
offset; and a convolution that is depthwise, or of a single channel, is a sum of shifted products
(`cpu_depthwise` has its gradient in the weight).
"""

from __future__ import annotations

import functools
import math
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from oneflow.primitives.lowering.cpu_depthwise import depthwise_weight_adjoint, sum_dtype
from oneflow.primitives.lowering.window_slices import (
    MAX_DEPTHWISE_SIZE,
    MAX_KERNEL_SIZE,
    WindowSlices,
)
from oneflow.primitives.operators.conv import (
    Pairs,
    Window,
    add_bias,
    conv,
    conv_input_adjoint,
    conv_weight_adjoint,
    convolve,
    convolve_input_adjoint,
    convolve_weight_adjoint,
)
from oneflow.primitives.operators.materialize import materialize_array


def _is_last(window: Window) -> bool:
    return window.dims[0] == 1


def _is_pointwise(kernel: tuple[int, ...], window: Window) -> bool:
    """A kernel of one element without padding: a matrix product over the channels."""
    return (
        window.groups == 1
        and math.prod(kernel) == 1
        and not any(low or high for low, high in window.padding)
    )


def _is_depthwise(channels: int, out: int, kernel: tuple[int, ...], window: Window) -> bool:
    return window.groups == channels == out and math.prod(kernel) <= MAX_DEPTHWISE_SIZE


def _is_sum_of_products(channels: int, out: int, kernel: tuple[int, ...], window: Window) -> bool:
    """Return whether each output channel reads one input channel: its own, or the only one."""
    is_small = math.prod(kernel) <= MAX_KERNEL_SIZE
    return _is_depthwise(channels, out, kernel, window) or (is_small and channels == 1)


def _window_slices(kernel: tuple[int, ...], window: Window) -> WindowSlices:
    return WindowSlices(window.dims, kernel, window.stride, window.padding, window.dilation)


def _product(x, y, over: tuple[tuple[int, ...], tuple[int, ...]], dtype: Any = None):
    return lax.dot_general(x, y, (over, ((), ())), preferred_element_type=dtype)


@conv.lowering("cpu")
def _conv(x, weight, *bias, dims, stride, padding: Pairs, dilation, groups: int):
    window = Window(dims, stride, padding, dilation, groups)
    dtype = sum_dtype(x.dtype) if bias else x.dtype
    return add_bias(_convolve(x, weight, window, dtype), bias, dims).astype(x.dtype)


def _convolve(x, weight, window: Window, dtype: Any):
    """The convolution, which is returned in `dtype`: that of `x`, or the one it is summed in."""
    kernel = weight.shape[2:]
    wider = dtype if dtype != x.dtype else None
    if not _is_last(window):
        return convolve(x, weight, window, wider)
    last = x.ndim - 1
    if _is_pointwise(kernel, window):
        matrix = weight.reshape(weight.shape[:2])
        return _product(_strided(x, window.stride), matrix, ((last,), (1,)), wider)
    if _is_sum_of_products(x.shape[last], weight.shape[0], kernel, window):
        return _sum_of_products(x, weight, window, dtype)
    return convolve(x, weight, window, wider)


def _sum_of_products(x, weight, window: Window, dtype: Any):
    """The convolution with kernels of one input channel each, as a sum over kernel offsets."""
    kind = sum_dtype(x.dtype)
    shifted = _window_slices(weight.shape[2:], window).gather(x, np.zeros((), x.dtype))
    by_offset = _channels_by_offset(weight.astype(kind))
    terms = [part.astype(kind) * by_offset[offset] for offset, part in shifted.items()]
    return functools.reduce(jnp.add, terms).astype(dtype)


def _channels_by_offset(weight):
    """The weight of single input channels with the output channels last, as in the activations.

    So the sum over offsets runs along contiguous memory: in half the time.
    """
    return materialize_array(jnp.moveaxis(weight[:, 0], 0, -1))


def _strided(x, stride: tuple[int, ...]):
    if max(stride) == 1:
        return x
    return lax.slice(x, (0,) * x.ndim, x.shape, (1, *stride, 1))


@conv_input_adjoint.lowering("cpu")
def _conv_input_adjoint(
    y, weight, *bias, size, dims, stride, padding: Pairs, dilation, groups: int
):
    window = Window(dims, stride, padding, dilation, groups)
    dtype = sum_dtype(y.dtype) if bias else y.dtype
    sums = _convolve_input_adjoint(y, weight, size, window, dtype)
    return add_bias(sums, bias, dims).astype(y.dtype)


def _convolve_input_adjoint(y, weight, size: tuple[int, ...], window: Window, dtype: Any):
    """The transpose of `_convolve` in its input, likewise."""
    kernel, stride = weight.shape[2:], window.stride
    wider = dtype if dtype != y.dtype else None
    if not _is_last(window):
        return convolve_input_adjoint(y, weight, size, window, wider)
    last = y.ndim - 1
    if _is_pointwise(kernel, window):
        x = _product(y, weight.reshape(weight.shape[:2]), ((last,), (0,)), wider)
        return _insert_zeros(x, size, stride)
    channels = weight.shape[1] * window.groups
    if _is_depthwise(channels, y.shape[last], kernel, window):
        # In memory, as the gradient in the weight reads it; else each term would compute it anew.
        y = materialize_array(y)
        if max(stride) == 1:
            kernels = lax.rev(weight, tuple(range(2, weight.ndim)))
            return _sum_of_products(y, kernels, _flip_window(y, kernel, size, window), dtype)
        wide = y.astype(sum_dtype(y.dtype))
        by_offset = _channels_by_offset(weight.astype(wide.dtype))
        slices = _window_slices(kernel, window)
        return slices.scatter(lambda offset: wide * by_offset[offset], size).astype(dtype)
    if window.groups == 1:
        if _prefer_scatter(y, size, kernel, window):
            return _scatter_products(y, weight, size, window).astype(dtype)
        return _convolve_with_flip(y, weight, size, window, wider)
    return convolve_input_adjoint(y, weight, size, window, wider)


def _prefer_scatter(y, size: tuple[int, ...], kernel: tuple[int, ...], window: Window) -> bool:
    """Return whether `_convolve_with_flip` would multiply by zeros nearly half of the time.

    It computes every offset at all positions of the result, but only where `y` is do they count.
    """
    positions = math.prod(y.shape[dim] for dim in window.dims)
    return (
        max(window.stride) == 1
        and math.prod(size) > 1.5 * positions
        and positions > 1 < len(kernel)
    )


def _scatter_products(y, weight, size: tuple[int, ...], window: Window):
    """The gradient in the input: one product for all offsets, each part added where it belongs."""
    out, channels, *kernel = weight.shape
    by_offset = jnp.moveaxis(weight, 1, -1).reshape(out, -1)
    columns = _product(y, by_offset, ((y.ndim - 1,), (0,)), sum_dtype(y.dtype))
    columns = columns.reshape(*y.shape[:-1], *kernel, channels)
    slices = _window_slices(tuple(kernel), window)
    if math.prod(kernel) <= _MAX_OFFSETS_AT_ONCE:
        leading = (slice(None),) * (y.ndim - 1)
        return slices.scatter(lambda offset: columns[(*leading, *offset)], size)
    for axis in reversed(range(len(kernel))):
        columns = _scatter_along(columns, slices.along(axis), size[axis])
    return columns


# Kernel offsets that are added up in one go. Each is looked for at every position of the result, so
# that 5 x 5 take half the time if those of each row are added up first; 3 x 3 do not.
_MAX_OFFSETS_AT_ONCE = 9


def _scatter_along(columns, slices: WindowSlices, size: int):
    """Parts added where they belong along one axis, whose offsets come before the channels."""
    return materialize_array(slices.scatter(lambda offset: columns[..., offset[0], :], (size,)))


def _insert_zeros(x, size: tuple[int, ...], stride: tuple[int, ...]):
    """`x` at every `stride`-th position of an array of zeros with spatial sizes `size`."""
    pads = [(0, 0, 0)]
    for length, target, step in zip(x.shape[1:-1], size, stride, strict=True):
        pads.append((0, target - (length - 1) * step - 1, step - 1))
    return lax.pad(x, np.zeros((), x.dtype), [*pads, (0, 0, 0)])


def _flip_window(y, kernel: tuple[int, ...], size: tuple[int, ...], window: Window) -> Window:
    """The window with which `y`, spread by the stride, and the flipped kernel give the gradient."""
    padding = []
    for dim, target, length, step, rate, (low, _) in zip(
        window.dims, size, kernel, window.stride, window.dilation, window.padding, strict=True
    ):
        kernel_span = rate * (length - 1)
        filled = (y.shape[dim] - 1) * step + 1
        padding.append((kernel_span - low, target - filled + low))
    return window._replace(stride=(1,) * len(kernel), padding=tuple(padding))


def _convolve_with_flip(y, weight, size: tuple[int, ...], window: Window, dtype: Any):
    """The gradient in the input: `y` spread by the stride, convolved with the flipped kernel."""
    spatial = tuple(range(2, weight.ndim))
    layout = (0, y.ndim - 1, *window.dims)
    flip_window = _flip_window(y, weight.shape[2:], size, window)
    return lax.conv_general_dilated(
        y,
        lax.rev(weight, spatial),
        flip_window.stride,
        flip_window.padding,
        lhs_dilation=window.stride,
        rhs_dilation=window.dilation,
        # Output channels of the weight are what this convolution sums over.
        dimension_numbers=lax.ConvDimensionNumbers(layout, (1, 0, *spatial), layout),
        preferred_element_type=dtype,
    )


@conv_weight_adjoint.lowering("cpu")
def _conv_weight_adjoint(x, y, *, kernel, dims, stride, padding: Pairs, dilation, groups: int):
    window = Window(dims, stride, padding, dilation, groups)
    if not _is_last(window):
        return convolve_weight_adjoint(x, y, kernel, window)
    channels, out = x.shape[-1], y.shape[-1]
    if _is_pointwise(kernel, window):
        return _outer(y, _strided(x, stride)).reshape(out, channels, *kernel)
    slices = _window_slices(kernel, window)
    if _is_depthwise(channels, out, kernel, window):
        return depthwise_weight_adjoint(x, y, slices)
    if not _prefer_products(channels, out, kernel, window):
        return convolve_weight_adjoint(x, y, kernel, window)
    shifted = slices.gather(x, np.zeros((), x.dtype))
    stacked = jnp.stack([_outer(y, shifted[offset]) for offset in slices.all()], axis=-1)
    return stacked.reshape(*stacked.shape[:2], *kernel)


def _prefer_products(channels: int, out: int, kernel: tuple[int, ...], window: Window) -> bool:
    """Return whether a product per kernel offset beats XLA's convolution.

    It copies its input once per offset, which takes many channels to be worth it, more still if the
    copy is strided.
    """
    least = 128 if max(window.stride) == 1 else 256
    supported = window.groups == 1 and math.prod(kernel) <= MAX_KERNEL_SIZE
    return supported and min(channels, out) >= least


def _outer(y, x):
    """The sum over rows of ``y[..., n] x[..., k]``, as ``[n, k]``; the smaller side goes first."""
    rows = tuple(range(x.ndim - 1))
    if x.shape[-1] < y.shape[-1]:
        return _product(x, y, (rows, rows)).T
    return _product(y, x, (rows, rows))
