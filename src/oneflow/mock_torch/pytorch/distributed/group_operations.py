"""The collective operations of a `ProcessGroup` as its methods, and the options that they take.

They start at once, and return a handle to wait for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from oneflow import Tensor, distributed
from oneflow.distributed.groups import ProcessGroup
from oneflow.distributed.reduce_op import ReduceOp
from oneflow.mock_torch.pytorch.distributed.coalesced import all_reduce_coalesced


@dataclass
class _Options:
    """The options that all operations take.

    Attributes:
        timeout: the longest wait; negative: that of the group.
        asyncOp: accepted: there is a handle to wait for in any case.
    """

    timeout: timedelta = timedelta(milliseconds=-1)
    asyncOp: bool = True


@dataclass
class _ReducingOptions(_Options):
    """The options of an operation that combines tensors.

    Attributes:
        reduceOp: the reduction.
    """

    reduceOp: ReduceOp = ReduceOp.SUM


@dataclass
class AllreduceOptions(_ReducingOptions):
    """The options of `ProcessGroup.allreduce`."""


@dataclass
class AllreduceCoalescedOptions(_ReducingOptions):
    """The options of `ProcessGroup.allreduce_coalesced`."""


@dataclass
class ReduceScatterOptions(_ReducingOptions):
    """The options of `ProcessGroup.reduce_scatter`."""


@dataclass
class ReduceOptions(_ReducingOptions):
    """The options of `ProcessGroup.reduce`.

    Attributes:
        rootRank: the index in the group of the process that gets the result.
        rootTensor: must be 0: a process has one tensor.
    """

    rootRank: int = 0
    rootTensor: int = 0


@dataclass
class BroadcastOptions(_Options):
    """The options of `ProcessGroup.broadcast`.

    Attributes:
        rootRank: the index in the group of the process that sends.
        rootTensor: must be 0: a process has one tensor.
    """

    rootRank: int = 0
    rootTensor: int = 0


@dataclass
class GatherOptions(_Options):
    """The options of `ProcessGroup.gather`.

    Attributes:
        rootRank: the index in the group of the process that gets the tensors.
    """

    rootRank: int = 0


@dataclass
class ScatterOptions(_Options):
    """The options of `ProcessGroup.scatter`.

    Attributes:
        rootRank: the index in the group of the process that sends.
    """

    rootRank: int = 0


@dataclass
class AllToAllOptions(_Options):
    """The options of `ProcessGroup.alltoall`."""


@dataclass
class BarrierOptions(_Options):
    """The options of `ProcessGroup.barrier`.

    Attributes:
        device_ids: accepted.
        device: accepted.
    """

    device_ids: list[int] = field(default_factory=list)
    device: Any = None


def _one(values: Any, kind: type = Tensor) -> Any:
    """Return the only entry of a list; PyTorch's lists have one for each device of a process.

    Raises:
        RuntimeError: there are more, or none.
    """
    if isinstance(values, Tensor) or (kind is list and isinstance(values[0], Tensor)):
        return values
    if len(values) != 1:
        raise RuntimeError(f"a process has one tensor of each operation, got {len(values)}")
    return values[0]


def _reduction(options: Any) -> ReduceOp:
    return getattr(options, "reduceOp", options)


def _root(options: Any) -> int:
    return int(getattr(options, "rootRank", options))


def allreduce(
    self: ProcessGroup, tensors: Any, opts: AllreduceOptions | ReduceOp = ReduceOp.SUM
) -> Any:
    """Sum the tensor of all processes, or combine it as `opts` says."""
    return distributed.all_reduce(_one(tensors), _reduction(opts), self, True)


def allreduce_coalesced(
    self: ProcessGroup,
    tensors: Sequence[Tensor],
    opts: AllreduceCoalescedOptions | ReduceOp = ReduceOp.SUM,
) -> Any:
    """Sum several tensors of all processes at once."""
    return all_reduce_coalesced(tensors, _reduction(opts), self, True)


def broadcast(self: ProcessGroup, tensors: Any, opts: BroadcastOptions | int = 0) -> Any:
    """Send the tensor of one process to all, by its index in the group."""
    return distributed.broadcast(_one(tensors), None, self, True, group_src=_root(opts))


def reduce(
    self: ProcessGroup,
    tensors: Any,
    opts: ReduceOptions | int = 0,
    op: ReduceOp = ReduceOp.SUM,
) -> Any:
    """Sum the tensor of all processes in one, by its index in the group."""
    reduction = opts.reduceOp if isinstance(opts, ReduceOptions) else op
    return distributed.reduce(_one(tensors), None, reduction, self, True, group_dst=_root(opts))


def allgather(self: ProcessGroup, output_tensors: Any, input_tensors: Any, opts: Any = None) -> Any:
    """Gather the tensor of each process on all of them."""
    return distributed.all_gather(_one(output_tensors, list), _one(input_tensors), self, True)


def gather(
    self: ProcessGroup, output_tensors: Any, input_tensors: Any, opts: GatherOptions | int = 0
) -> Any:
    """Gather the tensor of each process on one, by its index in the group."""
    outputs = _one(output_tensors, list) if output_tensors else None
    return distributed.gather(_one(input_tensors), outputs, None, self, True, group_dst=_root(opts))


def scatter(
    self: ProcessGroup, output_tensors: Any, input_tensors: Any, opts: ScatterOptions | int = 0
) -> Any:
    """Send each process its tensor from one, by its index in the group."""
    inputs = _one(input_tensors, list) if input_tensors else None
    output = _one(output_tensors)
    return distributed.scatter(output, inputs, None, self, True, group_src=_root(opts))


def reduce_scatter(
    self: ProcessGroup,
    output_tensors: Any,
    input_tensors: Any,
    opts: ReduceScatterOptions | ReduceOp = ReduceOp.SUM,
) -> Any:
    """Sum a tensor for each process, which gets its own."""
    inputs = _one(input_tensors, list)
    return distributed.reduce_scatter(_one(output_tensors), inputs, _reduction(opts), self, True)


def alltoall(
    self: ProcessGroup,
    output_tensors: Sequence[Tensor],
    input_tensors: Sequence[Tensor],
    opts: AllToAllOptions | None = None,
) -> Any:
    """Send a tensor from each process to each."""
    return distributed.all_to_all(list(output_tensors), list(input_tensors), self, True)


def barrier(self: ProcessGroup, opts: BarrierOptions | timedelta | None = None) -> Any:
    """Wait for all processes of the group."""
    return distributed.barrier(self, True)


for _operation in (
    allreduce,
    allreduce_coalesced,
    broadcast,
    reduce,
    allgather,
    gather,
    scatter,
    reduce_scatter,
    alltoall,
    barrier,
):
    setattr(ProcessGroup, _operation.__name__, _operation)
