"""Convolutions on the CPU, for channels-last activations.

Measured against XLA's own convolution (see `docs/performance.md`): a pointwise convolution is a
matrix product; the gradient in the input is a convolution that is written out, with the kernel
already flipped; the gradient in the weight of a small kernel is one matrix product per tap; and a
convolution that is depthwise, or of a single channel, is a sum of shifted products.
"""

from __future__ import annotations

import functools
import itertools
import math

import jax.numpy as jnp
import numpy as np
from jax import lax

from oneflow.primitives.lowering.taps import MAX_TAPS, Taps
from oneflow.primitives.operators.conv import (
    Pairs,
    Window,
    conv,
    conv_input_adjoint,
    conv_weight_adjoint,
    convolve,
    convolve_input_adjoint,
    convolve_weight_adjoint,
)
from oneflow.primitives.operators.materialize import materialized


def _is_last(window: Window) -> bool:
    return window.dims[0] == 1


def _is_pointwise(kernel: tuple[int, ...], window: Window) -> bool:
    """A kernel of one tap without padding: a matrix product over the channels."""
    return (
        window.groups == 1
        and math.prod(kernel) == 1
        and not any(low or high for low, high in window.padding)
    )


def _is_depthwise(channels: int, out: int, kernel: tuple[int, ...], window: Window) -> bool:
    return window.groups == channels == out and math.prod(kernel) <= MAX_TAPS


def _is_sum_of_products(channels: int, out: int, kernel: tuple[int, ...], window: Window) -> bool:
    """Whether each output channel sees a single input channel: its own, or the only one."""
    few = math.prod(kernel) <= MAX_TAPS
    return _is_depthwise(channels, out, kernel, window) or (few and channels == 1)


def _taps(kernel: tuple[int, ...], window: Window) -> Taps:
    return Taps(window.dims, kernel, window.stride, window.padding, window.dilation)


def _product(x, y, over: tuple[tuple[int, ...], tuple[int, ...]]):
    return lax.dot_general(x, y, (over, ((), ())))


@conv.lowering("cpu")
def _conv(x, weight, *, dims, stride, padding: Pairs, dilation, groups: int):
    window = Window(dims, stride, padding, dilation, groups)
    kernel = weight.shape[2:]
    if not _is_last(window):
        return convolve(x, weight, window)
    last = x.ndim - 1
    if _is_pointwise(kernel, window):
        return _product(_strided(x, stride), weight.reshape(weight.shape[:2]), ((last,), (1,)))
    if _is_sum_of_products(x.shape[last], weight.shape[0], kernel, window):
        shifted = _taps(kernel, window).gather(x, np.zeros((), x.dtype))
        by_tap = _channels_by_tap(weight)
        return functools.reduce(jnp.add, [part * by_tap[tap] for tap, part in shifted.items()])
    return convolve(x, weight, window)


def _channels_by_tap(weight):
    """The weight of single input channels with the output channels last, as in the activations.

    So the sum over taps runs along contiguous memory: in half the time.
    """
    return materialized(jnp.moveaxis(weight[:, 0], 0, -1))


def _strided(x, stride: tuple[int, ...]):
    if max(stride) == 1:
        return x
    return lax.slice(x, (0,) * x.ndim, x.shape, (1, *stride, 1))


@conv_input_adjoint.lowering("cpu")
def _conv_input_adjoint(y, weight, *, size, dims, stride, padding: Pairs, dilation, groups: int):
    window = Window(dims, stride, padding, dilation, groups)
    kernel = weight.shape[2:]
    if not _is_last(window):
        return convolve_input_adjoint(y, weight, size, window)
    last = y.ndim - 1
    if _is_pointwise(kernel, window):
        x = _product(y, weight.reshape(weight.shape[:2]), ((last,), (0,)))
        return _spread(x, size, stride)
    channels = weight.shape[1] * groups
    if _is_depthwise(channels, y.shape[last], kernel, window):
        by_tap = _channels_by_tap(weight)
        return _taps(kernel, window).scatter(lambda tap: y * by_tap[tap], size)
    if groups == 1:
        if _mostly_padding(y, size, kernel, window):
            return _scattered_products(y, weight, size, window)
        return _flipped_convolution(y, weight, size, window)
    return convolve_input_adjoint(y, weight, size, window)


def _mostly_padding(y, size: tuple[int, ...], kernel: tuple[int, ...], window: Window) -> bool:
    """Whether `_flipped_convolution` would multiply by zeros nearly half of the time.

    It computes every tap at all positions of the result, but only where `y` is do they count.
    """
    positions = math.prod(y.shape[dim] for dim in window.dims)
    return (
        max(window.stride) == 1
        and math.prod(size) > 1.5 * positions
        and positions > 1 < len(kernel)
    )


