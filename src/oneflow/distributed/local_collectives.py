"""Collective operations that return their result, as upstream's builtins."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from oneflow.distributed.collectives import (
    all_gather_into_tensor,
    all_reduce,
    broadcast,
    reduce,
    reduce_scatter_tensor,
)
from oneflow.tensor.tensor import Tensor

TensorOrTensors = TypeVar("TensorOrTensors", Tensor, Sequence[Tensor])


def local_all_reduce(x: Tensor, inplace: bool = False) -> Tensor:
    """The sum of the tensors of all processes.

    Args:
        x: the tensor of this process.
        inplace: write the sum to `x`.

    Example:
        >>> import oneflow as flow
        >>> flow._C.local_all_reduce(flow.ones(2)).tolist() == [flow.env.get_world_size()] * 2
        True
    """
    result = x if inplace else x.detach().clone()
    all_reduce(result)
    return result


def local_reduce(x: Tensor, *, dst: int = 0, inplace: bool = True) -> Tensor:
    """The sum of the tensors of all processes on process `dst`, and `x` on others.

    Args:
        x: the tensor of this process.
        dst: the rank that gets the sum.
        inplace: write the sum to `x`.

    Example:
        >>> import oneflow as flow
        >>> flow._C.local_reduce(flow.ones(2)).shape
        oneflow.Size([2])
    """
    result = x if inplace else x.detach().clone()
    reduce(result, dst)
    return result


def local_all_gather(output: Tensor, input: Tensor) -> Tensor:
    """The tensors of all processes, one after the other in `output`, which is written to.

    Example:
        >>> import oneflow as flow
        >>> output = flow.zeros(2 * flow.env.get_world_size())
        >>> flow._C.local_all_gather(output, flow.ones(2)).sum().item() == len(output)
        True
    """
    all_gather_into_tensor(output, input)
    return output


def local_reduce_scatter(output: Tensor, input: Tensor) -> Tensor:
    """This process's part of the sum of all processes' tensors, in `output`, which is written to.

    Example:
        >>> import oneflow as flow
        >>> size = flow.env.get_world_size()
        >>> flow._C.local_reduce_scatter(flow.zeros(2), flow.ones(2 * size)).tolist() == [size] * 2
        True
    """
    reduce_scatter_tensor(output, input)
    return output


def comm_broadcast(
    x: TensorOrTensors, *, src_rank: int = 0, inplace: bool = True
) -> TensorOrTensors:
    """The tensor, or the tensors, of process `src_rank`.

    Args:
        x: a tensor, or several.
        src_rank: the rank that has them.
        inplace: write to those of the other processes.

    Example:
        >>> import oneflow as flow
        >>> flow._C.comm_broadcast(flow.ones(2)).tolist()
        [1.0, 1.0]
    """
    if not isinstance(x, Tensor):
        return [comm_broadcast(tensor, src_rank=src_rank, inplace=inplace) for tensor in x]
    result = x if inplace else x.detach().clone()
    broadcast(result, src_rank)
    return result
