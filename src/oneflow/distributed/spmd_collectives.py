"""Collective operations as SPMD functions of JAX: of this process's arrays, with tuples of results.

They run under `jax.shard_map` over the mesh axis `RANKS_AXIS`, in all processes of a group at once.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from oneflow.distributed.reduce_op import ReduceOp
from oneflow.primitives.sharding import partial_sums
from oneflow.tuning.settings import Setting, is_on

RANKS_AXIS = "ranks"

_COMBINATIONS: dict[ReduceOp, Callable[[Any, Any], Any]] = {
    ReduceOp.PRODUCT: jnp.multiply,
    ReduceOp.MIN: jnp.minimum,
    ReduceOp.MAX: jnp.maximum,
    ReduceOp.BAND: jnp.bitwise_and,
    ReduceOp.BOR: jnp.bitwise_or,
    ReduceOp.BXOR: jnp.bitwise_xor,
}


def all_reduce(array: Any, op: ReduceOp = ReduceOp.SUM) -> tuple[Any]:
    """Return the sum of the arrays of all processes, or another reduction of them."""
    if op is ReduceOp.SUM:
        return (partial_sums.all_reduce(array, RANKS_AXIS),)
    if op is ReduceOp.AVG:
        return (_mean(array),)
    return (functools.reduce(_COMBINATIONS[op], all_gather(array)),)


def average(*arrays: Any) -> tuple[Any, ...]:
    """Return the means over all processes, of arrays known to have equal shapes everywhere.

    Two processes on CPUs send each other theirs. Gloo's all-reduce sends as much but in two rounds,
    one waiting for the other: for half a megabyte it took four times as long. It also aborts a
    process at once when shapes differ a little, before the coordinator can say so; this does not.

    Each array is divided before they are added, so that no sum overflows whose mean is finite.
    """
    is_pair = lax.axis_size(RANKS_AXIS) == 2 and jax.default_backend() == "cpu"
    if not is_pair or not is_on(Setting.PAIRWISE_MEAN):
        return tuple(_mean(array) for array in arrays)
    swap = [(0, 1), (1, 0)]
    scaled = [array / 2 for array in arrays]
    # The order of two operands does not matter, so both processes get the same bits.
    return tuple(half + lax.ppermute(half, RANKS_AXIS, swap) for half in scaled)


def _mean(array: Any) -> Any:
    """Return the mean over all processes."""
    return lax.psum(array / lax.axis_size(RANKS_AXIS), RANKS_AXIS)


def all_gather(array: Any) -> tuple[Any, ...]:
    """Return the array of each process."""
    stacked = lax.all_gather(array, RANKS_AXIS)
    return tuple(stacked[index] for index in range(stacked.shape[0]))


def all_gather_into_tensor(array: Any, shape: tuple[int, ...]) -> tuple[Any]:
    """Concatenate the elements of the arrays of all processes, in this shape."""
    return (lax.all_gather(array, RANKS_AXIS).reshape(shape),)


def reduce_scatter(*parts: Any, op: ReduceOp = ReduceOp.SUM) -> tuple[Any]:
    """Sum part `i` of all processes for process `i`, or reduce them otherwise."""
    if op in (ReduceOp.SUM, ReduceOp.AVG):
        stacked = jnp.stack(parts) if op is ReduceOp.SUM else jnp.stack(parts) / len(parts)
        return (partial_sums.reduce_scatter(stacked, RANKS_AXIS, 0)[0],)
    return (functools.reduce(_COMBINATIONS[op], all_to_all(*parts)),)


def reduce_scatter_tensor(
    array: Any, shape: tuple[int, ...], op: ReduceOp = ReduceOp.SUM
) -> tuple[Any]:
    """Reduce the arrays of all processes; process `i` gets part `i` along dimension 0."""
    return reduce_scatter(*array.reshape(-1, *shape), op=op)


def all_to_all(*parts: Any) -> tuple[Any, ...]:
    """Send part `i` to process `i`."""
    swapped = lax.all_to_all(jnp.stack(parts), RANKS_AXIS, 0, 0)
    return tuple(swapped[index] for index in range(len(parts)))


def broadcast(*arrays: Any, source: int) -> tuple[Any, ...]:
    """Return the arrays of process `source` on all processes."""
    is_source = lax.axis_index(RANKS_AXIS) == source
    return tuple(
        _from_bits(
            lax.psum(jnp.where(is_source, bits, jnp.zeros_like(bits)), RANKS_AXIS), array.dtype
        )
        for array, bits in ((array, _as_bits(array)) for array in arrays)
    )


def scatter(*parts: Any, source: int) -> tuple[Any]:
    """Return part `i` of process `source` on process `i`."""
    bits = jnp.stack([_as_bits(part) for part in parts])
    is_source = lax.axis_index(RANKS_AXIS) == source
    shard_bits = lax.psum_scatter(jnp.where(is_source, bits, jnp.zeros_like(bits)), RANKS_AXIS)
    return (_from_bits(shard_bits, parts[0].dtype),)


def barrier(array: Any) -> tuple[Any]:
    """Return a result that depends on all processes."""
    return (lax.psum(array, RANKS_AXIS),)


def transfer(array: Any, source: int, destination: int) -> tuple[Any]:
    """Send the array of process `source` to process `destination`, of two."""
    return (lax.ppermute(array, RANKS_AXIS, [(source, destination)]),)


def _as_bits(array: Any) -> Any:
    """Return the array as integers, whose sum with zeros is exact, even for the sign of zero."""
    if array.dtype == jnp.bool_:
        return array.astype(jnp.uint8)
    if jnp.issubdtype(array.dtype, jnp.complexfloating):
        return _as_bits(jnp.stack([array.real, array.imag]))
    if jnp.issubdtype(array.dtype, jnp.integer):
        return array
    return lax.bitcast_convert_type(array, _integer_type(array.dtype))


def _from_bits(bits: Any, dtype: Any) -> Any:
    if dtype == jnp.bool_:
        return bits.astype(jnp.bool_)
    if jnp.issubdtype(dtype, jnp.complexfloating):
        part = jnp.float32 if dtype == jnp.complex64 else jnp.float64
        return lax.complex(*_from_bits(bits, part))
    if jnp.issubdtype(dtype, jnp.integer):
        return bits
    return lax.bitcast_convert_type(bits, dtype)


def _integer_type(dtype: Any) -> Any:
    return {1: jnp.uint8, 2: jnp.uint16, 4: jnp.uint32, 8: jnp.uint64}[dtype.itemsize]
