"""Collective operations of XLA on arrays and values that each process has of its own.

Each process gives its arrays and gets its results; in between they are one global array over the
devices of the group, on which one compiled program runs in all processes at once.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from oneflow.base import cluster
from oneflow.base.device import Device
from oneflow.base.dtype import from_numpy_dtype
from oneflow.base.spec import spec_of
from oneflow.control_plane.collective_launch import launch_collective
from oneflow.primitives.sharding.partial_sums import all_reduced, reduce_scattered
from oneflow.program.value import Value
from oneflow.runtime.eager import read_array
from oneflow.tuning.switches import Setting, is_on

_AXIS = "ranks"


@dataclass(frozen=True)
class Group:
    """Processes that exchange arrays, one device of each.

    Attributes:
        ranks: their numbers in ascending order.
        type: the type of their devices.
        devices: those devices.
        sharding: how their arrays lie: each process has its own contents in full.
    """

    ranks: tuple[int, ...]
    type: str
    devices: tuple[Any, ...]
    sharding: NamedSharding

    @property
    def local_device(self) -> Any:
        """The device of this process."""
        return self.devices[self.ranks.index(cluster.rank())]

    def operand(self, array: Any) -> Any:
        """This process's array as its part of what a program of the group takes."""
        return jax.make_array_from_single_device_arrays(
            array.shape, self.sharding, [jax.device_put(array, self.local_device)]
        )


@functools.cache
def group_of(ranks: tuple[int, ...], type: str) -> Group:
    """The group of these ranks.

    Raises:
        RuntimeError: a rank does not exist or has no such device.
    """
    devices = (
        tuple(cluster.device_of_rank(type, rank) for rank in ranks)
        if cluster.is_multiprocess()
        else (cluster.device_of_rank(type, 0),)
    )
    mesh = Mesh(np.array(devices), (_AXIS,))
    return Group(ranks, type, devices, NamedSharding(mesh, PartitionSpec()))


def everyone(type: str) -> Group:
    """The group of all processes.

    Raises:
        RuntimeError: this process was started by a rank, and is none.
    """
    if cluster.world_size() > 1 and not cluster.is_multiprocess():
        raise RuntimeError(
            "this process was started by one of the processes that train together (as a worker of "
            "a loader is) and takes no part in what they exchange"
        )
    return group_of(tuple(range(cluster.world_size())), type)


def exchange(
    kind: Callable[..., Any], group: Group, arrays: Sequence[Any], **attributes: Any
) -> list[Any]:
    """Run a collective operation.

    Args:
        kind: one of the functions below; all processes of the group must give the same.
        group: who takes part.
        arrays: this process's operands, of the same shapes everywhere.
        attributes: further arguments of `kind`.

    Returns:
        This process's results.

    Raises:
        RuntimeError: the processes do not call the same operation with the same shapes, and none of
            them has done so before.
    """
    operands = [group.operand(array) for array in arrays]
    program = _program(kind, group, tuple(sorted(attributes.items())))
    description = describe(kind, arrays, attributes)

    def run() -> Any:
        if len(group.ranks) > 1 and (group.ranks, group.type, description) not in _agreed:
            _agree(group, description)
        return program(*operands)

    results = launch_collective(group.ranks, description, run, group.type)
    return [result.addressable_data(0) for result in results]


def exchange_values(
    kind: Callable[..., Any], values: Sequence[Value], **attributes: Any
) -> list[Value]:
    """Run a collective operation of all processes on values; there must be at least one."""
    device = values[0].spec.device
    arrays = [read_array(value) for value in values]
    results = exchange(kind, everyone(device.type), arrays, **attributes)
    return [value_of(result, device) for result in results]


def value_of(array: Any, device: Device) -> Value:
    """A value that holds a result."""
    return Value(spec_of(tuple(array.shape), from_numpy_dtype(array.dtype), device), array)


_agreed: set[tuple[tuple[int, ...], str, str]] = set()
_LONGEST_DESCRIPTION = 400


def _agree(group: Group, description: str) -> None:
    """Compare what the processes of a group are about to do for the first time.

    Gloo ends a process at once where messages are longer than it expects, and takes shorter ones
    for the whole; here nobody has sent anything yet.
    """
    own = description.encode()[:_LONGEST_DESCRIPTION].ljust(_LONGEST_DESCRIPTION)
    told = [
        bytes(np.asarray(each.addressable_data(0))).decode(errors="replace").rstrip()
        for each in _program(all_gather, group, ())(group.operand(np.frombuffer(own, np.uint8)))
    ]
    if len(set(told)) > 1:
        lines = [f"\n  rank {rank}: {text}" for rank, text in zip(group.ranks, told, strict=True)]
        raise RuntimeError(
            f"different programs: the processes call different operations{''.join(lines)}"
        )
    _agreed.add((group.ranks, group.type, description))


def describe(kind: Callable[..., Any], arrays: Sequence[Any], attributes: dict[str, Any]) -> str:
    """A collective operation in words that are the same on all ranks."""
    shown = [f"{array.dtype}{list(array.shape)}" for array in arrays[:4]]
    if len(arrays) > len(shown):
        elements = sum(array.size for array in arrays)
        shown.append(f"... {len(arrays)} arrays with {elements} elements")
    shown += [f"{name}={value}" for name, value in sorted(attributes.items())]
    return f"{kind.__name__}({', '.join(shown)})"


@functools.cache
def _program(kind: Callable[..., Any], group: Group, attributes: tuple) -> Callable[..., Any]:
    def run(*arrays: Any) -> Any:
        return kind(*arrays, **dict(attributes))

    run.__name__ = kind.__name__
    # What is said to be the same everywhere differs; nothing in the program relies on it.
    return jax.jit(
        jax.shard_map(
            run,
            mesh=group.sharding.mesh,
            in_specs=PartitionSpec(),
            out_specs=PartitionSpec(),
            check_vma=False,
        )
    )


