"""Functions of `jax.numpy` on `jax.lax`, in as few steps as an implementation needs.

`jax.numpy` promotes types and normalises arguments, so that JAX traces its functions several times
as slowly as those of `jax.lax`; and tracing is what the first call of an operator waits for. The
steps that these trace to are the same. Operators of `jax.lax` broadcast sizes of 1, and numbers
without dimensions.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from oneflow.primitives.operators.rounding import is_half
from oneflow.primitives.symbolic_size import SymbolicSize

# Sums for which `sum_of_rows` has stages, and the most rows that it adds up at a time.
_MANY_ROWS, _LEAST_COLUMNS, _MOST_ROWS = 2048, 32, 256


def _arithmetic(on_lax: Callable, on_numpy: Callable) -> Callable[[Any, Any], Any]:
    """A function of arrays or numbers; `jax.lax` computes it if dtypes and shapes agree."""

    def apply(x: Any, y: Any) -> Any:
        compatible = getattr(x, "dtype", None) == getattr(y, "dtype", ()) and (
            len(x.shape) == len(y.shape) or not x.shape or not y.shape
        )
        return (on_lax if compatible else on_numpy)(x, y)

    return apply


add, sub = _arithmetic(lax.add, jnp.add), _arithmetic(lax.sub, jnp.subtract)
mul, div = _arithmetic(lax.mul, jnp.multiply), _arithmetic(lax.div, jnp.divide)


def index_dtype(*sizes: int) -> Any:
    """The narrowest dtype of positions in an array of these sizes: TPUs have no 64-bit integers."""
    return np.int32 if math.prod(sizes) < 2**31 else np.int64


def is_true(x: Any) -> Any:
    """Booleans that say of each element whether it is true: not 0."""
    return x if x.dtype == bool else x != 0


def count_true(x: Any, dims: tuple[int, ...] | int | None, keepdim: bool) -> Any:
    """The number of true elements of a boolean array, over `dims` or all dimensions."""
    return jnp.sum(x, axis=dims, keepdims=keepdim, dtype=index_dtype(*x.shape))


def keepdim_sum(x: Any, dims: tuple[int, ...]) -> Any:
    """The sum of floats over `dims`, which count from the front and are kept with size 1."""
    return lax.expand_dims(lax.reduce_sum(x, axes=dims), dims) if dims else x


def sum_of_rows(x: Any, dims: tuple[int, ...]) -> Any:
    """The sum over `dims`; over leading ones some hundred rows at a time, for GPUs.

    XLA adds up columns of some thousand numbers in so few blocks that it has other kernels compute
    the summands, and stores them. A stage of shorter columns has work for all cores, and computes
    its summands itself.
    """
    rows, shape = math.prod(x.shape[: len(dims)]), x.shape[len(dims) :]
    are_columns = dims == tuple(range(len(dims))) and math.prod(shape) >= _LEAST_COLUMNS
    count = None
    if are_columns and rows >= _MANY_ROWS:
        counts = range(_MOST_ROWS, _MOST_ROWS // 4, -1)
        count = next((count for count in counts if rows % count == 0), None)
    if count is None:
        return lax.reduce_sum(x, axes=dims)
    parts = lax.reduce_sum(lax.reshape(x, (rows // count, count, *shape)), axes=(1,))
    # XLA would make one sum of both.
    return lax.reduce_sum(lax.optimization_barrier(parts), axes=(0,))


def sum_in(
    dtype: np.dtype,
    x: Any,
    dims: tuple[int, ...],
    keepdim: bool,
    add: Callable[[Any, tuple[int, ...]], Any] = lambda x, dims: lax.reduce_sum(x, axes=dims),
) -> Any:
    """The sum over `dims` in a dtype; in half precision it is computed in single precision."""
    wide = np.dtype(np.float32) if is_half(dtype) else dtype
    total = lax.convert_element_type(x, wide)
    total = add(total, dims) if dims else total
    total = lax.expand_dims(total, dims) if keepdim else total
    return lax.convert_element_type(total, dtype)


def keepdim_max(x: Any, dim: int) -> Any:
    """The largest float along `dim`, which counts from the front and is kept with size 1.

    Along a dimension of size 0 it is ``-inf``.
    """
    return lax.expand_dims(lax.reduce_max(x, axes=(dim,)), (dim,))


def part(x: Any, start: int, stop: int, dim: int) -> Any:
    """`x` from `start` to `stop` along `dim`, which counts from the front."""
    is_full = start == 0 and stop == x.shape[dim]
    return x if is_full else lax.slice_in_dim(x, start, stop, axis=dim)


def size_in(dtype: np.dtype, size: Any) -> Any:
    """A size, a number or symbolic, as an array without dimensions."""
    return size.as_array(dtype) if type(size) is SymbolicSize else np.asarray(size, dtype)


def as_type(x: Any, dtype: Any) -> Any:
    """`x` with a dtype."""
    return x if x.dtype == dtype else lax.convert_element_type(x, dtype)


def wide(x: Any) -> Any:
    """Half precision as single precision, which holds its squares and the sums of many terms."""
    return lax.convert_element_type(x, np.float32) if is_half(x.dtype) else x


def full_of(x: Any, number: float) -> Any:
    """An array like `x`, full of a number."""
    return lax.broadcast_in_dim(np.asarray(number, x.dtype), x.shape, ())


def replaced(x: Any, condition: Any, number: float) -> Any:
    """`x` with a number where the condition, an array of its shape, holds."""
    return lax.select(condition, full_of(x, number), x)
