"""Collective operations whose parts have different sizes."""

from __future__ import annotations

from collections.abc import Sequence

from oneflow.base.placement import Placement
from oneflow.differentiation.grad_mode import no_grad
from oneflow.distributed import collective_functions as functions
from oneflow.distributed.collectives import check_tensor
from oneflow.distributed.device_group import run_on_values
from oneflow.distributed.groups import ProcessGroup, group_ranks, is_outside
from oneflow.distributed.work import Work, work_of
from oneflow.functional.nn.padding import pad
from oneflow.functional.shape.concat import cat
from oneflow.tensor.call import wrap
from oneflow.tensor.global_values import all_gather_ints
from oneflow.tensor.tensor import Tensor
from oneflow.tensor.views import unwrap, write


def all_to_all_single(
    output: Tensor,
    input: Tensor,
    output_split_sizes: Sequence[int] | None = None,
    input_split_sizes: Sequence[int] | None = None,
    group: ProcessGroup | None = None,
    async_op: bool = False,
) -> Work | None:
    """Send part `i` of a tensor to process `i`; the parts that arrive are joined in `output`.

    Args:
        output: is written.
        input: is split along dimension 0.
        output_split_sizes: how much comes from each process; by default equal parts.
        input_split_sizes: how much goes to each process; by default equal parts.
        group: the processes that call this, by default all.
        async_op: return a handle to wait for.

    Raises:
        ValueError: sizes that do not add up, or are not one for each process.
        TypeError: the tensors differ in dtype or in their other sizes.

    Example:
        >>> import oneflow as flow
        >>> x = flow.arange(2 * flow.distributed.get_world_size())
        >>> output_sizes = flow.zeros_like(x)
        >>> flow.distributed.all_to_all_single(output_sizes, x)
        >>> output_sizes[:2].tolist()
        [0, 1]
    """
    if is_outside(group):
        return None
    check_tensor(output)
    check_tensor(input)
    if output.dtype is not input.dtype or output.shape[1:] != input.shape[1:]:
        raise TypeError(
            f"`output` ({unwrap(output).spec!r}) and `input` ({unwrap(input).spec!r}) may differ "
            "in their first size only"
        )
    ranks = group_ranks(group)
    output_sizes = _split_sizes("output_split_sizes", output, output_split_sizes, len(ranks))
    input_sizes = _split_sizes("input_split_sizes", input, input_split_sizes, len(ranks))
    # Programs of all processes have the same shapes, so all parts are as long as the longest.
    longest = max(*output_sizes, *input_sizes)
    length = int(all_gather_ints([longest], Placement("cpu", ranks)).max())
    with no_grad():
        parts = [_padded(part, length) for part in input.split(input_sizes)]
        operands = [unwrap(part) for part in parts]
        values = run_on_values(functions.all_to_all, operands, ranks)
        chunks = [wrap(value)[:size] for value, size in zip(values, output_sizes, strict=True)]
        write(output, unwrap(cat(chunks)))
    return work_of(values, tensors=[output]) if async_op else None


def _split_sizes(name: str, tensor: Tensor, sizes: Sequence[int] | None, count: int) -> list[int]:
    size = tensor.shape[0]
    if not sizes:
        if size % count:
            raise ValueError(f"`{name}` must be given: {size} rows are not {count} equal parts")
        return [size // count] * count
    if len(sizes) != count or sum(sizes) != size or min(sizes) < 0:
        raise ValueError(f"`{name}`={list(sizes)} must be {count} sizes that add up to {size}")
    return list(sizes)


def _padded(part: Tensor, length: int) -> Tensor:
    return pad(part, [0, 0] * (part.ndim - 1) + [0, length - part.shape[0]])
