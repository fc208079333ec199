"""Collective operations on local tensors: `oneflow.comm`.

All processes must call each function, with tensors of the same shapes and dtypes. Results are
written in place and nothing is recorded for the backward pass.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from oneflow.base import cluster
from oneflow.base.spec import TensorSpec
from oneflow.differentiation.grad_mode import no_grad
from oneflow.distributed import spmd_collectives as spmd
from oneflow.distributed.buckets import make_buckets, run_on_buckets, values_of
from oneflow.distributed.process_group import run_collective, run_on_values, world_group
from oneflow.program.value import Value
from oneflow.tensor.tensor import Tensor
from oneflow.tensor.transfer import value_from_numpy
from oneflow.tensor.views import unwrap, write


def all_reduce(tensor: Tensor) -> None:
    """Sum the tensors of all processes; each gets the sum in `tensor`.

    Example:
        >>> import oneflow as flow
        >>> x = flow.tensor([1.0, 2.0])
        >>> flow.comm.all_reduce(x)  # doubles it with two processes that have the same
        >>> (x / flow.env.get_world_size()).tolist()
        [1.0, 2.0]
    """
    (result,) = _run(spmd.all_reduce, [tensor])
    _write(tensor, result)


def reduce(tensor: Tensor, dst: int) -> None:
    """Sum the tensors of all processes; process `dst` gets the sum in `tensor`.

    Example:
        >>> import oneflow as flow
        >>> flow.comm.reduce(flow.ones(2), dst=0)
    """
    _check_rank("dst", dst)
    (result,) = _run(spmd.all_reduce, [tensor])
    if cluster.rank() == dst:
        _write(tensor, result)


def all_gather(tensor_list: Sequence[Tensor], tensor: Tensor) -> None:
    """Gather the tensors of all processes on every process.

    Args:
        tensor_list: one tensor per process, which are written.
        tensor: the tensor of this process.

    Raises:
        ValueError: the number of tensors is not that of the processes.
        TypeError: the tensors differ in shape or dtype.

    Example:
        >>> import oneflow as flow
        >>> parts = [flow.zeros(2) for _ in range(flow.env.get_world_size())]
        >>> flow.comm.all_gather(parts, flow.ones(2))
        >>> parts[0].tolist()
        [1.0, 1.0]
    """
    _check_list("tensor_list", tensor_list, tensor)
    for target, result in zip(tensor_list, _run(spmd.all_gather, [tensor]), strict=True):
        _write(target, result)


def all_gather_into_tensor(output_tensor: Tensor, input_tensor: Tensor) -> None:
    """Gather the tensors of all processes on every process, concatenated along dimension 0.

    Args:
        output_tensor: is written; its first size is that of `input_tensor` times the number of
            processes.
        input_tensor: the part of this process.

    Example:
        >>> import oneflow as flow
        >>> whole = flow.zeros(2 * flow.env.get_world_size())
        >>> flow.comm.all_gather_into_tensor(whole, flow.ones(2))
        >>> whole[:2].tolist()
        [1.0, 1.0]
    """
    _check_parts(output_tensor, input_tensor, "output_tensor", "input_tensor")
    (result,) = _run(spmd.all_gather_into_tensor, [input_tensor])
    _write(output_tensor, result)


def reduce_scatter(output: Tensor, input_list: Sequence[Tensor]) -> None:
    """Sum tensor `i` of the lists of all processes for process `i`.

    Args:
        output: is written.
        input_list: one tensor per process.

    Example:
        >>> import oneflow as flow
        >>> own = flow.zeros(2)
        >>> flow.comm.reduce_scatter(own, [flow.ones(2)] * flow.env.get_world_size())
        >>> (own / flow.env.get_world_size()).tolist()
        [1.0, 1.0]
    """
    _check_list("input_list", input_list, output)
    (result,) = _run(spmd.reduce_scatter, input_list)
    _write(output, result)


def reduce_scatter_tensor(output_tensor: Tensor, input_tensor: Tensor) -> None:
    """Sum the tensors of all processes; each gets its part of the sum along dimension 0.

    Args:
        output_tensor: is written.
        input_tensor: its first size is that of `output_tensor` times the number of processes.

    Example:
        >>> import oneflow as flow
        >>> own = flow.zeros(2)
        >>> flow.comm.reduce_scatter_tensor(own, flow.ones(2 * flow.env.get_world_size()))
        >>> (own / flow.env.get_world_size()).tolist()
        [1.0, 1.0]
    """
    _check_parts(input_tensor, output_tensor, "input_tensor", "output_tensor")
    shape = tuple(output_tensor.shape)
    (result,) = _run(spmd.reduce_scatter_tensor, [input_tensor], shape=shape)
    _write(output_tensor, result)


def all_to_all(output_tensor_list: Sequence[Tensor], input_tensor_list: Sequence[Tensor]) -> None:
    """Send tensor `i` to process `i`; output `j` receives the tensor that process `j` sends.

    Args:
        output_tensor_list: one tensor per process, which are written.
        input_tensor_list: one tensor per process; all have the same shape.

    Example:
        >>> import oneflow as flow
        >>> size = flow.env.get_world_size()
        >>> received = [flow.zeros(2) for _ in range(size)]
        >>> flow.comm.all_to_all(received, [flow.ones(2) for _ in range(size)])
        >>> received[0].tolist()
        [1.0, 1.0]
    """
    _check_list("input_tensor_list", input_tensor_list)
    _check_list("output_tensor_list", output_tensor_list, input_tensor_list[0])
    results = _run(spmd.all_to_all, input_tensor_list)
    for target, result in zip(output_tensor_list, results, strict=True):
        _write(target, result)


def broadcast(tensor: Tensor, src: int) -> None:
    """Copy the tensor of process `src` to all processes, into `tensor`.

    Example:
        >>> import oneflow as flow
        >>> x = flow.ones(2)
        >>> flow.comm.broadcast(x, src=0)
        >>> x.tolist()
        [1.0, 1.0]
    """
    broadcast_tensors([tensor], src)


def broadcast_tensors(tensors: Sequence[Tensor], src: int) -> None:
    """Copy the tensors of process `src` to all processes, in one program."""
    _check_rank("src", src)
    for tensor in tensors:
        check_tensor(tensor)
    buckets = make_buckets(tensors)
    for tensor, value in run_on_buckets(spmd.broadcast, buckets, values_of, source=src):
        _write(tensor, value)


def scatter(tensor: Tensor, scatter_list: Sequence[Tensor] | None = None, src: int = 0) -> None:
    """Send tensor `i` of the list of process `src` to process `i`, into `tensor`.

    Args:
        tensor: is written.
        scatter_list: one tensor per process; only process `src` passes it.
        src: the process whose list is sent.

    Raises:
        ValueError: process `src` passes no list.

    Example:
        >>> import oneflow as flow
        >>> own = flow.zeros(2)
        >>> parts = [flow.ones(2) for _ in range(flow.env.get_world_size())]
        >>> flow.comm.scatter(own, parts if flow.env.get_rank() == 0 else None, src=0)
        >>> own.tolist()
        [1.0, 1.0]
    """
    _check_rank("src", src)
    parts: Sequence[Any]
    if cluster.rank() == src:
        if scatter_list is None:
            raise ValueError(f"`scatter_list` must be given on process {src}, which is `src`")
        _check_list("scatter_list", scatter_list, tensor)
        parts = scatter_list
    else:
        parts = [tensor] * cluster.world_size()
    (result,) = _run(spmd.scatter, parts, source=src)
    _write(tensor, result)


def gather(tensor: Tensor, gather_list: Sequence[Tensor] | None = None, dst: int = 0) -> None:
    """Gather the tensors of all processes on process `dst`.

    Args:
        tensor: the tensor of this process.
        gather_list: one tensor per process, which are written; only process `dst` passes it.
        dst: the process that gets them.

    Raises:
        ValueError: process `dst` passes no list.

    Example:
        >>> import oneflow as flow
        >>> parts = [flow.zeros(2) for _ in range(flow.env.get_world_size())]
        >>> flow.comm.gather(flow.ones(2), parts if flow.env.get_rank() == 0 else None, dst=0)
    """
    _check_rank("dst", dst)
    if cluster.rank() == dst:
        if gather_list is None:
            raise ValueError(f"`gather_list` must be given on process {dst}, which is `dst`")
        _check_list("gather_list", gather_list, tensor)
    results = _run(spmd.all_gather, [tensor])
    if cluster.rank() == dst and gather_list is not None:
        for target, result in zip(gather_list, results, strict=True):
            _write(target, result)


def barrier() -> None:
    """Wait until all processes have called this.

    Example:
        >>> import oneflow as flow
        >>> flow.comm.barrier()
    """
    token = value_from_numpy(np.zeros(1, np.int32))
    run_collective(spmd.barrier, world_group("cpu"), [token.array])[0].block_until_ready()


# --- between tensors and arrays


def _run(function: Callable[..., Any], tensors: Sequence[Tensor], **attributes: Any) -> list[Value]:
    """Run a collective operation of all ranks on tensors of this process."""
    for tensor in tensors:
        check_tensor(tensor)
    return run_on_values(function, values_of(tensors), **attributes)


def _write(tensor: Tensor, value: Value) -> None:
    with no_grad():
        write(tensor, value)


def check_tensor(tensor: Any) -> None:
    """Check that an argument is a tensor.

    Raises:
        TypeError: it is something else.
    """
    if not isinstance(tensor, Tensor):
        raise TypeError(f"expected a tensor, got {type(tensor).__name__}")


def _check_rank(name: str, rank: int) -> None:
    if not 0 <= rank < cluster.world_size():
        raise ValueError(
            f"`{name}`={rank} is not a rank: the job has ranks 0 to {cluster.world_size() - 1}"
        )


def _check_list(name: str, tensors: Sequence[Tensor], like: Tensor | None = None) -> None:
    if len(tensors) != cluster.world_size():
        raise ValueError(
            f"`{name}` must hold one tensor per process, {cluster.world_size()} in all, got "
            f"{len(tensors)}"
        )
    for tensor in (*tensors, *([] if like is None else [like])):
        check_tensor(tensor)
    expected: TensorSpec = unwrap(tensors[0]).spec if like is None else unwrap(like).spec
    for tensor in tensors:
        if unwrap(tensor).spec is not expected:
            raise TypeError(
                f"all tensors of `{name}` must be {expected!r}, got {unwrap(tensor).spec!r}"
            )


def _check_parts(full: Tensor, part: Tensor, full_name: str, part_name: str) -> None:
    check_tensor(full)
    check_tensor(part)
    shape = tuple(part.shape)
    wanted = (shape[0] * cluster.world_size(), *shape[1:]) if shape else (cluster.world_size(),)
    if tuple(full.shape) != wanted or full.dtype is not part.dtype:
        raise ValueError(
            f"`{full_name}` must be {part.dtype.name}{list(wanted)}, {cluster.world_size()} times "
            f"`{part_name}` along dimension 0, got {unwrap(full).spec!r}"
        )
