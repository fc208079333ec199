"""Arrays of global tensors from and to what single devices hold."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from oneflow.base import cluster
from oneflow.base.no_interrupt import run_without_interrupt
from oneflow.base.placement import Placement
from oneflow.base.sbp import PARTIAL_SUM
from oneflow.base.spec import TensorSpec
from oneflow.base.x64 import in_x64
from oneflow.compiler.sharding import array_shape, named_sharding, of_dtype, partial_axes
from oneflow.primitives.shard_shapes import mesh_coordinates, shard_shape, shard_slices
from oneflow.primitives.sharding.partial_sums import sum_identity
from oneflow.runtime.memory import wrap_on, writable_copy
from oneflow.runtime.meta_array import MetaArray

Coordinate = tuple[int, ...]


def addressable_coordinates(placement: Placement) -> Iterator[tuple[Coordinate, Any]]:
    """Yield the mesh coordinates of this process's devices, with the devices."""
    is_multiprocess = cluster.is_multiprocess()
    for coordinate, rank in zip(mesh_coordinates(placement.hierarchy), placement.flat, strict=True):
        if not is_multiprocess or rank == cluster.rank():
            yield coordinate, cluster.device_of_rank(placement.type, rank)


def make_global_array(spec: TensorSpec, shard_at: Callable[[Coordinate], Any]) -> Any:
    """Make the array of a global tensor from the unpadded shards of this process's devices.

    Raises:
        TypeError: a shard has another dtype than the tensor.
    """
    placement: Any = spec.device
    if not placement.includes_this_process:
        return MetaArray()
    shape = shard_shape(spec.shape, placement.hierarchy, spec.sbp or ())
    leading = (1,) * len(partial_axes(spec))
    blocks = []
    for coordinate, device in addressable_coordinates(placement):
        shard = of_dtype(shard_at(coordinate), spec)
        blocks.append(_put_shard(shard, leading, shape, device))
    return jax.make_array_from_single_device_arrays(array_shape(spec), named_sharding(spec), blocks)


def _put_shard(
    shard: Any, leading: tuple[int, ...], shape: tuple[int, ...], device: Any
) -> jax.Array:
    """Return a shard of this shape on a device, with leading dimensions in front of it."""
    shard = without_programs(shard)
    # Memory of its own: the array may be donated later, or the shard written to. JAX shares
    # NumPy's whatever `may_alias` says.
    if isinstance(shard, np.ndarray):
        return wrap_on(writable_copy(resize(shard, shape).reshape(leading + shape)), device)

    def put() -> jax.Array:
        block = resize(shard, shape).reshape(leading + shape)
        return jax.device_put(block, device, may_alias=False)

    return run_without_interrupt(put)


def without_programs(shard: Any) -> Any:
    """Return a shard, as NumPy's if that shares its memory: JAX compiles for each new shape."""
    if not isinstance(shard, jax.Array):
        return shard
    (device,) = shard.devices()
    return np.asarray(shard) if device.platform == "cpu" else shard


def resize(shard: Any, shape: tuple[int, ...]) -> Any:
    """Return a shard cut, or padded with zeros, at the end of each dimension."""
    if shard.shape == shape:
        return shard
    shard = shard[tuple(map(slice, shape))]
    missing = [(0, full - size) for full, size in zip(shape, shard.shape, strict=True)]
    pad = np.pad if isinstance(shard, np.ndarray) else jnp.pad
    return pad(shard, missing)


def shard_of(content: np.ndarray, spec: TensorSpec, coordinate: Coordinate) -> np.ndarray:
    """The shard at `coordinate` of a tensor; a partial sum is whole at the first coordinate."""
    placement: Any = spec.device
    sbp = spec.sbp or ()
    shard = content[shard_slices(spec.shape, placement.hierarchy, sbp, coordinate)]
    is_first = all(
        position == 0
        for position, component in zip(coordinate, sbp, strict=True)
        if component is PARTIAL_SUM
    )
    return shard if is_first else identity_like(shard)


def shard_sizes(spec: TensorSpec, coordinate: Coordinate) -> tuple[int, ...]:
    """The shape of the shard at `coordinate`, without padding."""
    placement: Any = spec.device
    slices = shard_slices(spec.shape, placement.hierarchy, spec.sbp or (), coordinate)
    return tuple(dim_slice.stop - dim_slice.start for dim_slice in slices)


def identity_like(shard: Any) -> np.ndarray:
    """Make the identity element of addition in the shape and dtype of `shard`."""
    return np.full(shard.shape, sum_identity(shard.dtype))


def local_shard(array: Any, spec: TensorSpec, index: int | None = None) -> jax.Array:
    """The shard, without padding, of one device of this process.

    Args:
        array: the array of the global tensor.
        spec: its spec.
        index: index of the device in the flat list of ranks; by default that of this rank.
    """
    placement: Any = spec.device
    index = int(placement.local_index if index is None else index)
    device = cluster.device_of_rank(placement.type, placement.flat[index])
    block = next(shard.data for shard in array.addressable_shards if shard.device == device)
    coordinate = tuple(map(int, np.unravel_index(index, placement.hierarchy)))
    sizes = shard_sizes(spec, coordinate)

    def part_of(block: Any) -> Any:
        return block.reshape(block.shape[len(partial_axes(spec)) :])[tuple(map(slice, sizes))]

    content = without_programs(block)
    if isinstance(content, jax.Array):
        return run_without_interrupt(lambda: jnp.array(part_of(content), copy=True))
    # A part without dimensions is a scalar of NumPy's.
    return wrap_on(writable_copy(np.asarray(part_of(content))), device)


@in_x64
def empty_shard(spec: TensorSpec) -> jax.Array:
    """The shard of a rank outside the placement: no elements, the same number of dimensions."""
    return jnp.asarray(np.zeros((0,) * max(spec.ndim, 1), spec.dtype.numpy))
