"""Convolutions on the CPU, with channels-last activations, where XLA's own are slow.

Other activations are transposed. Each function chooses a form by the shapes. Measured (see
`docs/performance.md`): a pointwise convolution is a matrix product; one that is depthwise, or of a
single channel, is a sum of shifted products; several groups, volumes and images of few positions
are computed in parts (`conv_parts.py`); the gradient in the input, if that has far more positions
than `y`, is one product and a sum of its shifted parts; the gradient in the weight of a small
kernel is one product per kernel offset. The others are XLA's convolutions.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from oneflow.primitives.operators import conv_parts, conv_xla, loops
from oneflow.primitives.operators.conv_xla import Window
from oneflow.primitives.operators.materialize import materialize_array
from oneflow.primitives.operators.windows import MAX_KERNEL_SIZE, Windows

# XLA is so slow at depthwise convolutions that only larger ones are (7 x 7: 130 ms, not 4).
_MAX_DEPTHWISE_SIZE = 121
# Kernel offsets that are added up in one go. Each is looked for at every position of the result, so
# that 5 x 5 take half the time if those of each row are added up first; 3 x 3 do not.
_MAX_OFFSETS_AT_ONCE = 9
# Positions added up in one step of the loop of a depthwise gradient, side by side in the last
# spatial dimension. A step costs some microseconds beside its sums; more positions only take longer
# to compile.
_MAX_RUN = 14
# Channels of a group, in and out, up to which a grouped convolution is a sum of depthwise ones.
_MAX_CHANNELS_OF_PATCHES = 4
# Positions from which on the gradient in the weight may be a product per kernel offset.
_LEAST_ROWS = 512


def sum_dtype(dtype: Any) -> Any:
    """The type that products of `dtype` are summed in: so half precision is rounded once."""
    is_inexact = jnp.issubdtype(dtype, jnp.inexact)
    return jnp.promote_types(dtype, jnp.float32) if is_inexact else dtype


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
    return groups == channels == out and math.prod(windows.kernel) <= _MAX_DEPTHWISE_SIZE


def convolve(x, weight, window: Window, dtype: Any):
    """The convolution, returned in `dtype`: that of `x`, or the one it is summed in."""
    windows, groups = window.with_kernel(weight.shape[2:]), window.groups
    channels, out, wide = x.shape[-1], weight.shape[0], sum_dtype(x.dtype)
    wider = dtype if dtype != x.dtype else None
    if windows.dims[0] != 1:
        return _first(convolve(_last(x), weight, _along_last(window), dtype))
    if _is_pointwise(windows, groups):
        matrix = weight.reshape(weight.shape[:2])
        return conv_parts.product(_strided(x, windows.stride), matrix, ((x.ndim - 1,), (1,)), wider)
    is_small = math.prod(windows.kernel) <= MAX_KERNEL_SIZE
    if _is_depthwise(channels, out, windows, groups) or (is_small and channels == 1):
        return _sum_of_products(x, weight, windows, dtype)
    if 0 in (*x.shape, *weight.shape):
        return conv_xla.convolve(x, weight, window, wider)
    if _has_few_channels(channels, out, windows, groups):
        return conv_parts.convolve_by_channel(convolve, x, weight, window, dtype, wide)
    if groups > 1:
        single = window._replace(groups=1)
        part = functools.partial(convolve, window=single, dtype=dtype)
        return conv_parts.by_group(part, groups, (-1, 0, -1))(x, weight)
    if len(windows.kernel) == 3:
        return conv_parts.convolve_by_depth(convolve, x, weight, window, dtype, wide)
    if _prefer_patches(x.shape, windows.counts(x.shape), out, windows):
        return conv_parts.convolve_patches(x, weight, windows, wider)
    return conv_xla.convolve(x, weight, window, wider)


def _has_few_channels(channels: int, out: int, windows: Windows, groups: int) -> bool:
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
        shape: of the array that the kernel slides over.
        counts: the numbers of windows.
        out: elements of the weight per element of a window.
        windows: the windows.
    """
    if math.prod(windows.kernel) > _MAX_DEPTHWISE_SIZE:
        return False
    if any(size < length for size, length in zip(shape[1:-1], windows.kernel, strict=True)):
        return True
    return math.prod(windows.kernel) > 1 and 4 * shape[0] * math.prod(counts) <= out


def _sum_of_products(x, weight, windows: Windows, dtype: Any):
    """The convolution with kernels of one input channel each, as a sum over kernel offsets."""
    kind = sum_dtype(x.dtype)
    # Many terms: they read an operand that lies in memory, and write a result that does. Else each
    # would read it as it lay before, and all be computed in the order in which the result is read.
    in_memory = materialize_array if math.prod(windows.kernel) > _MAX_OFFSETS_AT_ONCE else _as_is
    shifted = windows.gather(in_memory(x), np.zeros((), x.dtype))
    by_offset = _channels_by_offset(weight.astype(kind))
    terms = [part.astype(kind) * by_offset[offset] for offset, part in shifted.items()]
    return in_memory(functools.reduce(jnp.add, terms).astype(dtype))


