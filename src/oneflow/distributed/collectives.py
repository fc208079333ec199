"""Collective operations on local tensors: `oneflow.comm` and `oneflow.distributed`.

All processes of a group must call each function, with tensors of the same shapes and dtypes.
Results are written in place and nothing is recorded for the backward pass. With ``async_op=True``
a function returns a handle to wait for; reading a result waits as well.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from oneflow.base import cluster
from oneflow.base.keyword_aliases import keyword_aliases
from oneflow.base.spec import TensorSpec
from oneflow.differentiation.grad_mode import no_grad
from oneflow.distributed import collective_functions as functions
from oneflow.distributed.buckets import make_buckets, run_on_buckets, values_of
from oneflow.distributed.device_group import run_on_values, start_on_values
from oneflow.distributed.groups import (
    ProcessGroup,
    group_index,
    group_ranks,
    is_outside,
    rank_in_job,
    rank_or_first,
)
from oneflow.distributed.pending_results import write_when_over
from oneflow.distributed.reduce_op import ReduceOp
from oneflow.distributed.work import Work, work_of
from oneflow.program.value import Value
from oneflow.tensor.tensor import Tensor
from oneflow.tensor.transfer import value_from_numpy
from oneflow.tensor.views import unwrap, write

_SUM = ReduceOp.SUM


def all_reduce(
    tensor: Tensor,
    op: ReduceOp = _SUM,
    group: ProcessGroup | None = None,
    async_op: bool = False,
) -> Work | None:
    """Sum the tensors of all processes; each gets the sum in `tensor`.

    Args:
        tensor: is written.
        op: another reduction than the sum.
        group: the processes that call this, by default all.
        async_op: return a handle to wait for.

    Raises:
        RuntimeError: there is no such reduction of the tensor's dtype.

    Example:
        >>> import oneflow as flow
        >>> x = flow.tensor([1.0, 2.0])
        >>> flow.comm.all_reduce(x)  # doubles it with two processes that have the same
        >>> (x / flow.env.get_world_size()).tolist()
        [1.0, 2.0]
    """
    if is_outside(group):
        return None
    return _run_into(
        [tensor], functions.all_reduce, [tensor], group, async_op, **_reduction(op, tensor)
    )


def reduce(
    tensor: Tensor,
    dst: int | None = None,
    op: ReduceOp = _SUM,
    group: ProcessGroup | None = None,
    async_op: bool = False,
    group_dst: int | None = None,
) -> Work | None:
    """Sum the tensors of all processes; process `dst` gets the sum in `tensor`.

    Args:
        tensor: is written by process `dst`.
        dst: its rank in the job.
        op: another reduction than the sum.
        group: the processes that call this, by default all.
        async_op: return a handle to wait for.
        group_dst: its index in the group, in place of `dst`.

    Example:
        >>> import oneflow as flow
        >>> flow.comm.reduce(flow.ones(2), dst=0)
    """
    if is_outside(group):
        return None
    dst = rank_in_job("dst", dst, group_dst, group)
    targets = [tensor] if cluster.rank() == dst else []
    return _run_into(
        targets, functions.all_reduce, [tensor], group, async_op, **_reduction(op, tensor)
    )


def all_gather(
    tensor_list: Sequence[Tensor],
    tensor: Tensor,
    group: ProcessGroup | None = None,
    async_op: bool = False,
) -> Work | None:
    """Gather the tensors of all processes on every process.

    Args:
        tensor_list: one tensor per process, which are written.
        tensor: the tensor of this process.
        group: the processes that call this, by default all.
        async_op: return a handle to wait for.

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
    if is_outside(group):
        return None
    _check_list("tensor_list", tensor_list, group, tensor)
    return _run_into(tensor_list, functions.all_gather, [tensor], group, async_op)


