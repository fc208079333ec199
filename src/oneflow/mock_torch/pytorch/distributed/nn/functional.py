"""Collective operations that gradients flow through; all processes take part in both passes.

The gradient of what a process sends is the sum of the gradients where it has arrived.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import oneflow as flow
from oneflow import Tensor, distributed
from oneflow.autograd import Function
from oneflow.distributed import ReduceOp
from oneflow.distributed.groups import ProcessGroup


class _AllReduce(Function):
    """The reduction of all tensors, on every process."""

    @staticmethod
    def forward(ctx: Any, tensor: Tensor, op: ReduceOp, group: Any) -> Tensor:
        ctx.options = op, group
        result = tensor.clone()
        distributed.all_reduce(result, op, group)
        return result

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        return _AllReduce.apply(grads[0], *ctx.options), None, None


class _Broadcast(Function):
    """The tensor of one process, on every process."""

    @staticmethod
    def forward(ctx: Any, tensor: Tensor, src: int, group: Any) -> Tensor:
        ctx.options = src, group
        result = tensor.clone()
        distributed.broadcast(result, src, group)
        return result

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        src, group = ctx.options
        grad = _Reduce.apply(grads[0], src, ReduceOp.SUM, group)
        return (grad if distributed.get_rank() == src else flow.zeros_like(grad)), None, None


class _Reduce(Function):
    """The reduction of all tensors on one process; the others keep theirs."""

    @staticmethod
    def forward(ctx: Any, tensor: Tensor, dst: int, op: ReduceOp, group: Any) -> Tensor:
        ctx.options = dst, group
        result = tensor.clone()
        distributed.reduce(result, dst, op, group)
        return result

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        return _Broadcast.apply(grads[0], *ctx.options), None, None, None


class _AllToAll(Function):
    """A tensor for each process from each process."""

    @staticmethod
    def forward(ctx: Any, group: Any, shapes: Sequence[Any], *tensors: Tensor) -> Any:
        ctx.group, ctx.shapes = group, [tensor.shape for tensor in tensors]
        results = [tensors[0].new_empty(shape) for shape in shapes]
        distributed.all_to_all(results, [tensor.contiguous() for tensor in tensors], group)
        return tuple(results)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        return None, None, *_AllToAll.apply(ctx.group, ctx.shapes, *grads)


class _ReduceScatter(Function):
    """The reduction of the tensors that all processes have for one, on that one."""

    @staticmethod
    def forward(ctx: Any, op: ReduceOp, group: Any, *tensors: Tensor) -> Tensor:
        ctx.group = group
        result = tensors[0].new_empty(tensors[distributed.get_rank(group)].shape)
        distributed.reduce_scatter(result, list(tensors), op, group)
        return result

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        return None, None, *_AllGather.apply(grads[0], ctx.group)


class _AllGather(Function):
    """The tensors of all processes, on every process."""

    @staticmethod
    def forward(ctx: Any, tensor: Tensor, group: Any) -> Any:
        ctx.group = group
        results = [flow.empty_like(tensor) for _ in range(distributed.get_world_size(group))]
        distributed.all_gather(results, tensor.contiguous(), group)
        return tuple(results)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        return _ReduceScatter.apply(ReduceOp.SUM, ctx.group, *grads), None


class _Gather(Function):
    """The tensors of all processes on one process, zeros on others."""

    @staticmethod
    def forward(ctx: Any, tensor: Tensor, dst: int, group: Any) -> Any:
        ctx.options = dst, group
        count = distributed.get_world_size(group)
        results = [flow.zeros_like(tensor) for _ in range(count)]
        is_destination = distributed.get_rank() == dst
        distributed.gather(tensor.contiguous(), results if is_destination else None, dst, group)
        return tuple(results)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        return _Scatter.apply(*ctx.options, *grads), None, None


class _Scatter(Function):
    """One of the tensors of one process on each process."""

    @staticmethod
    def forward(ctx: Any, src: int, group: Any, *tensors: Tensor) -> Tensor:
        ctx.options = src, group
        result = flow.empty_like(tensors[0])
        is_source = distributed.get_rank() == src
        distributed.scatter(result, list(tensors) if is_source else None, src, group)
        return result

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        return None, None, *_Gather.apply(grads[0], *ctx.options)


def all_reduce(
    tensor: Tensor, op: ReduceOp = ReduceOp.SUM, group: ProcessGroup | None = None
) -> Tensor:
    """Return the sum of the tensors of all processes, or another reduction.

    Example:
        >>> from oneflow import mock_torch
        >>> with mock_torch.enable():
        ...     import torch
        ...     import torch.distributed.nn.functional as collectives
        >>> x = torch.ones(2, requires_grad=True)
        >>> collectives.all_reduce(x).sum().backward()
        >>> x.grad.tolist()
        [1.0, 1.0]
    """
    return _AllReduce.apply(tensor, op, group)


def broadcast(tensor: Tensor, src: int, group: ProcessGroup | None = None) -> Tensor:
    """Return the tensor of process `src`; the others give one of the same shape."""
    return _Broadcast.apply(tensor, src, group)


def reduce(
    tensor: Tensor, dst: int, op: ReduceOp = ReduceOp.SUM, group: ProcessGroup | None = None
) -> Tensor:
    """Return the sum of the tensors of all processes on process `dst`, its own on others."""
    return _Reduce.apply(tensor, dst, op, group)


def all_gather(tensor: Tensor, group: ProcessGroup | None = None) -> tuple[Tensor, ...]:
    """Return the tensors of all processes, which have one shape."""
    return _AllGather.apply(tensor, group)


def gather(tensor: Tensor, dst: int = 0, group: ProcessGroup | None = None) -> tuple[Tensor, ...]:
    """Return the tensors of all processes on process `dst`, zeros on others."""
    return _Gather.apply(tensor, dst, group)


def scatter(tensors: Sequence[Tensor], src: int = 0, group: ProcessGroup | None = None) -> Tensor:
    """Return the one of the tensors of process `src` that is this process's."""
    return _Scatter.apply(src, group, *tensors)


