"""Arrays of global tensors from and to what single devices hold."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from oneflow.base import cluster
from oneflow.base.placement import Placement
from oneflow.base.sbp import PARTIAL_SUM
from oneflow.base.spec import TensorSpec
from oneflow.compiler.sharding import named_sharding, of_dtype, partial_axes, stored_shape
from oneflow.primitives.part_layout import part_shape, part_slices, places_in
from oneflow.primitives.sharding.partial_sums import neutral
from oneflow.runtime.eager import Absent

Places = tuple[int, ...]


def own_places(placement: Placement) -> Iterator[tuple[Places, Any]]:
    """The places in the mesh that this process drives, with their devices."""
    several = cluster.is_several_processes()
    for places, rank in zip(places_in(placement.hierarchy), placement.flat, strict=True):
        if not several or rank == cluster.rank():
            yield places, cluster.device_of_rank(placement.type, rank)


def assemble(spec: TensorSpec, part_at: Callable[[Places], Any]) -> Any:
    """The array of a global tensor from the parts, without padding, of this process's devices.

    Raises:
        TypeError: a part has another dtype than the tensor.
    """
    placement: Any = spec.device
    if not placement.includes_this_process:
        return Absent()
    shape = part_shape(spec.shape, placement.hierarchy, spec.sbp or ())
    lead = (1,) * len(partial_axes(spec))
    blocks = []
    for places, device in own_places(placement):
        part = resized(of_dtype(part_at(places), spec), shape)
        # Memory of its own: the array may be donated later, or the part written to.
        blocks.append(jax.device_put(part.reshape(lead + shape), device, may_alias=False))
    return jax.make_array_from_single_device_arrays(
        stored_shape(spec), named_sharding(spec), blocks
    )


def resized(part: Any, shape: tuple[int, ...]) -> Any:
    """A part, cut or padded with zeros at the end of each dimension."""
    if part.shape == shape:
        return part
    part = part[tuple(map(slice, shape))]
    missing = [(0, full - size) for full, size in zip(shape, part.shape, strict=True)]
    pad = np.pad if isinstance(part, np.ndarray) else jnp.pad
    return pad(part, missing)


def part_of_whole(whole: np.ndarray, spec: TensorSpec, places: Places) -> np.ndarray:
    """What the device at `places` holds of a tensor; a partial sum is whole on the first one."""
    placement: Any = spec.device
    sbp = spec.sbp or ()
    part = whole[part_slices(spec.shape, placement.hierarchy, sbp, places)]
    is_first = all(
        place == 0 for place, each in zip(places, sbp, strict=True) if each is PARTIAL_SUM
    )
    return part if is_first else nothing_like(part)


def nothing_like(part: Any) -> np.ndarray:
    """A part that changes nothing when it is added to one like `part`."""
    return np.full(part.shape, neutral(part.dtype))


def part_here(array: Any, spec: TensorSpec, place: int | None = None) -> jax.Array:
    """The part, without padding, of one device of this process.

    Args:
        array: of the global tensor.
        spec: its spec.
        place: which device, counted in the flat list of ranks; left out, that of this rank.
    """
    placement: Any = spec.device
    place = int(placement.own_index if place is None else place)
    device = cluster.device_of_rank(placement.type, placement.flat[place])
    block = next(each.data for each in array.addressable_shards if each.device == device)
    block = block.reshape(block.shape[len(partial_axes(spec)) :])
    places = tuple(map(int, np.unravel_index(place, placement.hierarchy)))
    slices = part_slices(spec.shape, placement.hierarchy, spec.sbp or (), places)
    sizes = tuple(each.stop - each.start for each in slices)
    return jnp.array(block[tuple(map(slice, sizes))], copy=True)


def empty_part(spec: TensorSpec) -> jax.Array:
    """What a rank without a part of a tensor has of it: nothing, in as many dimensions."""
    return jnp.zeros((0,) * max(spec.ndim, 1), spec.dtype.numpy)
