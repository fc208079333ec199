"""Depthwise convolutions on the CPU, and convolutions of one input channel, with channels last.

Sums over the offsets of the kernel that run along the channels: XLA takes ten to twenty times as
long.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from oneflow.primitives.operators import loops
from oneflow.primitives.operators.conv_xla import sum_dtype
from oneflow.primitives.operators.materialize import materialize_array
from oneflow.primitives.operators.windows import Windows

# Kernel offsets that are added up in one go. Each is looked for at every position of the result, so
# that 5 x 5 take half the time if those of each row are added up first; 3 x 3 do not.
MAX_OFFSETS_AT_ONCE = 9
# Positions added up in one step of the loop of a depthwise gradient, side by side in the last
# spatial dimension. A step costs some microseconds beside its sums; more positions only take longer
# to compile.
_MAX_RUN = 14


def convolve(x, weight, windows: Windows, dtype: Any):
    """The convolution with kernels of one input channel each, as a sum over kernel offsets."""
    kind = sum_dtype(x.dtype)
    # Many terms: they read an operand that lies in memory, and write a result that does. Otherwise
    # each would read it as it lay before, and all would be computed in the order in which the
    # result is read.
    in_memory = materialize_array if math.prod(windows.kernel) > MAX_OFFSETS_AT_ONCE else _as_is
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


def convolve_input_adjoint(y, weight, size: tuple[int, ...], windows: Windows, dtype: Any):
    """The transpose of `convolve` in its input."""
    # In memory, as the gradient in the weight reads it; else each term would compute it anew.
    y = materialize_array(y)
    if max(windows.stride) == 1:
        kernels = lax.rev(weight, tuple(range(2, weight.ndim)))
        padding = tuple(windows.adjoint_padding(y.shape, size))
        return convolve(y, kernels, windows._replace(padding=padding), dtype)
    wide = y.astype(sum_dtype(y.dtype))
    by_offset = _channels_by_offset(weight.astype(wide.dtype))
    return windows.scatter(lambda offset: wide * by_offset[offset], size).astype(dtype)


def convolve_weight_adjoint(x, y, windows: Windows):
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
    """The sum over all complete runs of positions from `first` on."""
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
