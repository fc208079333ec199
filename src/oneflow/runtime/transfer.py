"""Transfer of the arrays of global tensors from one placement to another."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import PartitionSpec

from oneflow.base import cluster
from oneflow.base.no_interrupt import run_without_interrupt
from oneflow.base.placement import Placement, Sharding, mesh_axis
from oneflow.base.sbp import BROADCAST, PARTIAL_SUM, NdSbp, Split
from oneflow.base.spec import TensorSpec, spec_of
from oneflow.compiler.sharding import named_sharding, partition_of
from oneflow.control_plane.collective_launch import launch_collective
from oneflow.control_plane.message import Address
from oneflow.control_plane.message_channel import message_channel
from oneflow.primitives.shard_shapes import shard_shape
from oneflow.primitives.sharding.partial_sums import all_reduce, sum_identity
from oneflow.runtime.cold import runs_on_numpy
from oneflow.runtime.collective_program import collective_program
from oneflow.runtime.conversions import receive
from oneflow.runtime.meta_array import MetaArray
from oneflow.runtime.shards import make_global_array, without_programs

# Compiled programs that are kept, one for each shape and pair of placements.
_MAX_PROGRAMS = 512


def transfer_sbp(spec: TensorSpec, sharding: Sharding) -> tuple[NdSbp, NdSbp]:
    """Return the SBP of a tensor before and after its transfer.

    Between disjoint placements of the same shape every device sends its shard to the device with
    the same mesh coordinate; otherwise the whole tensor is sent.

    Args:
        spec: the spec of the tensor on its placement.
        sharding: the requested sharding.
    """
    source: Any = spec.device
    assert spec.sbp is not None
    target = sharding.placement
    if source.hierarchy != target.hierarchy or set(source.flat) & set(target.flat):
        return source.broadcast, target.broadcast
    # A split stays a split. At the other mesh dimensions only the requested shards are sent.
    sbp = tuple(
        before if isinstance(before, Split) else (after if isinstance(after, Split) else BROADCAST)
        for before, after in zip(spec.sbp, sharding.sbp, strict=True)
    )
    return sbp, sbp


def includes_this_process(source: TensorSpec, target: TensorSpec) -> bool:
    """Return whether this process has shards before or after a transfer, and so must call it."""
    return any(spec.device.includes_this_process for spec in (source, target))


def transfer_array(array: Any, source: TensorSpec, target: TensorSpec) -> Any:
    """Transfer an array to the placement of `target`.

    All processes of both placements must call this.

    Args:
        array: the array on its placement; `MetaArray` if this process has no shard of it.
        source: the spec of that tensor, with the SBP that `transfer_sbp` returns.
        target: the spec of the result, likewise.
    """
    if not cluster.is_multiprocess():
        if isinstance(array, MetaArray):
            return array
        # Memory of its own: either array may be donated later. JAX shares a shard that stays on its
        # device, whatever `may_alias` says.
        if _ranks(source) & _ranks(target):
            array = array.copy()
        return jax.device_put(array, named_sharding(target), may_alias=False)
    old, new = _ranks(source), _ranks(target)
    if not target.device.includes_this_process and not source.device.includes_this_process:
        return MetaArray()
    if not source.numel:
        shape = shard_shape(target.shape, target.device.hierarchy, target.sbp)
        return make_global_array(target, lambda coordinate: np.zeros(shape, target.dtype.numpy))
    if new <= old:
        shard = without_programs(array.addressable_data(0))
        # Memory of its own, which `make_global_array` gives to what is NumPy's.
        shard = shard.copy() if isinstance(shard, jax.Array) else shard
        return make_global_array(target, lambda coordinate: shard)
    received = _launch_transfer(array, source, target)
    if not target.device.includes_this_process:
        return MetaArray()
    shape = shard_shape(target.shape, target.device.hierarchy, target.sbp)
    shard = received.reshape(shape)
    return make_global_array(target, lambda coordinate: shard)


def _launch_transfer(array: Any, source: TensorSpec, target: TensorSpec) -> Any:
    """The shard that this process receives, if any; all processes of both placements take part."""
    old, new = _ranks(source), _ranks(target)
    is_by_shard = source.device.hierarchy == target.device.hierarchy and not old & new
    send = _send_shards if is_by_shard else _send_from_first_rank
    description = f"transfer of {source!r} from {source.device} to {target.device}"
    if runs_on_numpy(target.device):
        source_ranks = _source_ranks(source, target, is_by_shard)
        participants = tuple(sorted({*source_ranks, *source_ranks.values()}))
        message_channel().await_space(participants)

        def run() -> tuple[Any, Any]:
            return _send_messages(array, source_ranks, (participants, description)), None

    else:

        def run() -> tuple[Any, Any]:
            received, end = send(array, source, target)
            return without_programs(received.addressable_data(0)), end

    group = (source.device.flat, target.device.flat, is_by_shard)
    ranks = tuple(sorted(old | new))
    return launch_collective(ranks, target.device.type, description, run, group)


def _ranks(spec: TensorSpec) -> set[int]:
    return set(spec.device.flat)


def _source_ranks(source: TensorSpec, target: TensorSpec, is_by_shard: bool) -> dict[int, int]:
    """The rank from which each rank of the target gets its shard; itself if it has it."""
    placements: Any = source.device, target.device
    old, new = (placement.flat for placement in placements)
    if is_by_shard:
        return dict(zip(new, old, strict=True))
    return {rank: rank if rank in old else old[0] for rank in new}


def _send_messages(array: Any, source_ranks: dict[int, int], address: Address) -> Any:
    """Send this process's shard to those who get it, and return the one that this process gets.

    Args:
        array: an array on its placement.
        source_ranks: see `_source_ranks`.
        address: the participants, and a text that other processes take for no other transfer.
    """
    rank, channel = cluster.rank(), message_channel()
    # Who sends nothing may have no array.
    own = np.asarray(array.addressable_data(0)) if rank in source_ranks.values() else None
    for target_rank, source_rank in source_ranks.items():
        if source_rank == rank != target_rank:
            assert own is not None
            channel.send(target_rank, address, own, is_one_way=True)
    source_rank = source_ranks.get(rank)
    if source_rank is None or source_rank == rank:
        return own
    return run_without_interrupt(lambda: receive(source_rank, address))


def _send_shards(array: Any, source: TensorSpec, target: TensorSpec) -> tuple[Any, Any]:
    """Send the shard of every source device to the target device with the same coordinate.

    This and `_send_from_first_rank` return what `launch_collective` wants.
    """
    both = Placement(target.device.type, [source.device.ranks, target.device.ranks])
    # As a sum of the tensors of two placements this array has one layer for each of them.
    layers = spec_of(source.shape, source.dtype, both, (PARTIAL_SUM, *source.sbp))
    shape = shard_shape(source.shape, source.device.hierarchy, source.sbp)
    is_source = source.device.includes_this_process
    shard = array.addressable_data(0) if is_source else np.zeros(shape, source.dtype.numpy)
    return _shift_program(layers)(make_global_array(layers, lambda coordinate: shard))


@functools.lru_cache(maxsize=_MAX_PROGRAMS)
def _shift_program(layers: TensorSpec) -> Any:
    """Return the compiled program that moves the first layer into the second."""

    def shift(x: jax.Array) -> jax.Array:
        return lax.ppermute(x, mesh_axis(0), [(0, 1)])

    return _compile(shift, layers)


def _send_from_first_rank(array: Any, source: TensorSpec, target: TensorSpec) -> tuple[Any, Any]:
    """Send the whole tensor as a sum: the first rank adds it, the others add nothing."""
    ranks = list(dict.fromkeys([*source.device.flat, *target.device.flat]))
    union = Placement(target.device.type, ranks)
    layers = spec_of(source.shape, source.dtype, union, (PARTIAL_SUM,))
    is_first = cluster.rank() == ranks[0]
    zero = np.full(source.shape, sum_identity(source.dtype.numpy))
    part = array.addressable_data(0) if is_first else zero
    return _sum_program(layers)(make_global_array(layers, lambda coordinate: part))


@functools.lru_cache(maxsize=_MAX_PROGRAMS)
def _sum_program(layers: TensorSpec) -> Any:
    """Return the compiled program that sums all layers on every rank."""

    def add(x: jax.Array) -> jax.Array:
        return all_reduce(x, mesh_axis(0))

    return _compile(add, layers)


def _compile(function: Callable[[jax.Array], jax.Array], layers: TensorSpec) -> Any:
    """Return the compiled program of a function of shards; its second result shows its end."""

    def run(x: jax.Array) -> tuple[jax.Array, jax.Array]:
        return function(x), jnp.zeros((), bool)

    partition = partition_of(layers)
    specs = partition, PartitionSpec()
    program = jax.shard_map(run, mesh=layers.device.mesh, in_specs=partition, out_specs=specs)
    return collective_program(program, layers.device.mesh.devices.flat)
