"""Groups of devices, one of each process, and the launch of collective operations on arrays.

Each process passes its arrays and gets its results. On accelerators they are one global array in
between, over the devices of the group, on which one compiled program runs in all processes at once.
On CPUs messages carry them.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from oneflow.base import cluster
from oneflow.base.device import Device
from oneflow.base.dtype import from_numpy_dtype
from oneflow.base.no_interrupt import run_without_interrupt
from oneflow.base.spec import TensorSpec, spec_of
from oneflow.base.x64 import in_x64
from oneflow.control_plane.background_exchanges import BackgroundExchange
from oneflow.control_plane.collective_launch import (
    launch_collective,
    launch_exchange,
    run_exchange,
)
from oneflow.control_plane.message_channel import message_channel
from oneflow.distributed.compiled_transport import RANKS_AXIS, CompiledTransport
from oneflow.distributed.message_transport import MessageTransport
from oneflow.program.value import Value
from oneflow.runtime.cold import is_exclusive, runs_on_numpy
from oneflow.runtime.collective_program import collective_program
from oneflow.runtime.eager import is_capturing, read_array
from oneflow.runtime.lazy_array import DeferredArray
from oneflow.runtime.memory import is_only_view, wrap_on


@dataclass(frozen=True)
class DeviceGroup:
    """The devices of processes that communicate, one of each.

    Attributes:
        ranks: their ranks in ascending order.
        type: the type of their devices.
        devices: the devices.
        sharding: the sharding of their arrays: each process has its own contents in full.
    """

    ranks: tuple[int, ...]
    type: str
    devices: tuple[Any, ...]
    sharding: NamedSharding

    @property
    def local_device(self) -> Any:
        """Return the device of this process."""
        return self.devices[self.ranks.index(cluster.rank())]

    @functools.cached_property
    def one_element(self) -> Any:
        """An operand: XLA compiles no program of a group all of whose operands have no elements."""
        return self.operand(np.ones((), bool))

    @in_x64
    def operand(self, array: Any) -> Any:
        """Return this process's array as its shard of an operand of the group's programs."""
        return jax.make_array_from_single_device_arrays(
            array.shape, self.sharding, [jax.device_put(array, self.local_device)]
        )


@functools.cache
def device_group(ranks: tuple[int, ...], type: str) -> DeviceGroup:
    """Return the group of these ranks.

    Raises:
        RuntimeError: a rank does not exist or has no such device.
    """
    devices = (
        tuple(cluster.device_of_rank(type, rank) for rank in ranks)
        if cluster.is_multiprocess()
        else (cluster.device_of_rank(type, 0),)
    )
    mesh = Mesh(np.array(devices), (RANKS_AXIS,))
    return DeviceGroup(ranks, type, devices, NamedSharding(mesh, PartitionSpec()))


def group_of_ranks(type: str, ranks: tuple[int, ...] | None = None) -> DeviceGroup:
    """Return the group of ranks, by default of all.

    Raises:
        RuntimeError: this process was started by a rank, and is none.
    """
    if cluster.world_size() > 1 and not cluster.is_multiprocess():
        raise RuntimeError(
            f"collective operations run in the ranks of a job; this process was started by rank "
            f"{cluster.rank()} (as a worker of a data loader is) and is not a rank"
        )
    return device_group(tuple(range(cluster.world_size())) if ranks is None else ranks, type)


def run_collective(
    function: Callable[..., Any], group: DeviceGroup, arrays: Sequence[Any], **attributes: Any
) -> list[Any]:
    """Run a collective operation; all processes of the group must call this.

    Args:
        function: one of `collective_functions`, the same on all processes.
        group: the participating processes.
        arrays: the operands of this process, of the same shapes on all.
        attributes: further arguments of `function`.

    Returns:
        The results of this process.
    """
    description = describe(function, arrays, attributes)
    if not runs_on_numpy(Device(group.type)):
        run = _compiled(function, group, arrays, attributes)
        # Programs of all groups of the same processes run in one order.
        return launch_collective(tuple(group.ranks), group.type, description, run)
    if len(group.ranks) > 1:
        message_channel().await_space(group.ranks)
    exchange = _by_messages(function, group, arrays, attributes, description)
    return run_exchange(group.ranks, group.type, description, exchange)


def _by_messages(
    function: Callable[..., Any],
    group: DeviceGroup,
    arrays: Sequence[Any],
    attributes: dict[str, Any],
    description: str,
) -> Callable[[], list[Any]]:
    """A function that runs a collective operation on the host, and returns its results."""
    started = [x if isinstance(x, ExchangedArray) else np.asarray(x) for x in arrays]

    def exchange() -> list[np.ndarray]:
        operands = list(map(on_host, started))
        transport = MessageTransport(group.ranks, description)
        # Another thread than the one whose errors are ignored.
        with np.errstate(all="ignore"):
            return list(map(np.asarray, function(transport, *operands, **attributes)))

    def run() -> list[Any]:
        # Half an exchange would be taken for the beginning of the next one.
        results = run_without_interrupt(exchange)
        own = [_exclusive(x) for x in results]
        return [wrap_on(array, group.local_device) for array in own]

    return run


def _exclusive(array: np.ndarray) -> np.ndarray:
    is_alone = is_exclusive(array) or is_only_view(array)
    return array if is_alone else np.array(array, order="C")


def _compiled(
    function: Callable[..., Any],
    group: DeviceGroup,
    arrays: Sequence[Any],
    attributes: dict[str, Any],
) -> Callable[[], tuple[list[Any], jax.Array]]:
    """A function that runs a collective operation as a program; see `launch_collective`."""
    operands = [group.operand(array) for array in arrays]
    program = _compile(function, group, tuple(sorted(attributes.items())))

    def run() -> tuple[list[Any], jax.Array]:
        *results, end = program(group.one_element, *operands)
        return [result.addressable_data(0) for result in results], end

    return run


def run_on_values(
    function: Callable[..., Any],
    values: Sequence[Value],
    ranks: tuple[int, ...] | None = None,
    **attributes: Any,
) -> list[Value]:
    """Run a collective operation of some ranks, by default all, on one or more values.

    See `run_collective`.

    Raises:
        RuntimeError: a graph is being recorded, which has no values yet.
    """
    device, arrays = _operands(function, values)
    group = group_of_ranks(device.type, ranks)
    results = run_collective(function, group, arrays, **attributes)
    return [value_of(result, device) for result in results]


def start_on_values(
    function: Callable[..., Any], values: Sequence[Value], ranks: tuple[int, ...], **attributes: Any
) -> tuple[list[Value], BackgroundExchange | None]:
    """Start what `run_on_values` runs.

    Args:
        function: the same as there.
        values: the same as there. Those that an exchange will bring are waited for in the
            background.
        ranks: the same as there.
        attributes: the same as there.

    Returns:
        The exchange that brings the results; in place of it, if a program of the devices computes
        them, the results, for which reading waits, and None.
    """
    device = values[0].spec.device
    if len(ranks) == 1 or not runs_on_numpy(device) or is_capturing():
        return run_on_values(function, values, ranks, **attributes), None
    arrays = list(map(operand_of, values))
    group = group_of_ranks(device.type, ranks)
    description = describe(function, arrays, attributes)
    run = _by_messages(function, group, arrays, attributes, description)

    def await_space_and_run() -> list[Any]:
        message_channel().await_space(group.ranks)
        return run()

    return [], launch_exchange(group.ranks, group.type, description, await_space_and_run)


def _operands(
    function: Callable[..., Any], values: Sequence[Value]
) -> tuple[Device, Sequence[Any]]:
    """The device of values, and their arrays."""
    if is_capturing():
        raise RuntimeError(
            f"`{function.__name__}` of local tensors cannot be part of a graph (nor can "
            "`SyncBatchNorm` and `DistributedDataParallel`, which exchange local tensors): make "
            "them global with `to_global(placement, sbp)`; then the graph communicates by itself"
        )
    return values[0].spec.device, [read_array(value) for value in values]


class ExchangedArray(DeferredArray):
    """The placeholder, in a value, of the array that an exchange brings.

    Args:
        spec: the spec of the value.
        exchange: returns the arrays of this process.
        index: which of them it is.
        before: what a tensor held before, which it gets back, after the error, from one that fails.
    """

    __slots__ = ("_before", "_index", "exchange")

    def __init__(
        self, spec: TensorSpec, exchange: BackgroundExchange, index: int, before: Value
    ) -> None:
        super().__init__(spec)
        self.exchange, self._index, self._before = exchange, index, before

    @property
    def shape(self) -> tuple[int, ...]:
        """Sizes of the dimensions."""
        return self._spec.shape

    @property
    def dtype(self) -> np.dtype:
        """Element type."""
        return self._spec.dtype.numpy

    @property
    def size(self) -> int:
        """The number of elements."""
        return self._spec.numel

    def put(self) -> Any:
        """Give the values their array, once the exchange is over, and return it.

        Raises:
            Exception: what the exchange has raised; then they have what was there before.
        """
        try:
            return super().put()
        except BaseException:
            if self.exchange.has_failed:
                with contextlib.suppress(Exception):
                    self._before.read()  # may be what another one should have brought
                self.give(self._before.read())
            raise

    def array(self) -> Any:
        """The array, once the exchange is over."""
        return self.exchange.result()[self._index]


def operand_of(value: Value) -> Any:
    """The array of a value, or its placeholder if an exchange that is not over brings it."""
    recorder = value.recorder
    is_pending = isinstance(recorder, ExchangedArray) and not recorder.exchange.is_over
    return recorder if is_pending else read_array(value)


def on_host(operand: Any) -> np.ndarray:
    """The numbers of an operand; waits for the exchange that brings it."""
    return np.asarray(operand.array() if isinstance(operand, ExchangedArray) else operand)


def value_of(array: Any, device: Device) -> Value:
    """Return a value that holds a result."""
    return Value(spec_of(tuple(array.shape), from_numpy_dtype(array.dtype), device), array)


def describe(
    function: Callable[..., Any], arrays: Sequence[Any], attributes: dict[str, Any]
) -> str:
    """Return a collective operation as text that is the same on all ranks."""
    arguments = [f"{array.dtype}{list(array.shape)}" for array in arrays[:4]]
    if len(arrays) > len(arguments):
        elements = sum(array.size for array in arrays)
        arguments.append(f"... {len(arrays)} arrays with {elements} elements")
    arguments += [f"{name}={value}" for name, value in sorted(attributes.items())]
    return f"{function.__name__}({', '.join(arguments)})"


@functools.cache
def _compile(
    function: Callable[..., Any], group: DeviceGroup, attributes: tuple
) -> Callable[..., Any]:
    """Return the compiled program of a function; its last result signals its end."""

    def run(not_at_end: Any, *arrays: Any) -> Any:
        transport = CompiledTransport(group.type)
        return *function(transport, *arrays, **dict(attributes)), ~not_at_end

    run.__name__ = function.__name__
    # Values declared as replicated differ between ranks; nothing in the program relies on it.
    mesh = group.sharding.mesh
    program = jax.shard_map(
        run, mesh=mesh, in_specs=PartitionSpec(), out_specs=PartitionSpec(), check_vma=False
    )
    return collective_program(program, group.devices)
