"""Reductions of runs of neighbouring elements."""

from __future__ import annotations

import math
from typing import Any

from oneflow.base.shape import wrap_dim
from oneflow.functional.creation.factory_functions import arange
from oneflow.functional.elementwise.clamp import where
from oneflow.functional.index.scatter import scatter_reduce
from oneflow.functional.index.search import searchsorted
from oneflow.functional.reduce.cumulative import cumsum
from oneflow.functional.reduce.finite_differences import diff
from oneflow.functional.registry import function
from oneflow.tensor.operands import require_tensor
from oneflow.tensor.tensor import Tensor

# The reduction of `scatter_reduce`, and the result of no element.
_REDUCTIONS = {
    "sum": ("sum", 0.0),
    "mean": ("sum", 0.0),
    "prod": ("prod", 1.0),
    "max": ("amax", -math.inf),
    "amax": ("amax", -math.inf),
    "min": ("amin", math.inf),
    "amin": ("amin", math.inf),
}


@function(method=False)
def segment_reduce(
    data: Tensor,
    reduce: str,
    *,
    lengths: Tensor | None = None,
    indices: Tensor | None = None,
    offsets: Tensor | None = None,
    axis: int = 0,
    unsafe: bool = False,
    initial: float | None = None,
) -> Tensor:
    """Reduce runs of neighbouring elements along a dimension, such as the words of sentences.

    Args:
        data: floats.
        reduce: ``"sum"``, ``"mean"``, ``"prod"``, ``"max"`` or ``"min"``.
        lengths: integers, the lengths of the runs along `axis`; for each index of the dimensions
            before it if it is not the first.
        indices: not supported.
        offsets: in place of `lengths`: where each run begins, and the size of the dimension.
        axis: the last dimension of `lengths`.
        unsafe: do not check the lengths, which waits for them.
        initial: takes part in every run; by default a run without elements gives 0, NaN (mean), 1
            or an infinity.

    Returns:
        A tensor like `data` with as many elements along `axis` as there are runs.

    Raises:
        RuntimeError: lengths that are negative, or are not those of all elements; or no such
            reduction.
        NotImplementedError: `data` is not of floats.

    Example:
        >>> import oneflow as flow
        >>> flow.segment_reduce(flow.tensor([1.0, 2.0, 5.0]), "max", lengths=flow.tensor([2, 1]))
        tensor([2., 5.], dtype=oneflow.float32)
    """
    require_tensor(data, "segment_reduce")
    if reduce not in _REDUCTIONS:
        names = ", ".join(_REDUCTIONS)
        raise RuntimeError(f"segment_reduce(): `reduce` must be one of {names}, got {reduce!r}")
    if not data.is_floating_point():
        raise NotImplementedError(f"segment_reduce() is not implemented for {data.dtype!r}")
    if indices is not None:
        raise RuntimeError("segment_reduce(): indices based reduction is not supported")
    counts = _run_lengths(lengths, offsets)
    axis = wrap_dim(axis, data.ndim)
    if counts.ndim != axis + 1:
        raise RuntimeError(
            "segment_reduce(): Expected axis to be the last dimension of lengths but got "
            f"{axis}, and lengths of {counts.ndim} dimension(s)"
        )
    if not unsafe and not counts.is_lazy:
        _check_lengths(counts, data.shape[axis])
    return _reduced(data, reduce, counts, axis, initial)


def _run_lengths(lengths: Tensor | None, offsets: Tensor | None) -> Tensor:
    if lengths is not None:
        return lengths
    if offsets is None:
        raise RuntimeError("segment_reduce(): Either lengths or offsets must be defined.")
    return diff(offsets)


def _check_lengths(lengths: Tensor, size: int) -> None:
    array: Any = lengths.numpy()
    if (array < 0).any():
        raise RuntimeError(f"segment_reduce(): lengths contains negative value: {array.min()}")
    if (array.sum(-1) != size).any():
        raise RuntimeError(
            "segment_reduce(): Expected all rows of lengths along axis to sum to the size of "
            f"`data` there, {size}, got {array.sum(-1).tolist()}; or use unsafe=True"
        )


def _reduced(data: Tensor, reduce: str, counts: Tensor, axis: int, initial: float | None) -> Tensor:
    before, after = data.shape[:axis], data.shape[axis + 1 :]
    places = arange(data.shape[axis], device=data.device).expand(*before, -1)
    runs = searchsorted(cumsum(counts, -1), places, right=True)
    ones = (1,) * len(after)
    index = runs.reshape((*runs.shape, *ones)).expand(data.shape)
    operation, identity = _REDUCTIONS[reduce]
    start = data.new_full(
        (*before, counts.shape[-1], *after), identity if initial is None else initial
    )
    result = scatter_reduce(start, axis, index, data, operation)
    if reduce != "mean":
        return result
    sizes = counts.reshape((*counts.shape, *ones))
    means = result / sizes
    return means if initial is None else where(sizes == 0, start, means)
