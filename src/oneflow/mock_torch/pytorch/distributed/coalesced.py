"""Operations of ``torch.distributed`` on several tensors at once, which are sent as one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from oneflow import Tensor, distributed, empty
from oneflow.autograd import no_grad
from oneflow.distributed.groups import ProcessGroup, is_outside
from oneflow.functional.shape.dense import flatten_dense_tensors, unflatten_dense_tensors


def _flatten(tensors: Sequence[Tensor]) -> Tensor:
    """Return the elements of tensors in a row.

    Raises:
        TypeError: there are none, or they have several dtypes or devices.
    """
    kinds = {(tensor.dtype, tensor.device) for tensor in tensors}
    if len(kinds) != 1:
        raise TypeError(
            "expected tensors of one dtype and device, got "
            f"{' and '.join(sorted(tensor.type() for tensor in tensors)) or 'none'}"
        )
    return flatten_dense_tensors(tensors)


def put_elements(flat: Tensor, tensors: Sequence[Tensor]) -> None:
    """Copy elements in a row into tensors, one after the other."""
    for tensor, values in zip(tensors, unflatten_dense_tensors(flat, tensors), strict=True):
        tensor.copy_(values)


@no_grad()
def all_reduce_coalesced(
    tensors: Tensor | Sequence[Tensor],
    op: Any = distributed.ReduceOp.SUM,
    group: ProcessGroup | None = None,
    async_op: bool = False,
) -> Any:
    """Replace tensors by their sums over the processes.

    Args:
        tensors: tensors of one dtype, on one device; they are written.
        op: another reduction than the sum.
        group: the processes, by default all.
        async_op: return a handle to wait for.

    Raises:
        TypeError: the tensors differ in dtype or device.

    Example:
        >>> import oneflow as flow
        >>> from oneflow.mock_torch.pytorch.distributed import coalesced
        >>> x, y = flow.ones(2), flow.ones(1)
        >>> coalesced.all_reduce_coalesced([x, y], op=flow.distributed.ReduceOp.MAX)
        >>> y
        tensor([1.], dtype=oneflow.float32)
    """
    tensors = [tensors] if isinstance(tensors, Tensor) else tensors
    if is_outside(group):
        return None
    flat = _flatten(tensors)
    work = distributed.all_reduce(flat, op, group, async_op)
    put_elements(flat, tensors)
    return work


@no_grad()
def all_gather_coalesced(
    output_tensor_lists: Sequence[Sequence[Tensor]],
    input_tensor_list: Sequence[Tensor],
    group: ProcessGroup | None = None,
    async_op: bool = False,
) -> Any:
    """Gather several tensors of each process on every process.

    Args:
        output_tensor_lists: for each process as many tensors as it sends; they are written.
        input_tensor_list: tensors of one dtype, on one device.
        group: the processes, by default all.
        async_op: return a handle to wait for.

    Raises:
        TypeError: the tensors differ in dtype or device.
        ValueError: there are not as many lists as processes.

    Example:
        >>> import oneflow as flow
        >>> from oneflow.mock_torch.pytorch.distributed import coalesced
        >>> lists = [[flow.zeros(2)] for _ in range(flow.distributed.get_world_size())]
        >>> coalesced.all_gather_coalesced(lists, [flow.ones(2)])
        >>> lists[0][0]
        tensor([1., 1.], dtype=oneflow.float32)
    """
    if is_outside(group):
        return None
    flat = _flatten(input_tensor_list)
    if len(output_tensor_lists) != distributed.get_world_size(group):
        raise ValueError(
            f"`output_tensor_lists` has {len(output_tensor_lists)} lists, and there are "
            f"{distributed.get_world_size(group)} processes"
        )
    gathered = [
        empty(sum(tensor.numel() for tensor in tensors), dtype=flat.dtype, device=flat.device)
        for tensors in output_tensor_lists
    ]
    work = distributed.all_gather(gathered, flat, group, async_op)
    for parts, tensors in zip(gathered, output_tensor_lists, strict=True):
        put_elements(parts, tensors)
    return work


__all__ = ["all_gather_coalesced", "all_reduce_coalesced", "put_elements"]