def _as_is(x):
    return x


def _channels_by_offset(weight):
    """The weight of single input channels with the output channels last, as in the activations.

    So the sum over offsets runs along contiguous memory: in half the time.
    """
    return materialize_array(jnp.moveaxis(weight[:, 0], 0, -1))


def _strided(x, stride: tuple[int, ...]):
    if max(stride) == 1:
        return x
    return lax.slice(x, (0,) * x.ndim, x.shape, (1, *stride, 1))


# --- the gradient in the input


def convolve_input_adjoint(y, weight, size: tuple[int, ...], window: Window, dtype: Any):
    """The transpose of `convolve` in its input, likewise."""
    windows, groups = window.with_kernel(weight.shape[2:]), window.groups
    channels, out, wide = weight.shape[1] * groups, y.shape[-1], sum_dtype(y.dtype)
    wider = dtype if dtype != y.dtype else None
    if windows.dims[0] != 1:
        return _first(convolve_input_adjoint(_last(y), weight, size, _along_last(window), dtype))
    if _is_pointwise(windows, groups):
        x = conv_parts.product(y, weight.reshape(weight.shape[:2]), ((y.ndim - 1,), (0,)), wider)
        return _insert_zeros(x, size, windows.stride)
    if _is_depthwise(channels, out, windows, groups):
        return _depthwise_input_adjoint(y, weight, size, windows, dtype)
    if 0 in (*y.shape, *weight.shape):
        return conv_xla.convolve_input_adjoint(y, weight, size, window, wider)
    adjoint = convolve_input_adjoint
    if _has_few_channels(channels, out, windows, groups):
        return conv_parts.input_adjoint_by_channel(adjoint, y, weight, size, window, dtype, wide)
    if groups > 1:
        single = window._replace(groups=1)
        part = functools.partial(adjoint, size=size, window=single, dtype=dtype)
        return conv_parts.by_group(part, groups, (-1, 0, -1))(y, weight)
    if len(windows.kernel) == 3:
        return conv_parts.input_adjoint_by_depth(adjoint, y, weight, size, window, dtype, wide)
    if _prefer_patches(y.shape, y.shape[1:-1], out, windows):
        return conv_parts.input_adjoint_patches(y, weight, size, windows, wide).astype(dtype)
    if _prefer_scatter(y, size, windows):
        return _scatter_products(y, weight, size, windows).astype(dtype)
    return conv_xla.convolve_input_adjoint(y, weight, size, window, wider)


def _depthwise_input_adjoint(y, weight, size: tuple[int, ...], windows: Windows, dtype: Any):
    # In memory, as the gradient in the weight reads it; else each term would compute it anew.
    y = materialize_array(y)
    if max(windows.stride) == 1:
        kernels = lax.rev(weight, tuple(range(2, weight.ndim)))
        padding = tuple(windows.adjoint_padding(y.shape, size))
        return _sum_of_products(y, kernels, windows._replace(padding=padding), dtype)
    wide = y.astype(sum_dtype(y.dtype))
    by_offset = _channels_by_offset(weight.astype(wide.dtype))
    return windows.scatter(lambda offset: wide * by_offset[offset], size).astype(dtype)


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
    columns = conv_parts.product(y, by_offset, ((y.ndim - 1,), (0,)), sum_dtype(y.dtype))
    columns = columns.reshape(*y.shape[:-1], *kernel, channels)
    if math.prod(kernel) <= _MAX_OFFSETS_AT_ONCE:
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
        return _depthwise_weight_adjoint(x, y, windows)
    if 0 in (*x.shape, *y.shape):
        return conv_xla.convolve_weight_adjoint(x, y, kernel, window)
    adjoint = convolve_weight_adjoint
    if _has_few_channels(channels, out, windows, groups):
        return conv_parts.weight_adjoint_by_channel(adjoint, x, y, kernel, window)
    if groups > 1:
        single = window._replace(groups=1)
        part = functools.partial(adjoint, kernel=kernel, window=single)
        return conv_parts.by_group(part, groups, (-1, -1, 0))(x, y)
    if len(windows.kernel) == 3:
        return conv_parts.weight_adjoint_by_depth(adjoint, x, y, kernel, window)
    if _prefer_patches(x.shape, y.shape[1:-1], out, windows):
        return conv_parts.weight_adjoint_patches(x, y, windows)
    if not _prefer_products(channels, out, windows, math.prod(y.shape[:-1])):
        return conv_xla.convolve_weight_adjoint(x, y, kernel, window)
    shifted = windows.gather(x, np.zeros((), x.dtype))
    stacked = jnp.stack([_outer(y, shifted[offset]) for offset in windows.all()], axis=-1)
    return stacked.reshape(*stacked.shape[:2], *windows.kernel)


