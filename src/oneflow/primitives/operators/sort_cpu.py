"""Order on CPUs: numbers packed with their positions into integers of 64 bits.

XLA's CPU compiler sorts pairs of a number and its position by a function that it calls for each
comparison. Integers alone go to the sort of C++'s library: six to eight times as quick. An
element of a given rank needs no sort; it is found bit by bit, by counting what is smaller.
"""

from __future__ import annotations

import math
from functools import partial

import jax.numpy as jnp
import numpy as np
from jax import lax

_HALF = 0xFFFFFFFF
# Elements from which on counting for each bit is quicker than sorting, in programs that NumPy
# interprets, too.
_MANY = 2**14


def argsort(x, dim: int, descending: bool = False):
    """Positions in the order of the numbers: equal ones keep theirs, NaN counts as largest.

    Args:
        x: real numbers or truth values.
        dim: the dimension to sort along.
        descending: the largest first.

    Returns:
        int64 array of the shape of `x`.
    """
    if x.shape[dim] > _HALF:
        return jnp.argsort(x, axis=dim, stable=True, descending=descending)
    key = jnp.moveaxis(_key(x), dim, -1)
    if descending:
        key = ~key
    if x.dtype.itemsize <= 4:
        order = _order_of(key & jnp.uint64(_HALF))
    else:
        # The lower halves come first; a stable sort by the upper ones keeps their order in ties.
        lower = _order_of(key & jnp.uint64(_HALF))
        take = partial(jnp.take_along_axis, axis=-1, mode="promise_in_bounds")
        order = take(lower, _order_of(take(key >> 32, lower)))
    return jnp.moveaxis(order, -1, dim)


def index_at_rank(x, dim: int, rank):
    """The position of the element that a sort would put at a rank.

    Args:
        x: real numbers or truth values.
        dim: the dimension that the rank counts along.
        rank: a number, or integers of the shape of `x` but for `dim`, whose size is 1.

    Returns:
        int64 array of the shape of `x` but for `dim`, whose size is 1.
    """
    rank_shape = [1 if at == dim else size for at, size in enumerate(x.shape)]
    rank = jnp.broadcast_to(jnp.asarray(rank, jnp.int64), rank_shape)
    if x.dtype.itemsize > 4 or x.shape[dim] > _HALF or math.prod(x.shape) < _MANY:
        return jnp.take_along_axis(argsort(x, dim), rank, axis=dim)
    packed = _key(x) << 32 | lax.broadcasted_iota(jnp.uint64, x.shape, dim)
    # The positions' leading bits are all 0.
    position_bits = int(x.shape[dim] - 1).bit_length()
    bits = [*range(63, 31, -1), *range(position_bits - 1, -1, -1)]
    bit_values = jnp.asarray(np.array([1 << bit for bit in bits], np.uint64))

    def add_bit(index, prefix):
        larger = prefix | bit_values[index]
        smaller = jnp.sum(packed < larger, axis=dim, keepdims=True, dtype=jnp.int64)
        return jnp.where(smaller <= rank, larger, prefix)

    element = lax.fori_loop(0, len(bits), add_bit, jnp.zeros(rank_shape, jnp.uint64))
    return (element & jnp.uint64(_HALF)).astype(jnp.int64)


def _order_of(keys):
    """Positions along the last dimension in the order of unsigned integers of 32 bits."""
    position = lax.broadcasted_iota(jnp.uint64, keys.shape, keys.ndim - 1)
    in_order = lax.sort(keys << 32 | position, dimension=keys.ndim - 1)
    return (in_order & jnp.uint64(_HALF)).astype(jnp.int64)


def _key(x):
    """Unsigned integers in the order of the numbers: of 32 bits where these have as many."""
    if jnp.issubdtype(x.dtype, jnp.floating):
        return _key_of_floats(x)
    if x.dtype.itemsize < 8:
        return (x.astype(jnp.int64) + 2**31 * (x.dtype != jnp.uint32)).astype(jnp.uint64)
    is_signed = jnp.issubdtype(x.dtype, jnp.signedinteger)
    return x.astype(jnp.uint64) ^ jnp.uint64(2**63 * is_signed)


def _key_of_floats(x):
    """Bits of positive numbers grow with them; the bits of negative ones are turned round."""
    if x.dtype.itemsize < 4:
        x = x.astype(jnp.float32)
    kind, bits = (jnp.uint32, 32) if x.dtype.itemsize == 4 else (jnp.uint64, 64)
    x = jnp.where(x == 0, jnp.zeros_like(x), x)  # -0.0 equals 0.0
    x = jnp.where(jnp.isnan(x), jnp.full_like(x, jnp.nan), x)
    raw = lax.bitcast_convert_type(x, kind)
    sign = kind(1 << (bits - 1))
    return jnp.where(raw >= sign, ~raw, raw | sign).astype(jnp.uint64)