def all_gather_into_tensor(
    output_tensor: Tensor,
    input_tensor: Tensor,
    group: ProcessGroup | None = None,
    async_op: bool = False,
) -> Work | None:
    """Gather the tensors of all processes on every process, concatenated along dimension 0.

    Args:
        output_tensor: is written; it has the elements of all parts in a shape of its own, such as
            that with the parts stacked along a new first dimension.
        input_tensor: the part of this process.
        group: the processes that call this, by default all.
        async_op: return a handle to wait for.

    Example:
        >>> import oneflow as flow
        >>> whole = flow.zeros(2 * flow.env.get_world_size())
        >>> flow.comm.all_gather_into_tensor(whole, flow.ones(2))
        >>> whole[:2].tolist()
        [1.0, 1.0]
    """
    if is_outside(group):
        return None
    _check_parts(output_tensor, input_tensor, "output_tensor", "input_tensor", group)
    shape = tuple(output_tensor.shape)
    return _run_into(
        [output_tensor],
        functions.all_gather_into_tensor,
        [input_tensor],
        group,
        async_op,
        shape=shape,
    )


def reduce_scatter(
    output: Tensor,
    input_list: Sequence[Tensor],
    op: ReduceOp = _SUM,
    group: ProcessGroup | None = None,
    async_op: bool = False,
) -> Work | None:
    """Sum tensor `i` of the lists of all processes for process `i`.

    Args:
        output: is written.
        input_list: one tensor per process.
        op: another reduction than the sum.
        group: the processes that call this, by default all.
        async_op: return a handle to wait for.

    Example:
        >>> import oneflow as flow
        >>> own = flow.zeros(2)
        >>> flow.comm.reduce_scatter(own, [flow.ones(2)] * flow.env.get_world_size())
        >>> (own / flow.env.get_world_size()).tolist()
        [1.0, 1.0]
    """
    if is_outside(group):
        return None
    _check_list("input_list", input_list, group, output)
    return _run_into(
        [output], functions.reduce_scatter, input_list, group, async_op, **_reduction(op, output)
    )


@keyword_aliases(output="output_tensor", input="input_tensor")
def reduce_scatter_tensor(
    output_tensor: Tensor,
    input_tensor: Tensor,
    op: ReduceOp = _SUM,
    group: ProcessGroup | None = None,
    async_op: bool = False,
) -> Work | None:
    """Sum the tensors of all processes; each gets its part of the sum along dimension 0.

    Args:
        output_tensor: is written.
        input_tensor: has the elements of all parts, in any shape.
        op: another reduction than the sum.
        group: the processes that call this, by default all.
        async_op: return a handle to wait for.

    Example:
        >>> import oneflow as flow
        >>> own = flow.zeros(2)
        >>> flow.comm.reduce_scatter_tensor(own, flow.ones(2 * flow.env.get_world_size()))
        >>> (own / flow.env.get_world_size()).tolist()
        [1.0, 1.0]
    """
    if is_outside(group):
        return None
    _check_parts(input_tensor, output_tensor, "input_tensor", "output_tensor", group)
    attributes = {"shape": tuple(output_tensor.shape), **_reduction(op, output_tensor)}
    return _run_into(
        [output_tensor],
        functions.reduce_scatter_tensor,
        [input_tensor],
        group,
        async_op,
        **attributes,
    )


def all_to_all(
    output_tensor_list: Sequence[Tensor],
    input_tensor_list: Sequence[Tensor],
    group: ProcessGroup | None = None,
    async_op: bool = False,
) -> Work | None:
    """Send tensor `i` to process `i`; output `j` receives the tensor that process `j` sends.

    Args:
        output_tensor_list: one tensor per process, which are written.
        input_tensor_list: one tensor per process; all have the same shape.
        group: the processes that call this, by default all.
        async_op: return a handle to wait for.

    Example:
        >>> import oneflow as flow
        >>> size = flow.env.get_world_size()
        >>> received = [flow.zeros(2) for _ in range(size)]
        >>> flow.comm.all_to_all(received, [flow.ones(2) for _ in range(size)])
        >>> received[0].tolist()
        [1.0, 1.0]
    """
    if is_outside(group):
        return None
    _check_list("input_tensor_list", input_tensor_list, group)
    _check_list("output_tensor_list", output_tensor_list, group, input_tensor_list[0])
    return _run_into(output_tensor_list, functions.all_to_all, input_tensor_list, group, async_op)


