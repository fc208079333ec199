"""Carrying the arrays of global tensors from one placement to another."""

from __future__ import annotations

import functools
from typing import Any

import jax
import numpy as np
from jax import lax

from oneflow.base import cluster
from oneflow.base.placement import Placement, Sharding, mesh_axis
from oneflow.base.sbp import BROADCAST, PARTIAL_SUM, NdSbp, Split
from oneflow.base.spec import TensorSpec, spec_of
from oneflow.compiler.sharding import named_sharding, partition_of
from oneflow.control_plane.collective_launch import launch_collective
from oneflow.primitives.shard_shapes import shard_shape
from oneflow.primitives.sharding.partial_sums import all_reduced, neutral
from oneflow.runtime.eager import Absent
from oneflow.runtime.shards import assemble


def sbp_between(spec: TensorSpec, sharding: Sharding) -> tuple[NdSbp, NdSbp]:
    """How a tensor lies before and after it is carried.

    Between disjoint placements of the same form every device sends its part to the one at the same
    place; else devices send the whole.

    Args:
        spec: of the tensor where it is.
        sharding: how it is wanted.
    """
    source: Any = spec.device
    assert spec.sbp is not None
    target = sharding.placement
    if source.hierarchy != target.hierarchy or set(source.flat) & set(target.flat):
        return source.broadcast, target.broadcast
    # What is split stays split. Of the rest only those parts are sent that are wanted.
    sbp = tuple(
        given if isinstance(given, Split) else (wanted if isinstance(wanted, Split) else BROADCAST)
        for given, wanted in zip(spec.sbp, sharding.sbp, strict=True)
    )
    return sbp, sbp


def takes_part(source: TensorSpec, target: TensorSpec) -> bool:
    """Whether this process has to call `carry`, because it has parts before or afterwards."""
    return any(each.device.includes_this_process for each in (source, target))


def carry(array: Any, source: TensorSpec, target: TensorSpec) -> Any:
    """The array on the placement of `target`.

    With several processes all those of both placements have to call this.

    Args:
        array: of the tensor where it is; `Absent` where this process has no part of it.
        source: spec of that tensor, which lies as `sbp_between` says.
        target: spec of the result, which does likewise.
    """
    if not cluster.is_multiprocess():
        if isinstance(array, Absent):
            return array
        # Memory of its own: either array may be donated later.
        return jax.device_put(array, named_sharding(target), may_alias=False)
    old, new = _ranks(source), _ranks(target)
    if not target.device.includes_this_process and not source.device.includes_this_process:
        return Absent()
    if not source.numel:
        shape = shard_shape(target.shape, target.device.hierarchy, target.sbp)
        return assemble(target, lambda coordinate: np.zeros(shape, target.dtype.numpy))
    if new <= old:
        return assemble(target, lambda coordinate: array.addressable_data(0))
    alike = source.device.hierarchy == target.device.hierarchy and not old & new
    send = _part_by_part if alike else _from_first
    description = f"transfer of {source!r} from {source.device} to {target.device}"
    group = (source.device.flat, target.device.flat, alike)
    ranks = tuple(sorted(old | new))
    return launch_collective(ranks, description, lambda: send(array, source, target), group)


def _ranks(spec: TensorSpec) -> set[int]:
    return set(spec.device.flat)


def _part_by_part(array: Any, source: TensorSpec, target: TensorSpec) -> Any:
    """Every device of the source sends its part to the one at the same place of the target."""
    both = Placement(target.device.type, [source.device.ranks, target.device.ranks])
    # As a sum of two placements' tensors this array has one layer for each of them.
    layers = spec_of(source.shape, source.dtype, both, (PARTIAL_SUM, *source.sbp))
    shape = shard_shape(source.shape, source.device.hierarchy, source.sbp)
    sends = source.device.includes_this_process
    own = array.addressable_data(0) if sends else np.zeros(shape, source.dtype.numpy)
    moved = _shifting(layers)(assemble(layers, lambda coordinate: own))
    if not target.device.includes_this_process:
        return Absent()
    return assemble(target, lambda coordinate: moved.addressable_data(0).reshape(shape))


@functools.cache
def _shifting(layers: TensorSpec) -> Any:
    """The compiled program that moves the first layer into the second."""
    where = partition_of(layers)

    def shift(x: jax.Array) -> jax.Array:
        return lax.ppermute(x, mesh_axis(0), [(0, 1)])

    mesh = layers.device.mesh
    return jax.jit(jax.shard_map(shift, mesh=mesh, in_specs=where, out_specs=where))


def _from_first(whole: Any, source: TensorSpec, target: TensorSpec) -> Any:
    """The first rank of the source has the whole, the others add nothing."""
    ranks = list(dict.fromkeys([*source.device.flat, *target.device.flat]))
    union = Placement(target.device.type, ranks)
    layers = spec_of(source.shape, source.dtype, union, (PARTIAL_SUM,))
    is_first = cluster.rank() == ranks[0]
    nothing = np.full(source.shape, neutral(source.dtype.numpy))
    part = whole.addressable_data(0) if is_first else nothing
    summed = _summing(layers)(assemble(layers, lambda coordinate: part))
    if not target.device.includes_this_process:
        return Absent()
    return assemble(target, lambda coordinate: summed.addressable_data(0).reshape(source.shape))


@functools.cache
def _summing(layers: TensorSpec) -> Any:
    """The compiled program that gives every rank the sum of all layers."""
    where = partition_of(layers)

    def add(x: jax.Array) -> jax.Array:
        return all_reduced(x, mesh_axis(0))

    mesh = layers.device.mesh
    return jax.jit(jax.shard_map(add, mesh=mesh, in_specs=where, out_specs=where))
