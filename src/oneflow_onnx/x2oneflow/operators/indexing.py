"""Reading and writing by index."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

import oneflow as flow
from oneflow import Tensor
from oneflow_onnx.x2oneflow.registry import Evaluation, operator
from oneflow_onnx.x2oneflow.values import check_size, integer, integers, normalize_axis


@operator("Slice")
def slice_at(
    x: Tensor, *, starts: Sequence[int], ends: Sequence[int], axes: Sequence[int] | None = None
) -> Tensor:
    """Cut ranges out of dimensions; attributes give them before operator set 10."""
    named = None if axes is None else np.asarray(axes)
    return slice_ranges(x, np.asarray(starts), np.asarray(ends), named)


@operator("Slice", since=10, host=(1, 2, 3, 4))
def slice_ranges(
    x: Tensor,
    starts: np.ndarray,
    ends: np.ndarray,
    axes: np.ndarray | None = None,
    steps: np.ndarray | None = None,
) -> Tensor:
    """Cut ranges with steps, also negative ones, out of dimensions."""
    first, last = integers(starts), integers(ends)
    named = list(range(len(first))) if axes is None else integers(axes)
    strides = [1] * len(first) if steps is None else integers(steps)
    for start, end, axis, step in zip(first, last, named, strides, strict=True):
        length = x.shape[axis]
        selected = range(length)[_bounded(start, end, step, length)]
        if step == 1:
            x = x.narrow(axis, selected.start, len(selected))
        else:
            places = flow.tensor(list(selected), dtype=flow.int64, device=x.device)
            x = flow.index_select(x, axis % x.ndim, places)
    return x


def _bounded(start: int, end: int, step: int, length: int) -> slice:
    """Return Python's slice for ONNX's: a far negative end means before the first element."""
    if step < 0 and end < -length:
        return slice(start, None, step)
    return slice(start, end, step)


@operator("Gather")
def gather(x: Tensor, indices: Tensor, *, axis: int = 0) -> Tensor:
    """Return the entries at `indices` along `axis`; negative ones count from the end."""
    dim = normalize_axis(axis, x.ndim)
    flat = _from_front(indices, x.shape[dim]).reshape(-1)
    selected = flow.index_select(x, dim, flat)
    return selected.reshape((*x.shape[:dim], *indices.shape, *x.shape[dim + 1 :]))


def _from_front(indices: Tensor, length: int) -> Tensor:
    indices = indices.to(flow.int64)
    return flow.where(indices < 0, indices + length, indices)


@operator("GatherElements", since=11)
def gather_elements(x: Tensor, indices: Tensor, *, axis: int = 0) -> Tensor:
    """Return for every index the element at that place of its line along `axis`."""
    dim = normalize_axis(axis, x.ndim)
    return flow.gather(x, dim, _from_front(indices, x.shape[dim]))


def _from_front_nd(indices: Tensor, shape: Sequence[int]) -> Tensor:
    lengths = flow.tensor(list(shape[: indices.shape[-1]]), dtype=flow.int64, device=indices.device)
    indices = indices.to(flow.int64)
    return flow.where(indices < 0, indices + lengths, indices)


@operator("GatherND", since=11)
def gather_nd(x: Tensor, indices: Tensor, *, batch_dims: int = 0) -> Tensor:
    """Return the entries at the positions that the last dimension of `indices` spells."""
    positions = list(_from_front_nd(indices, x.shape[batch_dims:]).unbind(-1))
    for axis in range(batch_dims):
        along = [1] * (indices.ndim - 1)
        along[axis] = x.shape[axis]
        counter = flow.arange(x.shape[axis], device=x.device).reshape(along)
        positions.insert(axis, counter.expand(indices.shape[:-1]))
    return x[tuple(positions)]


_SCATTER_REDUCTIONS = {"add": "sum", "mul": "prod", "min": "amin", "max": "amax"}


@operator("Scatter", "ScatterElements")
def scatter_elements(
    x: Tensor, indices: Tensor, updates: Tensor, *, axis: int = 0, reduction: str = "none"
) -> Tensor:
    """Write every update at its place along `axis`, or combine it with the element there."""
    dim = normalize_axis(axis, x.ndim)
    places = _from_front(indices, x.shape[dim])
    if reduction == "none":
        return flow.scatter(x, dim, places, updates)
    return flow.scatter_reduce(x, dim, places, updates, _SCATTER_REDUCTIONS[reduction])


@operator("ScatterND", since=11)
def scatter_nd(x: Tensor, indices: Tensor, updates: Tensor, *, reduction: str = "none") -> Tensor:
    """Write the updates at the positions that the last dimension of `indices` spells."""
    depth = indices.shape[-1]
    rows = x.reshape(int(np.prod(x.shape[:depth])), -1)
    strides = np.cumprod([1, *x.shape[:depth][::-1]])[:-1][::-1]
    weights = flow.tensor(strides.copy(), dtype=flow.int64, device=x.device)
    flat = (_from_front_nd(indices, x.shape) * weights).sum(-1).reshape(-1, 1)
    places = flat.expand(flat.shape[0], rows.shape[1])
    written = scatter_elements(
        rows, places, updates.reshape(flat.shape[0], rows.shape[1]), reduction=reduction
    )
    return written.reshape(x.shape)


@operator("TensorScatter", since=24)
def tensor_scatter(
    past: Tensor,
    update: Tensor,
    write_indices: Tensor | None = None,
    *,
    axis: int = -2,
    mode: str = "linear",
) -> Tensor:
    """Write `update` into a cache along `axis`, from an index of each batch entry on."""
    dim = normalize_axis(axis, past.ndim)
    batch, length = past.shape[0], update.shape[dim]
    offsets = flow.zeros(batch, dtype=flow.int64, device=past.device)
    if write_indices is not None:
        offsets = write_indices.to(flow.int64)
    steps = flow.arange(length, device=past.device).reshape(1, -1)
    places = offsets.reshape(-1, 1) + steps
    if mode == "circular":
        places = flow.remainder(places, past.shape[dim])
    view = [1] * past.ndim
    view[0], view[dim] = batch, length
    return flow.scatter(past, dim, places.reshape(view).expand(update.shape), update)


@operator("Compress", since=9, host=(1,))
def compress(x: Tensor, condition: np.ndarray, *, axis: int | None = None) -> Tensor:
    """Keep the entries along `axis`, or the elements, for which `condition` holds."""
    if axis is None:
        x, axis = x.reshape(-1), 0
    indices = flow.tensor(np.flatnonzero(condition), dtype=flow.int64, device=x.device)
    return flow.index_select(x, axis % x.ndim, indices)


@operator("NonZero", since=9)
def nonzero(x: Tensor) -> Tensor:
    """Return the positions of the elements that are not 0, one row per dimension."""
    if x.ndim == 0:
        return flow.zeros(0, int(x.item() != 0), dtype=flow.int64)
    return flow.nonzero(x).t()


@operator("OneHot", since=9, evaluation=Evaluation.TENSORS, host=(1,), constant=(2,))
def one_hot(indices: Tensor, depth: np.ndarray, values: Tensor, *, axis: int = -1) -> Tensor:
    """Return a new dimension: ``values[1]`` at each index, ``values[0]`` elsewhere."""
    count = integer(depth)
    check_size([*indices.shape, count])
    dim = normalize_axis(axis, indices.ndim + 1)
    view = [1] * (indices.ndim + 1)
    view[dim] = count
    places = flow.arange(count, device=indices.device).reshape(view)
    positions = flow.remainder(indices.to(flow.int64), count)
    inside = flow.logical_and(indices >= -count, indices < count)
    hot = flow.logical_and(positions.unsqueeze(dim) == places, inside.unsqueeze(dim))
    return flow.where(hot, values[1], values[0])


@operator("TopK", since=1, evaluation=Evaluation.TENSORS)
def top_k_at(x: Tensor, *, k: int, axis: int = -1) -> tuple[Tensor, Tensor]:
    """Return the `k` greatest elements and their indices, before operator set 10."""
    return flow.topk(x, k, axis)


@operator("TopK", since=10, host=(1,), evaluation=Evaluation.TENSORS)
def top_k(
    x: Tensor, k: np.ndarray, *, axis: int = -1, largest: int = 1, sorted: int = 1
) -> tuple[Tensor, Tensor]:
    """Return the greatest or least elements along `axis`, and their indices."""
    return flow.topk(x, integer(k), axis, bool(largest), bool(sorted))


@operator("ReverseSequence", since=10, host=(1,))
def reverse_sequence(
    x: Tensor, lengths: np.ndarray, *, batch_axis: int = 1, time_axis: int = 0
) -> Tensor:
    """Reverse the first steps of every sequence of a batch, as many as it has."""
    steps, batch = x.shape[time_axis], x.shape[batch_axis]
    places = np.tile(np.arange(steps), (batch, 1))
    for entry, length in enumerate(integers(lengths)):
        places[entry, :length] = places[entry, :length][::-1]
    view = [1] * x.ndim
    view[time_axis], view[batch_axis] = steps, batch
    indices = places.T if time_axis < batch_axis else places
    index = flow.tensor(np.ascontiguousarray(indices), device=x.device).reshape(view)
    return flow.gather(x, time_axis % x.ndim, index.expand(x.shape))


@operator("ArrayFeatureExtractor", domain="ai.onnx.ml")
def extract_features(x: Tensor, indices: Tensor) -> Tensor:
    """Return the features at `indices` of the last dimension."""
    flat = indices.reshape(-1)
    selected = flow.index_select(x, x.ndim - 1, flat)
    return selected.reshape(1, -1) if x.ndim == 1 else selected