def broadcast(
    tensor: Tensor,
    src: int | None = None,
    group: ProcessGroup | None = None,
    async_op: bool = False,
    group_src: int | None = None,
) -> Work | None:
    """Copy the tensor of process `src` to all processes, into `tensor`.

    Args:
        tensor: is written by the others.
        src: the rank in the job of the process that has the numbers.
        group: the processes that call this, by default all.
        async_op: return a handle to wait for.
        group_src: its index in the group, in place of `src`.

    Example:
        >>> import oneflow as flow
        >>> x = flow.ones(2)
        >>> flow.comm.broadcast(x, src=0)
        >>> x.tolist()
        [1.0, 1.0]
    """
    if is_outside(group):
        return None
    src = rank_in_job("src", src, group_src, group)
    source = group_index("src", src, group_ranks(group))
    return _run_into([tensor], functions.broadcast, [tensor], group, async_op, source=source)


def broadcast_tensors(tensors: Sequence[Tensor], src: int, ranks: tuple[int, ...]) -> None:
    """Copy the tensors of process `src` to all processes of `ranks`, in one program."""
    source = group_index("src", src, ranks)
    for tensor in tensors:
        check_tensor(tensor)
    buckets = make_buckets(tensors)
    for tensor, value in run_on_buckets(
        functions.broadcast, buckets, values_of, ranks, source=source
    ):
        _write(tensor, value)