def _prefer_products(channels: int, out: int, windows: Windows, rows: int) -> bool:
    """Return whether a product per kernel offset beats XLA's convolution.

    XLA copies its input once per offset, which takes many channels to be worth it, more still if
    the copy is strided. To interleave the products takes as long as those of some hundred rows.
    """
    least = 128 if max(windows.stride) == 1 else 256
    is_small = math.prod(windows.kernel) <= MAX_KERNEL_SIZE
    return is_small and min(channels, out) >= least and rows >= _LEAST_ROWS


def _outer(y, x):
    """The sum over rows of ``y[..., n] x[..., k]``, as ``[n, k]``; the smaller side goes first."""
    rows = tuple(range(x.ndim - 1))
    if x.shape[-1] < y.shape[-1]:
        return conv_parts.product(x, y, (rows, rows)).T
    return conv_parts.product(y, x, (rows, rows))


def _depthwise_weight_adjoint(x, y, windows: Windows):
    """The gradient of a depthwise convolution in its weight, ``[channels, 1, *kernel]``.

    A sum over positions of the result: the window of the input at each, times the one element of
    `y` per channel. The channels are contiguous in both, and the sum, as small as the kernel, stays
    in the first-level cache. One reduction per kernel offset instead reads both arrays once for
    each, and XLA does not vectorize it: it takes ten times as long for 3 x 3, twenty for 7 x 7.
    """
    if 0 in y.shape:
        return jnp.zeros((y.shape[-1], 1, *windows.kernel), y.dtype)
    padded = windows.padded(x, jnp.zeros((), x.dtype))
    width = y.shape[-2]
    run = min(width, _MAX_RUN)
    total = _sum_runs(padded, y, windows, 0, run)
    if width % run:
        total += _sum_runs(padded, y, windows, width - width % run, width % run)
    return jnp.moveaxis(total, -1, 0)[:, None].astype(y.dtype)


def _sum_runs(x, y, windows: Windows, first: int, run: int):
    """The sum over the positions from `first` on, as many runs of them as are complete."""
    lines, channels = y.shape[:-2], y.shape[-1]
    columns = (y.shape[-2] - first) // run
    dilated = [d * (k - 1) + 1 for k, d in zip(windows.kernel, windows.dilation, strict=True)]
    stride = windows.stride[-1]
    sizes = (1, *dilated[:-1], (run - 1) * stride + dilated[-1], channels)
    shape = (*windows.kernel, channels)
    dtype = sum_dtype(y.dtype)

    # Written in `lax`: what `jax.numpy` does for each of so many terms takes long to trace.
    def add_run(step, total):
        step = lax.convert_element_type(step, np.int32)
        *line, column = _coordinates(step, (*lines, columns))
        column = lax.add(lax.mul(column, np.int32(run)), np.int32(first))
        corner = [line[0]]
        for index, length in zip((*line[1:], column), windows.stride, strict=True):
            corner.append(lax.mul(index, np.int32(length)))
        window = lax.dynamic_slice(x, (*corner, np.int32(0)), sizes)
        values = lax.dynamic_slice(
            y, (*line, column, np.int32(0)), (*[1] * len(lines), run, channels)
        )
        # Read from memory by the many terms, instead of sliced in each.
        window = materialize_array(lax.convert_element_type(window.reshape(sizes[1:]), dtype))
        values = materialize_array(lax.convert_element_type(values.reshape(run, channels), dtype))
        terms = []
        for t in range(run):
            part = _at(window, t * stride, dilated, windows.dilation)
            value = lax.slice(values, (t, 0), (t + 1, channels)).reshape(channels)
            value = lax.broadcast_in_dim(value, shape, (len(shape) - 1,))
            terms.append(lax.mul(part, value))
        return lax.add(total, functools.reduce(lax.add, terms))

    steps = math.prod(lines) * columns
    return loops.fori_loop(0, steps, add_run, jnp.zeros(shape, dtype))


def _coordinates(index, shape: tuple[int, ...]) -> list:
    """The coordinates of an element, given its number in row-major order."""
    coordinates = []
    for size in reversed(shape[1:]):
        coordinates.append(lax.rem(index, np.int32(size)))
        index = lax.div(index, np.int32(size))
    return [index, *reversed(coordinates)]


def _at(window, start: int, dilated: list[int], dilation: tuple[int, ...]):
    """The elements that the kernel reads at a position of the last spatial dimension."""
    starts = [0] * (len(dilated) - 1) + [start]
    ends = [first + size for first, size in zip(starts, dilated, strict=True)]
    return lax.slice(window, (*starts, 0), (*ends, window.shape[-1]), (*dilation, 1))
