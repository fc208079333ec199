"""The index of an extreme, on the CPU: as two plain reductions, which are vectorised.

One reduction of pairs ``(value, index)`` is not, and takes eight times as long.
"""

from __future__ import annotations

from collections.abc import Callable

import jax.numpy as jnp
from jax import lax

from oneflow.primitives.operators import reduce
from oneflow.primitives.operators.materialize import materialize_array
from oneflow.primitives.registry import Primitive


def _extreme_and_index(x, best: Callable, dim: int):
    """The extreme along `dim`, which is kept, and the first index that has it."""
    # Left to itself XLA spreads the extreme to the size of `x` in memory first.
    extreme = materialize_array(best(x, axis=dim, keepdims=True))
    hit = x == extreme
    if jnp.issubdtype(x.dtype, jnp.floating):
        hit |= jnp.isnan(x)
    size = x.shape[dim]
    counter = jnp.int32 if size < 2**31 else jnp.int64
    position = jnp.where(hit, lax.broadcasted_iota(counter, x.shape, dim), counter(size))
    return extreme, jnp.min(position, axis=dim, keepdims=True).astype(jnp.int64)


def _lower_along(primitive: Primitive, best: Callable) -> None:
    @primitive.lowering("cpu")
    def impl(x, *, dim: int, keepdim: bool = False):
        if not x.ndim:
            return x, jnp.zeros((), jnp.int64)
        values, index = _extreme_and_index(x, best, dim)
        return (values, index) if keepdim else (values.squeeze(dim), index.squeeze(dim))


def _lower_index(primitive: Primitive, best: Callable) -> None:
    @primitive.lowering("cpu")
    def impl(x, *, dim: int | None, keepdim: bool = False):
        if not x.ndim:
            return jnp.zeros((), jnp.int64)
        if dim is None:
            _, index = _extreme_and_index(x.reshape(-1), best, 0)
            return index.reshape((1,) * x.ndim if keepdim else ())
        _, index = _extreme_and_index(x, best, dim)
        return index if keepdim else index.squeeze(dim)


_lower_along(reduce.max_along, jnp.max)
_lower_along(reduce.min_along, jnp.min)
_lower_index(reduce.argmax, jnp.max)
_lower_index(reduce.argmin, jnp.min)