def scatter(
    tensor: Tensor,
    scatter_list: Sequence[Tensor] | None = None,
    src: int | None = None,
    group: ProcessGroup | None = None,
    async_op: bool = False,
    group_src: int | None = None,
) -> Work | None:
    """Send tensor `i` of the list of process `src` to process `i`, into `tensor`.

    Args:
        tensor: is written.
        scatter_list: one tensor per process; only process `src` passes it.
        src: the rank in the job of the process whose list is sent, by default 0.
        group: the processes that call this, by default all.
        async_op: return a handle to wait for.
        group_src: its index in the group, in place of `src`.

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
    if is_outside(group):
        return None
    ranks = group_ranks(group)
    src = rank_or_first("src", src, group_src, group)
    source = group_index("src", src, ranks)
    parts: Sequence[Tensor] = [tensor] * len(ranks)
    if cluster.rank() == src:
        if scatter_list is None:
            raise ValueError(f"`scatter_list` must be given on process {src}, which is `src`")
        _check_list("scatter_list", scatter_list, group, tensor)
        parts = scatter_list
    return _run_into([tensor], functions.scatter, parts, group, async_op, source=source)


def gather(
    tensor: Tensor,
    gather_list: Sequence[Tensor] | None = None,
    dst: int | None = None,
    group: ProcessGroup | None = None,
    async_op: bool = False,
    group_dst: int | None = None,
) -> Work | None:
    """Gather the tensors of all processes on process `dst`.

    Args:
        tensor: the tensor of this process.
        gather_list: one tensor per process, which are written; only process `dst` passes it.
        dst: the rank in the job of the process that gets them, by default 0.
        group: the processes that call this, by default all.
        async_op: return a handle to wait for.
        group_dst: its index in the group, in place of `dst`.

    Raises:
        ValueError: process `dst` passes no list.

    Example:
        >>> import oneflow as flow
        >>> parts = [flow.zeros(2) for _ in range(flow.env.get_world_size())]
        >>> flow.comm.gather(flow.ones(2), parts if flow.env.get_rank() == 0 else None, dst=0)
    """
    if is_outside(group):
        return None
    dst = rank_or_first("dst", dst, group_dst, group)
    targets: Sequence[Tensor] = []
    if cluster.rank() == dst:
        if gather_list is None:
            raise ValueError(f"`gather_list` must be given on process {dst}, which is `dst`")
        _check_list("gather_list", gather_list, group, tensor)
        targets = gather_list
    return _run_into(targets, functions.all_gather, [tensor], group, async_op)


def barrier(
    group: ProcessGroup | None = None, async_op: bool = False, device_ids: Any = None
) -> Work | None:
    """Wait until all processes have called this.

    Args:
        group: the processes that call this, by default all.
        async_op: return a handle to wait for.
        device_ids: accepted for PyTorch's sake.

    Example:
        >>> import oneflow as flow
        >>> flow.comm.barrier()
    """
    if is_outside(group):
        return None
    token = value_from_numpy(np.zeros(1, np.int32))
    ranks = group_ranks(group)
    if async_op:
        return work_of(*start_on_values(functions.barrier, [token], ranks))
    work_of(run_on_values(functions.barrier, [token], ranks)).wait()
    return None


def _run_into(
    targets: Sequence[Tensor],
    function: Callable[..., Any],
    tensors: Sequence[Tensor],
    group: ProcessGroup | None,
    async_op: bool,
    **attributes: Any,
) -> Work | None:
    """Run a collective operation of a group on tensors of this process.

    Args:
        targets: tensors into which the results are written; none if they are for other processes.
        function: one of `collective_functions`.
        tensors: its operands.
        group: the processes.
        async_op: return a handle.
        attributes: further arguments of `function`.
    """
    for tensor in tensors:
        check_tensor(tensor)
    values, ranks = values_of(tensors), group_ranks(group)
    if async_op:
        results, exchange = start_on_values(function, values, ranks, **attributes)
        if exchange is not None:
            return work_of(write_when_over(targets, exchange, ranks), exchange, targets)
    else:
        results = run_on_values(function, values, ranks, **attributes)
    for target, result in zip(targets, results, strict=bool(targets)):
        _write(target, result)
    return work_of(results, None, targets) if async_op else None


def _reduction(op: Any, tensor: Tensor) -> dict[str, ReduceOp]:
    """Return the attributes that ask for a reduction: none for a sum."""
    check_tensor(tensor)
    if not isinstance(op, ReduceOp):
        raise TypeError(f"`op` must be a member of `ReduceOp`, got {op!r}")
    op.check(tensor.dtype)
    return {} if op is ReduceOp.SUM else {"op": op}


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


def _check_list(
    name: str, tensors: Sequence[Tensor], group: ProcessGroup | None, like: Tensor | None = None
) -> None:
    count = len(group_ranks(group))
    if len(tensors) != count:
        raise ValueError(
            f"`{name}` must hold one tensor per process, {count} in all, got {len(tensors)}"
        )
    for tensor in (*tensors, *([] if like is None else [like])):
        check_tensor(tensor)
    expected: TensorSpec = unwrap(tensors[0]).spec if like is None else unwrap(like).spec
    for tensor in tensors:
        if unwrap(tensor).spec is not expected:
            raise TypeError(
                f"all tensors of `{name}` must be {expected!r}, got {unwrap(tensor).spec!r}"
            )


def _check_parts(
    full: Tensor, part: Tensor, full_name: str, part_name: str, group: ProcessGroup | None
) -> None:
    check_tensor(full)
    check_tensor(part)
    count = len(group_ranks(group))
    if full.numel() != count * part.numel() or full.dtype is not part.dtype:
        raise ValueError(
            f"`{full_name}` must have {part.dtype.name} and {count} times the elements of "
            f"`{part_name}`, which is {unwrap(part).spec!r}; got {unwrap(full).spec!r}"
        )
