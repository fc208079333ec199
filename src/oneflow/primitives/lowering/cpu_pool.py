"""Window sums and maxima on the CPU, written out tap by tap where there are few taps."""

from __future__ import annotations

import functools
import math

import jax.numpy as jnp
import numpy as np

from oneflow.primitives.lowering.taps import MAX_TAPS, Taps
from oneflow.primitives.operators import pool
from oneflow.primitives.operators.materialize import materialized


def _worth_it(dims: tuple[int, ...], kernel: tuple[int, ...]) -> bool:
    return dims[0] == 1 and math.prod(kernel) <= MAX_TAPS


@pool.max_pool.lowering("cpu")
def _max_pool(x, *, dims, kernel, stride, padding, dilation):
    windows = pool.Windows(dims, kernel, stride, padding, dilation)
    if not _worth_it(dims, kernel):
        return pool.window_maxima(x, windows)
    parts = Taps(*windows).gather(x, pool.lowest(x.dtype))
    return functools.reduce(jnp.maximum, parts.values())


@pool.max_pool_gradient.lowering("cpu")
def _max_pool_gradient(y, x, out, *, dims, kernel, stride, padding, dilation):
    windows = pool.Windows(dims, kernel, stride, padding, dilation)
    if not _worth_it(dims, kernel):
        return pool.max_pool_gradient.impl(y, x, out, **windows._asdict())
    taps = Taps(*windows)
    # Of another x than the forward pass: XLA would keep its padded copy all that time.
    parts = taps.gather(materialized(x), pool.lowest(x.dtype))
    # As wide as the elements compared, or XLA's loop is not vectorised.
    whole = jnp.int32 if x.dtype.itemsize <= 4 else jnp.int64
    number = {tap: whole(index) for index, tap in enumerate(parts)}
    # The first tap equal to the maximum gets the gradient: later ones are overwritten.
    chosen = jnp.full(out.shape, -1, whole)
    for tap in reversed(list(parts)):
        hit = (parts[tap] == out) | ((parts[tap] != parts[tap]) & (out != out))
        chosen = jnp.where(hit, number[tap], chosen)
    size = tuple(x.shape[dim] for dim in dims)
    if windows.tile(size):
        return _tiled_choice(chosen, y, windows).reshape(x.shape)
    # Computed once; fused into every use it would be computed for each tap again.
    chosen = materialized(chosen)
    return taps.scatter(lambda tap: jnp.where(chosen == number[tap], y, 0), size)


def _tiled_choice(chosen, y, windows: pool.Windows):
    """`y` at the chosen tap of each window and zeros at the others; taps follow their window."""
    offsets = math.prod(windows.kernel)
    taps = jnp.arange(offsets, dtype=chosen.dtype).reshape(windows.kernel)
    behind = [dim + 1 + index for index, dim in enumerate(windows.dims)]
    others = [dim for dim in range(y.ndim + len(behind)) if dim not in behind]
    grid = jnp.expand_dims(taps, others)
    y = materialized(y)  # read once per tap
    return jnp.where(jnp.expand_dims(chosen, behind) == grid, jnp.expand_dims(y, behind), 0)


@pool.window_sum.lowering("cpu")
def _window_sum(x, *, dims, kernel, stride, padding):
    windows = pool.Windows(dims, kernel, stride, padding, (1,) * len(dims))
    if not _worth_it(dims, kernel):
        return pool.window_totals(x, windows)
    parts = Taps(*windows).gather(x, np.zeros((), x.dtype))
    return functools.reduce(jnp.add, parts.values())


@pool.window_sum_adjoint.lowering("cpu")
def _window_sum_adjoint(y, *, size, dims, kernel, stride, padding):
    windows = pool.Windows(dims, kernel, stride, padding, (1,) * len(dims))
    if not _worth_it(dims, kernel):
        attributes = {**windows._asdict(), "size": size}
        del attributes["dilation"]
        return pool.window_sum_adjoint.impl(y, **attributes)
    return Taps(*windows).scatter(lambda tap: y, size)