def reduce_scatter(
    output: Tensor,
    input_list: Sequence[Tensor],
    op: ReduceOp = ReduceOp.SUM,
    group: ProcessGroup | None = None,
) -> Tensor:
    """Return the sum of the tensors that all processes have for this one.

    Args:
        output: gives the shape.
        input_list: a tensor for each process.
        op: another reduction than the sum.
        group: the processes, by default all.
    """
    return _ReduceScatter.apply(op, group, *input_list)


def all_to_all(
    output_tensor_list: Sequence[Tensor],
    input_tensor_list: Sequence[Tensor],
    group: ProcessGroup | None = None,
) -> tuple[Tensor, ...]:
    """Return the tensors that all processes have for this one.

    Args:
        output_tensor_list: give the shapes.
        input_tensor_list: a tensor for each process.
        group: the processes, by default all.
    """
    shapes = [target.shape for target in output_tensor_list]
    return _AllToAll.apply(group, shapes, *input_tensor_list)


def all_to_all_single(
    output: Tensor,
    input: Tensor,
    output_split_sizes: Sequence[int] | None = None,
    input_split_sizes: Sequence[int] | None = None,
    group: ProcessGroup | None = None,
) -> Tensor:
    """Return the rows that all processes have for this one, one after the other.

    Args:
        output: gives the shape.
        input: the rows, those for process 0 first.
        output_split_sizes: how many come from each process, by default equally many.
        input_split_sizes: how many go to each process, by default equally many.
        group: the processes, by default all.
    """
    count = distributed.get_world_size(group)
    parts = input.split(list(input_split_sizes or [len(input) // count] * count))
    received = output_split_sizes or [len(output) // count] * count
    shapes = [(rows, *output.shape[1:]) for rows in received]
    return flow.cat(_AllToAll.apply(group, shapes, *parts))


__all__ = [
    "all_gather",
    "all_reduce",
    "all_to_all",
    "all_to_all_single",
    "broadcast",
    "gather",
    "reduce",
    "reduce_scatter",
    "scatter",
]
