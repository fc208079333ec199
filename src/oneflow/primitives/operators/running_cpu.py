"""Results so far along an axis, for XLA on CPUs: a loop over blocks of rows, in it over columns.

The rows of a block grow side by side, so that the processor does not wait for one sum before it
begins another. Milliseconds of processor time, this loop and what is elsewhere (a scan over the
transposed array, or JAX's tree of partial results for fewer than 16 rows): sums 512 x 512 0.30 and
0.55, 64 x 1,000 0.07 and 0.16, 4 x 20,000 0.11 and 0.36, of columns 512 x 512 0.11 and 0.19;
positions of extremes 512 x 512 0.57 and 0.81, 64 x 1,000 0.13 and 0.21, 4 x 20,000 0.18 and 2.3,
1 x 100,000 0.49 and 1.8.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from oneflow.primitives.operators import loops
from oneflow.primitives.operators.cpu_kernel import in_one_kernel

# Inner sizes from which on a row is a block by itself, and up to which the loop is the quickest
# form: several threads share longer rows.
_MIN_INNER_SIZE, _MAX_INNER_SIZE = 16, 2**14
# Rows of a block. Rows whose distance is a multiple of a KiB lie in few sets of the first cache:
# 256 x 1,024 sums take 0.37 ms in blocks of 8 and 0.92 in blocks of 16, 500 x 500 0.44 and 0.22.
_ROWS, _ROWS_AT_STRIDE, _CACHE_STRIDE = 16, 8, 1024


def can_scan(x: jax.Array, axis: int) -> bool:
    """Return whether `scan_blocks` is for an array."""
    return x.size > 0 and x.shape[axis] > 1 and _inner_size(x, axis) <= _MAX_INNER_SIZE


def _inner_size(x: jax.Array, axis: int) -> int:
    """The distance of elements along an axis."""
    return math.prod(x.shape[axis + 1 :])


def scan_blocks(
    step: Callable[[Any, jax.Array, jax.Array], tuple[Any, jax.Array]],
    start: Callable[[jax.Array], Any],
    x: jax.Array,
    axis: int,
    dtype: Any,
    *,
    reverse: bool = False,
) -> jax.Array:
    """The results of a function that goes along an axis of an array.

    Args:
        step: takes the state, the next elements of several rows, bfloat16 as float32, and their
            place along the axis; returns the next state and the results.
        start: the state before the first elements, which it takes.
        x: the array, with elements.
        axis: the axis.
        dtype: the dtype of the results.
        reverse: go from the end.

    Returns:
        Array of the shape of `x`.
    """
    inner_size, length = _inner_size(x, axis), x.shape[axis]
    if inner_size < _MIN_INNER_SIZE and axis != x.ndim - 1:
        last = jnp.moveaxis(x, axis, -1)
        results = scan_blocks(step, start, last, x.ndim - 1, dtype, reverse=reverse)
        return jnp.moveaxis(results, -1, axis)
    rows = x.reshape(-1, length, inner_size).astype(_dtype_in_kernel(x.dtype))
    if inner_size > 1:
        height = 1
    else:
        is_at_stride = length * rows.dtype.itemsize % _CACHE_STRIDE == 0
        height = min(_ROWS_AT_STRIDE if is_at_stride else _ROWS, rows.shape[0])

    def scan(rows: jax.Array) -> jax.Array:
        return _scan_in_blocks(step, start, rows, height, _dtype_in_kernel(dtype), reverse)

    return in_one_kernel(scan, rows).reshape(x.shape).astype(dtype)


def _dtype_in_kernel(dtype: Any) -> Any:
    """The dtype in which a kernel holds numbers: XLA writes no bfloat16 in place on CPUs."""
    return np.float32 if dtype == jnp.bfloat16 else dtype


def _scan_in_blocks(
    step: Callable, start: Callable, rows: jax.Array, height: int, dtype: Any, reverse: bool
) -> jax.Array:
    """The results along the middle axis, for some rows at once."""
    length, shape, first = rows.shape[1], (height, 1, rows.shape[2]), np.int64(0)
    results = jnp.zeros_like(rows, dtype)

    def column(row: jax.Array, iteration: jax.Array, carry: Any) -> Any:
        state, results = carry
        at = row, length - 1 - iteration if reverse else iteration, first
        state, result = step(state, lax.dynamic_slice(rows, at, shape), at[1])
        return state, lax.dynamic_update_slice(results, result.astype(dtype), at)

    def block(iteration: jax.Array, results: jax.Array) -> jax.Array:
        # The last block begins within the one before if the rows do not fill it.
        row = jnp.minimum(iteration * height, rows.shape[0] - height)
        state = start(lax.dynamic_slice(rows, (row, first, first), shape))
        return loops.fori_loop(0, length, partial(column, row), (state, results))[1]

    return loops.fori_loop(0, -(-rows.shape[0] // height), block, results)
