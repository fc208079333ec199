"""Convolutions on the CPU, with channels-last activations, where XLA's own are slow.

Other activations are transposed. Each function chooses a form by the shapes. Measured (see
`docs/performance.md`): a pointwise convolution is a matrix product; one that is depthwise, or of a
single channel, is a sum of shifted products (`conv_depthwise.py`); several groups are computed one
by one (`conv_groups.py`), volumes as planes (`conv_volumes.py`), images of few positions as a
product with what the windows hold; the gradient in the input, if that has far more positions than
`y`, is one product and a sum of its shifted parts; the gradient in the weight of a small kernel is
one product per kernel offset. The others are XLA's convolutions.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from oneflow.primitives.operators import conv_depthwise, conv_groups, conv_volumes, conv_xla
from oneflow.primitives.operators.conv_xla import Window, sum_dtype
from oneflow.primitives.operators.materialize import materialize_array
from oneflow.primitives.operators.windows import MAX_KERNEL_SIZE, Windows

# Elements of a window up to which depthwise convolutions and products with patches are quicker than
# XLA, which is slow at them (depthwise, 7 x 7: 130 ms, not 4).
_MAX_WINDOW_SIZE = 121
# Channels of a group, in and out, up to which a grouped convolution is a sum of depthwise ones.
_MAX_CHANNELS_OF_PATCHES = 4
# Positions from which on the gradient in the weight may be a product per kernel offset.
_LEAST_ROWS = 512


def _last(activation):
    """The activation with its channels last."""
    return jnp.moveaxis(activation, 1, -1)


def _first(activation):
    """The activation with its channels behind the batch."""
    return jnp.moveaxis(activation, -1, 1)


def _along_last(window: Window) -> Window:
    """The window of activations with channels last."""
    return window._replace(dims=tuple([dim - 1 for dim in window.dims]))


def _is_pointwise(windows: Windows, groups: int) -> bool:
    """A kernel of one element without padding: a matrix product over the channels."""
    is_padded = any(low or high for low, high in windows.padding)
    return groups == 1 and math.prod(windows.kernel) == 1 and not is_padded


def _is_depthwise(channels: int, out: int, windows: Windows, groups: int) -> bool:
    return groups == channels == out and math.prod(windows.kernel) <= _MAX_WINDOW_SIZE


def convolve(x, weight, window: Window, dtype: Any):
    """The convolution in `dtype`, which is the dtype of `x` or `sum_dtype(x.dtype)`."""
    windows, groups = window.with_kernel(weight.shape[2:]), window.groups
    channels, out, wide = x.shape[-1], weight.shape[0], sum_dtype(x.dtype)
    wider = dtype if dtype != x.dtype else None
    if windows.dims[0] != 1:
        return _first(convolve(_last(x), weight, _along_last(window), dtype))
    if _is_pointwise(windows, groups):
        matrix = weight.reshape(weight.shape[:2])
        return _product(_strided(x, windows.stride), matrix, ((x.ndim - 1,), (1,)), wider)
    is_small = math.prod(windows.kernel) <= MAX_KERNEL_SIZE
    if _is_depthwise(channels, out, windows, groups) or (is_small and channels == 1):
        return conv_depthwise.convolve(x, weight, windows, dtype)
    if 0 in (*x.shape, *weight.shape):
        return conv_xla.convolve(x, weight, window, wider)
    if _has_small_groups(channels, out, windows, groups):
        return conv_groups.convolve_by_channel(convolve, x, weight, window, dtype, wide)
    if groups > 1:
        single = window._replace(groups=1)
        part = functools.partial(convolve, window=single, dtype=dtype)
        return conv_groups.by_group(part, groups, (-1, 0, -1))(x, weight)
    if len(windows.kernel) == 3:
        return conv_volumes.convolve_by_depth(convolve, x, weight, window, dtype, wide)
    if _prefer_patches(x.shape, windows.counts(x.shape), out, windows):
        return _convolve_patches(x, weight, windows, wider)
    return conv_xla.convolve(x, weight, window, wider)


def _has_small_groups(channels: int, out: int, windows: Windows, groups: int) -> bool:
    """Return whether a grouped convolution is to be a sum of depthwise ones.

    Per group that takes as long as a convolution, and far fewer operations to compile.
    """
    is_small = math.prod(windows.kernel) <= MAX_KERNEL_SIZE
    return groups > 1 and is_small and max(channels, out) <= _MAX_CHANNELS_OF_PATCHES * groups


def _prefer_patches(
    shape: tuple[int, ...], counts: tuple[int, ...], out: int, windows: Windows
) -> bool:
    """Return whether a product of what the windows hold beats XLA's convolution.

    XLA copies the weight, which takes long beside few products; and where the kernel is larger than
    the image, its code has no vectors: 512 channels at 2 by 2 take 25 to 60 times as long.

    Args:
        shape: the shape of the array that the kernel slides over.
        counts: the numbers of windows.
        out: elements of the weight per element of a window.
        windows: the windows.
    """
    if math.prod(windows.kernel) > _MAX_WINDOW_SIZE:
        return False
    if any(size < length for size, length in zip(shape[1:-1], windows.kernel, strict=True)):
        return True
    return math.prod(windows.kernel) > 1 and 4 * shape[0] * math.prod(counts) <= out


def _strided(x, stride: tuple[int, ...]):
    if max(stride) == 1:
        return x
    return lax.slice(x, (0,) * x.ndim, x.shape, (1, *stride, 1))


# --- the gradient in the input


def convolve_input_adjoint(y, weight, size: tuple[int, ...], window: Window, dtype: Any):
    """The transpose of `convolve` in its input; `dtype` is as in `convolve`."""
    windows, groups = window.with_kernel(weight.shape[2:]), window.groups
    channels, out, wide = weight.shape[1] * groups, y.shape[-1], sum_dtype(y.dtype)
    wider = dtype if dtype != y.dtype else None
    if windows.dims[0] != 1:
        return _first(convolve_input_adjoint(_last(y), weight, size, _along_last(window), dtype))
    if _is_pointwise(windows, groups):
        x = _product(y, weight.reshape(weight.shape[:2]), ((y.ndim - 1,), (0,)), wider)
        return _insert_zeros(x, size, windows.stride)
    if _is_depthwise(channels, out, windows, groups):
        return conv_depthwise.convolve_input_adjoint(y, weight, size, windows, dtype)
    if 0 in (*y.shape, *weight.shape):
        return conv_xla.convolve_input_adjoint(y, weight, size, window, wider)
    adjoint = convolve_input_adjoint
    if _has_small_groups(channels, out, windows, groups):
        return conv_groups.input_adjoint_by_channel(adjoint, y, weight, size, window, dtype, wide)
    if groups > 1:
        single = window._replace(groups=1)
        part = functools.partial(adjoint, size=size, window=single, dtype=dtype)
        return conv_groups.by_group(part, groups, (-1, 0, -1))(y, weight)
    if len(windows.kernel) == 3:
        return conv_volumes.input_adjoint_by_depth(adjoint, y, weight, size, window, dtype, wide)
    if _prefer_patches(y.shape, y.shape[1:-1], out, windows):
        return _input_adjoint_patches(y, weight, size, windows, wide).astype(dtype)
    if _prefer_scatter(y, size, windows):
        return _scatter_products(y, weight, size, windows).astype(dtype)
    return conv_xla.convolve_input_adjoint(y, weight, size, window, wider)


def _prefer_scatter(y, size: tuple[int, ...], windows: Windows) -> bool:
    """Return whether XLA's convolution would multiply by zeros nearly half of the time.

    It computes every offset at all positions of the result, but only where `y` is do they count.
    """
    positions = math.prod(y.shape[dim] for dim in windows.dims)
    has_zeros = math.prod(size) > 1.5 * positions
    return max(windows.stride) == 1 and has_zeros and positions > 1 < len(windows.kernel)


def _scatter_products(y, weight, size: tuple[int, ...], windows: Windows):
    """The gradient in the input: one product for all offsets, each part added where it belongs."""
    out, channels, *kernel = weight.shape
    by_offset = jnp.moveaxis(weight, 1, -1).reshape(out, -1)
    columns = _product(y, by_offset, ((y.ndim - 1,), (0,)), sum_dtype(y.dtype))
    columns = columns.reshape(*y.shape[:-1], *kernel, channels)
    if math.prod(kernel) <= conv_depthwise.MAX_OFFSETS_AT_ONCE:
        leading = (slice(None),) * (y.ndim - 1)
        return windows.scatter(lambda offset: columns[(*leading, *offset)], size)
    for axis in reversed(range(len(kernel))):
        columns = _scatter_along(columns, windows.along(axis), size[axis])
    return columns


def _scatter_along(columns, windows: Windows, size: int):
    """Parts added where they belong along one axis, whose offsets come before the channels."""
    return materialize_array(windows.scatter(lambda offset: columns[..., offset[0], :], (size,)))


def _insert_zeros(x, size: tuple[int, ...], stride: tuple[int, ...]):
    """`x` at every `stride`-th position of an array of zeros with spatial sizes `size`."""
    pads = [(0, 0, 0)]
    for length, target, step in zip(x.shape[1:-1], size, stride, strict=True):
        pads.append((0, target - (length - 1) * step - 1, step - 1))
    return lax.pad(x, np.zeros((), x.dtype), [*pads, (0, 0, 0)])


# --- the gradient in the weight


def convolve_weight_adjoint(x, y, kernel: tuple[int, ...], window: Window):
    """The transpose of `convolve` in its weight."""
    windows, groups = window.with_kernel(kernel), window.groups
    channels, out = x.shape[-1], y.shape[-1]
    if windows.dims[0] != 1:
        return convolve_weight_adjoint(_last(x), _last(y), kernel, _along_last(window))
    if _is_pointwise(windows, groups):
        return _outer(y, _strided(x, windows.stride)).reshape(out, channels, *windows.kernel)
    if _is_depthwise(channels, out, windows, groups):
        return conv_depthwise.convolve_weight_adjoint(x, y, windows)
    if 0 in (*x.shape, *y.shape):
        return conv_xla.convolve_weight_adjoint(x, y, kernel, window)
    adjoint = convolve_weight_adjoint
    if _has_small_groups(channels, out, windows, groups):
        return conv_groups.weight_adjoint_by_channel(adjoint, x, y, kernel, window)
    if groups > 1:
        single = window._replace(groups=1)
        part = functools.partial(adjoint, kernel=kernel, window=single)
        return conv_groups.by_group(part, groups, (-1, -1, 0))(x, y)
    if len(windows.kernel) == 3:
        return conv_volumes.weight_adjoint_by_depth(adjoint, x, y, kernel, window)
    if _prefer_patches(x.shape, y.shape[1:-1], out, windows):
        return _weight_adjoint_patches(x, y, windows)
    if not _prefer_products(channels, out, windows, math.prod(y.shape[:-1])):
        return conv_xla.convolve_weight_adjoint(x, y, kernel, window)
    shifted = windows.gather(x, np.zeros((), x.dtype))
    stacked = jnp.stack([_outer(y, shifted[offset]) for offset in windows.all()], axis=-1)
    return stacked.reshape(*stacked.shape[:2], *windows.kernel)


def _prefer_products(channels: int, out: int, windows: Windows, rows: int) -> bool:
    """Return whether a product per kernel offset beats XLA's convolution.

    XLA copies its input once per offset, which takes many channels to be worth it, more still if
    the copy is strided. Interleaving the products takes as long as computing those of some hundred
    rows.
    """
    least = 128 if max(windows.stride) == 1 else 256
    is_small = math.prod(windows.kernel) <= MAX_KERNEL_SIZE
    return is_small and min(channels, out) >= least and rows >= _LEAST_ROWS


def _outer(y, x):
    """The sum over rows of ``y[..., n] x[..., k]``, as ``[n, k]``; the smaller side goes first."""
    rows = tuple(range(x.ndim - 1))
    if x.shape[-1] < y.shape[-1]:
        return _product(x, y, (rows, rows)).T
    return _product(y, x, (rows, rows))


# --- few positions: a product of what the windows hold with the weight as it lies in memory


def _patches(x, windows: Windows):
    """The elements of each window, ``[N, *counts, channels * kernel size]``."""
    shifted = windows.gather(x, np.zeros((), x.dtype))
    patches = jnp.stack([shifted[offset] for offset in windows.all()], axis=-1)
    return materialize_array(patches.reshape(*patches.shape[:-2], -1))


def _product(x, y, over: tuple[tuple[int, ...], tuple[int, ...]], dtype: Any = None):
    """The sums of products over one dimension or several of both operands, in `dtype`."""
    return lax.dot_general(x, y, (over, ((), ())), preferred_element_type=dtype)


def _convolve_patches(x, weight, windows: Windows, dtype: Any):
    """The convolution, in `dtype`, as one product."""
    matrix = weight.reshape(weight.shape[0], -1)
    return _product(_patches(x, windows), matrix, ((x.ndim - 1,), (1,)), dtype)


def _input_adjoint_patches(y, weight, size: tuple[int, ...], windows: Windows, wide: Any):
    """The transpose of `_convolve_patches` in its input, in the type `wide`."""
    matrix = weight.reshape(weight.shape[0], -1)
    patches = materialize_array(_product(y, matrix, ((y.ndim - 1,), (0,)), wide))
    patches = patches.reshape(*y.shape[:-1], weight.shape[1], *windows.kernel)
    return windows.scatter(lambda offset: patches[(..., *offset)], size)


def _weight_adjoint_patches(x, y, windows: Windows):
    """The transpose of `_convolve_patches` in its weight."""
    rows = tuple(range(x.ndim - 1))
    matrix = _product(y, _patches(x, windows), (rows, rows))
    return matrix.reshape(y.shape[-1], x.shape[-1], *windows.kernel)
