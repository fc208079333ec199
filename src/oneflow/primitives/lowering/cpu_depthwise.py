"""The gradient of a depthwise convolution in its weight, on the CPU.

A sum over positions of the result: the window of the input at each, times the one element of `y`
per channel. The channels are contiguous in both, and the sum, as small as the kernel, stays in the
first-level cache. One reduction per kernel offset instead reads both arrays once for each, and XLA
does not vectorize it: it takes ten times as long for 3 x 3, twenty times for 7 x 7.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from oneflow.primitives.lowering.window_slices import WindowSlices
from oneflow.primitives.operators import loops
from oneflow.primitives.operators.materialize import materialize_array

# Positions added up in one step of the loop, side by side in the last spatial dimension. A step
# costs some microseconds beside its sums; more positions only take longer to compile.
_MAX_RUN = 14


def depthwise_weight_adjoint(x, y, slices: WindowSlices):
    """The gradient in the weight, ``[channels, 1, *kernel]``; `x` and `y` are channels-last."""
    if 0 in y.shape:
        return jnp.zeros((y.shape[-1], 1, *slices.kernel), y.dtype)
    padded = slices.padded(x, jnp.zeros((), x.dtype))
    width = y.shape[-2]
    run = min(width, _MAX_RUN)
    total = _sum_runs(padded, y, slices, 0, run)
    if width % run:
        total += _sum_runs(padded, y, slices, width - width % run, width % run)
    return jnp.moveaxis(total, -1, 0)[:, None].astype(y.dtype)


def sum_dtype(dtype: Any) -> Any:
    """The type that products of `dtype` are summed in: so half precision is rounded once."""
    is_inexact = jnp.issubdtype(dtype, jnp.inexact)
    return jnp.promote_types(dtype, jnp.float32) if is_inexact else dtype


def _sum_runs(x, y, slices: WindowSlices, first: int, run: int):
    """The sum over the positions from `first` on, as many runs of them as are complete."""
    lines, channels = y.shape[:-2], y.shape[-1]
    columns = (y.shape[-2] - first) // run
    dilated = [d * (k - 1) + 1 for k, d in zip(slices.kernel, slices.dilation, strict=True)]
    stride = slices.stride[-1]
    sizes = (1, *dilated[:-1], (run - 1) * stride + dilated[-1], channels)
    shape = (*slices.kernel, channels)
    dtype = sum_dtype(y.dtype)

    # Written in `lax`: what `jax.numpy` does for each of so many terms takes long to trace.
    def add_run(step, total):
        step = lax.convert_element_type(step, np.int32)
        *line, column = _coordinates(step, (*lines, columns))
        column = lax.add(lax.mul(column, np.int32(run)), np.int32(first))
        corner = [line[0]]
        for index, length in zip((*line[1:], column), slices.stride, strict=True):
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
            part = _at(window, t * stride, dilated, slices.dilation)
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
