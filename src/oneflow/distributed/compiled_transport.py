"""The way of arrays between processes within a program that XLA has compiled for all of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp
from jax import lax

from oneflow.primitives.sharding import partial_sums

RANKS_AXIS = "ranks"


class CompiledTransport:
    """See `Transport`; under `jax.shard_map` over the mesh axis `RANKS_AXIS`."""

    numpy = jnp

    def __init__(self, device_type: str) -> None:
        self._reduce_scatter = (
            partial_sums.reduce_scatter_on_cpu
            if device_type == "cpu"
            else partial_sums.reduce_scatter
        )

    @property
    def size(self) -> int:
        """The number of processes."""
        return lax.axis_size(RANKS_AXIS)

    def sum(self, array: Any) -> Any:
        """The sum of the arrays of all processes."""
        return partial_sums.all_reduce(array, RANKS_AXIS)

    def sum_of_part(self, parts: Sequence[Any]) -> Any:
        """On process `i` the sum of part `i` of all processes."""
        return self._reduce_scatter(jnp.stack(parts), RANKS_AXIS, 0)[0]

    def all_gather(self, array: Any) -> Sequence[Any]:
        """The array of each process."""
        return _rows(lax.all_gather(array, RANKS_AXIS))

    def all_to_all(self, parts: Sequence[Any]) -> Sequence[Any]:
        """On process `i` part `i` of each process."""
        return _rows(lax.all_to_all(jnp.stack(parts), RANKS_AXIS, 0, 0))

    def broadcast(self, arrays: Sequence[Any], source: int) -> tuple[Any, ...]:
        """The arrays of process `source`, bit for bit."""
        return tuple(
            _from_bits(lax.psum(_only_from(source, _as_bits(array)), RANKS_AXIS), array.dtype)
            for array in arrays
        )

    def scatter(self, parts: Sequence[Any], source: int) -> Any:
        """On process `i` part `i` of process `source`, bit for bit."""
        bits = jnp.stack([_as_bits(part) for part in parts])
        own = self._reduce_scatter(_only_from(source, bits), RANKS_AXIS, 0)[0]
        return _from_bits(own, parts[0].dtype)

    def transfer(self, array: Any, source: int, destination: int) -> Any:
        """On process `destination` the array of process `source`."""
        return lax.ppermute(array, RANKS_AXIS, [(source, destination)])


def _rows(stacked: Any) -> list[Any]:
    return [stacked[index] for index in range(stacked.shape[0])]


def _only_from(source: int, bits: Any) -> Any:
    """The array on process `source`, zeros on others."""
    return jnp.where(lax.axis_index(RANKS_AXIS) == source, bits, jnp.zeros_like(bits))


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
