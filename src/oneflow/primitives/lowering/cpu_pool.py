"""Window sums and maxima on the CPU, as shifted slices where the kernel is small."""

from __future__ import annotations

import functools
import math

import jax.numpy as jnp
import numpy as np

from oneflow.primitives.lowering.window_slices import MAX_KERNEL_SIZE, WindowSlices
from oneflow.primitives.operators import pool
from oneflow.primitives.operators.materialize import materialize_array


def _prefer_slices(dims: tuple[int, ...], kernel: tuple[int, ...]) -> bool:
    return dims[0] == 1 and math.prod(kernel) <= MAX_KERNEL_SIZE


@pool.max_pool.lowering("cpu")
def _max_pool(x, *, dims, kernel, stride, padding, dilation):
    windows = pool.Windows(dims, kernel, stride, padding, dilation)
    if not _prefer_slices(dims, kernel):
        return pool.reduce_window_max(x, windows)
    parts = WindowSlices(*windows).gather(x, pool.lowest(x.dtype))
    return functools.reduce(jnp.maximum, parts.values())


@pool.max_pool_gradient.lowering("cpu")
def _max_pool_gradient(y, x, out, *, dims, kernel, stride, padding, dilation):
    windows = pool.Windows(dims, kernel, stride, padding, dilation)
    if not _prefer_slices(dims, kernel):
        return pool.max_pool_gradient.impl(y, x, out, **windows._asdict())
    slices = WindowSlices(*windows)
    # Of another x than the forward pass: XLA would keep its padded copy all that time.
    parts = slices.gather(materialize_array(x), pool.lowest(x.dtype))
    # As wide as the elements compared, or XLA's loop is not vectorised.
    int_dtype = jnp.int32 if x.dtype.itemsize <= 4 else jnp.int64
    number = {offset: int_dtype(index) for index, offset in enumerate(parts)}
    # The first maximum gets the gradient. It is found again: `out` may be that of an `x` which XLA
    # has computed a second time, and rounded otherwise.
    first, *others = parts
    largest, chosen = parts[first], jnp.full(out.shape, number[first])
    for offset in others:
        part = parts[offset]
        is_larger = (part > largest) | ((part != part) & (largest == largest))
        largest = jnp.where(is_larger, part, largest)
        chosen = jnp.where(is_larger, number[offset], chosen)
    size = tuple(x.shape[dim] for dim in dims)
    if windows.tile(size):
        return _tiled_choice(chosen, y, windows).reshape(x.shape)
    # Computed once; fused into every use it would be computed for each offset again.
    chosen = materialize_array(chosen)
    return slices.scatter(lambda offset: jnp.where(chosen == number[offset], y, 0), size)


def _tiled_choice(chosen, y, windows: pool.Windows):
    """`y` at the chosen offset of each window, zeros at the others; offsets follow their window."""
    offsets = math.prod(windows.kernel)
    numbers = jnp.arange(offsets, dtype=chosen.dtype).reshape(windows.kernel)
    kernel_dims = [dim + 1 + index for index, dim in enumerate(windows.dims)]
    others = [dim for dim in range(y.ndim + len(kernel_dims)) if dim not in kernel_dims]
    grid = jnp.expand_dims(numbers, others)
    y = materialize_array(y)  # read once per offset
    is_chosen = jnp.expand_dims(chosen, kernel_dims) == grid
    return jnp.where(is_chosen, jnp.expand_dims(y, kernel_dims), 0)


@pool.window_sum.lowering("cpu")
def _window_sum(x, *, dims, kernel, stride, padding):
    windows = pool.Windows(dims, kernel, stride, padding, (1,) * len(dims))
    if not _prefer_slices(dims, kernel):
        return pool.reduce_window_sum(x, windows)
    parts = WindowSlices(*windows).gather(x, np.zeros((), x.dtype))
    return functools.reduce(jnp.add, parts.values())


@pool.window_sum_adjoint.lowering("cpu")
def _window_sum_adjoint(y, *, size, dims, kernel, stride, padding):
    windows = pool.Windows(dims, kernel, stride, padding, (1,) * len(dims))
    if not _prefer_slices(dims, kernel):
        attributes = {**windows._asdict(), "size": size}
        del attributes["dilation"]
        return pool.window_sum_adjoint.impl(y, **attributes)
    return WindowSlices(*windows).scatter(lambda offset: y, size)