def _scattered_products(y, weight, size: tuple[int, ...], window: Window):
    """The gradient in the input: one product for all taps, each part added where it belongs."""
    out, channels, *kernel = weight.shape
    by_tap = jnp.moveaxis(weight, 1, -1).reshape(out, -1)
    columns = _product(y, by_tap, ((y.ndim - 1,), (0,))).reshape(*y.shape[:-1], *kernel, channels)
    taps = _taps(tuple(kernel), window)
    if math.prod(kernel) <= _MAX_TAPS_AT_ONCE:
        place = (slice(None),) * (y.ndim - 1)
        return taps.scatter(lambda tap: columns[(*place, *tap)], size)
    for axis in reversed(range(len(kernel))):
        columns = _scattered_along(columns, taps.along(axis), size[axis])
    return columns


# Taps that are added up in one go. Each is looked for at every place of the result, so that 5 x 5
# take half the time if those of each row are added up first; 3 x 3 do not.
_MAX_TAPS_AT_ONCE = 9


def _scattered_along(columns, taps: Taps, size: int):
    """Parts added where they belong along one axis, whose taps come before the channels."""
    return materialized(taps.scatter(lambda tap: columns[..., tap[0], :], (size,)))


def _spread(x, size: tuple[int, ...], stride: tuple[int, ...]):
    """`x` at every `stride`-th place of an array of zeros with spatial sizes `size`."""
    pads = [(0, 0, 0)]
    for length, target, step in zip(x.shape[1:-1], size, stride, strict=True):
        pads.append((0, target - (length - 1) * step - 1, step - 1))
    return lax.pad(x, np.zeros((), x.dtype), [*pads, (0, 0, 0)])


def _flipped_convolution(y, weight, size: tuple[int, ...], window: Window):
    """The gradient in the input: `y` spread by the stride, convolved with the flipped kernel."""
    spatial = tuple(range(2, weight.ndim))
    layout = (0, y.ndim - 1, *window.dims)
    padding = []
    for dim, target, taps, step, spread, (low, _) in zip(
        window.dims,
        size,
        weight.shape[2:],
        window.stride,
        window.dilation,
        window.padding,
        strict=True,
    ):
        reach = spread * (taps - 1)
        filled = (y.shape[dim] - 1) * step + 1
        padding.append((reach - low, target - filled + low))
    return lax.conv_general_dilated(
        y,
        lax.rev(weight, spatial),
        (1,) * len(spatial),
        padding,
        lhs_dilation=window.stride,
        rhs_dilation=window.dilation,
        # Output channels of the weight are what this convolution sums over.
        dimension_numbers=lax.ConvDimensionNumbers(layout, (1, 0, *spatial), layout),
    )


@conv_weight_adjoint.lowering("cpu")
def _conv_weight_adjoint(x, y, *, kernel, dims, stride, padding: Pairs, dilation, groups: int):
    window = Window(dims, stride, padding, dilation, groups)
    if not _is_last(window):
        return convolve_weight_adjoint(x, y, kernel, window)
    channels, out = x.shape[-1], y.shape[-1]
    if _is_pointwise(kernel, window):
        return _outer(y, _strided(x, stride)).reshape(out, channels, *kernel)
    depthwise = _is_depthwise(channels, out, kernel, window)
    if not depthwise and not _worth_products(channels, out, kernel, window):
        return convolve_weight_adjoint(x, y, kernel, window)
    shifted = _taps(kernel, window).gather(x, np.zeros((), x.dtype))
    rows = tuple(range(x.ndim - 1))
    parts = [
        jnp.sum(part * y, axis=rows)[:, None] if depthwise else _outer(y, part)
        for part in (shifted[tap] for tap in itertools.product(*map(range, kernel)))
    ]
    stacked = jnp.stack(parts, axis=-1)
    return stacked.reshape(*stacked.shape[:2], *kernel)


def _worth_products(channels: int, out: int, kernel: tuple[int, ...], window: Window) -> bool:
    """Whether a product per tap beats XLA's convolution.

    It copies its input once per tap, which takes many channels to be worth it, more still if the
    copy is strided.
    """
    least = 128 if max(window.stride) == 1 else 256
    fits = window.groups == 1 and math.prod(kernel) <= MAX_TAPS
    return fits and min(channels, out) >= least


def _outer(y, x):
    """The sum over rows of ``y[..., n] x[..., k]``, as ``[n, k]``; the smaller side goes first."""
    rows = tuple(range(x.ndim - 1))
    if x.shape[-1] < y.shape[-1]:
        return _product(x, y, (rows, rows)).T
    return _product(y, x, (rows, rows))