# --- what can be exchanged: functions of this process's arrays, which give tuples


def all_reduce(*arrays: Any, op: str) -> tuple[Any, ...]:
    """The arrays of all processes combined: `op` is sum, max, min or product."""
    return tuple(_reductions[op](array) for array in arrays)


def _extreme(reduce: Callable[..., Any]) -> Callable[[Any], Any]:
    def run(array: Any) -> Any:
        if array.dtype == jnp.bool_:
            return reduce(array.astype(jnp.int32), _AXIS) > 0
        return reduce(array, _AXIS)

    return run


_reductions: dict[str, Callable[[Any], Any]] = {
    "sum": lambda array: all_reduced(array, _AXIS),
    "max": _extreme(lax.pmax),
    "min": _extreme(lax.pmin),
    "product": lambda array: jnp.prod(lax.all_gather(array, _AXIS), axis=0, dtype=array.dtype),
}


def average(*arrays: Any) -> tuple[Any, ...]:
    """The means over all processes, of arrays that are known to have equal shapes everywhere.

    Two processes on CPUs send each other theirs. Gloo's all-reduce sends as much but in two rounds,
    one waiting for the other: for half a megabyte it took four times as long. It also aborts a
    process at once when shapes differ a little, before the coordinator can say so; this does not.
    """
    is_pair = lax.axis_size(_AXIS) == 2 and jax.default_backend() == "cpu"
    if not is_pair or not is_on(Setting.PAIRWISE_MEAN):
        return tuple(lax.pmean(array, _AXIS) for array in arrays)
    swap = [(0, 1), (1, 0)]
    # The order of two operands does not matter, so both processes get the same bits.
    return tuple((array + lax.ppermute(array, _AXIS, swap)) / 2 for array in arrays)


def all_gather(array: Any) -> tuple[Any, ...]:
    """The array of each process."""
    stacked = lax.all_gather(array, _AXIS)
    return tuple(stacked[index] for index in range(stacked.shape[0]))


def all_gather_joined(array: Any) -> tuple[Any]:
    """The arrays of all processes, one after the other along dimension 0."""
    return (lax.all_gather(array, _AXIS, tiled=array.ndim > 0),)


def reduce_scatter(*parts: Any, op: str) -> tuple[Any]:
    """Part `i` of all processes combined, for process `i`."""
    if op != "sum":
        return (_reductions[op](jnp.stack(parts))[lax.axis_index(_AXIS)],)
    return (reduce_scattered(jnp.stack(parts), _AXIS, 0)[0],)


def reduce_scatter_joined(array: Any, op: str, shape: tuple[int, ...]) -> tuple[Any]:
    """The arrays of all processes combined; process `i` gets part `i` along dimension 0."""
    return reduce_scatter(*array.reshape(-1, *shape), op=op)


def all_to_all(*parts: Any) -> tuple[Any, ...]:
    """Part `i` goes to process `i`."""
    swapped = lax.all_to_all(jnp.stack(parts), _AXIS, 0, 0)
    return tuple(swapped[index] for index in range(len(parts)))


def broadcast(*arrays: Any, source: int) -> tuple[Any, ...]:
    """The arrays of one process, everywhere."""
    chosen = lax.axis_index(_AXIS) == source
    return tuple(
        _from_bits(lax.psum(jnp.where(chosen, bits, jnp.zeros_like(bits)), _AXIS), array.dtype)
        for array, bits in ((array, _as_bits(array)) for array in arrays)
    )


def scatter(*parts: Any, source: int) -> tuple[Any]:
    """Part `i` of one process for process `i`."""
    bits = jnp.stack([_as_bits(part) for part in parts])
    chosen = lax.axis_index(_AXIS) == source
    own = lax.psum_scatter(jnp.where(chosen, bits, jnp.zeros_like(bits)), _AXIS)
    return (_from_bits(own, parts[0].dtype),)


def barrier(array: Any) -> tuple[Any]:
    """Something that depends on all processes."""
    return (lax.psum(array, _AXIS),)


def transfer(array: Any, source: int, destination: int) -> tuple[Any]:
    """The array of one process of two, for the other."""
    return (lax.ppermute(array, _AXIS, [(source, destination)]),)


def _as_bits(array: Any) -> Any:
    """The array as whole numbers, whose sum with zeros changes nothing, not even a sign of zero."""
    if array.dtype == jnp.bool_:
        return array.astype(jnp.uint8)
    if jnp.issubdtype(array.dtype, jnp.complexfloating):
        return _as_bits(jnp.stack([array.real, array.imag]))
    if jnp.issubdtype(array.dtype, jnp.integer):
        return array
    return lax.bitcast_convert_type(array, _whole_number_type(array.dtype))


def _from_bits(bits: Any, dtype: Any) -> Any:
    if dtype == jnp.bool_:
        return bits.astype(jnp.bool_)
    if jnp.issubdtype(dtype, jnp.complexfloating):
        part = jnp.float32 if dtype == jnp.complex64 else jnp.float64
        real, imaginary = _from_bits(bits, part)
        return lax.complex(real, imaginary)
    if jnp.issubdtype(dtype, jnp.integer):
        return bits
    return lax.bitcast_convert_type(bits, dtype)


def _whole_number_type(dtype: Any) -> Any:
    return {1: jnp.uint8, 2: jnp.uint16, 4: jnp.uint32, 8: jnp.uint64}[dtype.itemsize]
