"""Shapes and layouts: reshaping, joining, splitting, padding, repeating, types."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from onnx import helper

import oneflow as flow
from oneflow import Tensor
from oneflow.nn import functional as F
from oneflow_onnx.x2oneflow.registry import Evaluation, operator
from oneflow_onnx.x2oneflow.values import (
    Value,
    as_host,
    check_size,
    integer,
    integers,
)


@operator("Identity", evaluation=Evaluation.ANY)
def identity(x: Value) -> Value:
    """Return the operand."""
    return x


@operator("Shape", evaluation=Evaluation.ANY)
def shape(x: Value, *, start: int = 0, end: int | None = None) -> np.ndarray:
    """Return the shape, or dimensions `start` to `end` of it."""
    return np.asarray(x.shape, np.int64)[slice(start, end)]


@operator("Size", evaluation=Evaluation.ANY)
def size(x: Value) -> np.ndarray:
    """Return the number of elements."""
    return np.asarray(math.prod(x.shape), np.int64)


@operator("Reshape")
def reshape_to(x: Tensor, *, shape: Sequence[int]) -> Tensor:
    """Return the elements in another shape, an attribute before operator set 5."""
    return reshape(x, np.asarray(shape))


@operator("Reshape", since=5, host=(1,))
def reshape(x: Tensor, shape: np.ndarray, *, allowzero: int = 0) -> Tensor:
    """Return the elements in another shape; 0 stands for the operand's size at that place."""
    sizes = integers(shape)
    if not allowzero:
        sizes = [x.shape[axis] if size == 0 else size for axis, size in enumerate(sizes)]
    if -1 in sizes and 0 in sizes:
        sizes[sizes.index(-1)] = 0
    return x.reshape(sizes)


@operator("Flatten")
def flatten(x: Tensor, *, axis: int = 1) -> Tensor:
    """Return a matrix: the dimensions before `axis`, and those from it on."""
    rows = math.prod(x.shape[:axis])
    return x.reshape(rows, math.prod(x.shape[axis:]))


@operator("Squeeze")
def squeeze_at(x: Tensor, *, axes: Sequence[int] | None = None) -> Tensor:
    """Remove dimensions of size 1; attributes name them before operator set 13."""
    return squeeze(x, None if axes is None else np.asarray(axes))


@operator("Squeeze", since=13, host=(1,))
def squeeze(x: Tensor, axes: np.ndarray | None = None) -> Tensor:
    """Remove dimensions of size 1, all or those named."""
    named = range(x.ndim) if axes is None else [axis % x.ndim for axis in integers(axes)]
    if axes is not None and any(x.shape[axis] != 1 for axis in named):
        raise ValueError(
            f"`axes` {sorted(named)} of the shape {list(x.shape)} are not all of size 1"
        )
    shape = [n for axis, n in enumerate(x.shape) if axis not in named or n != 1]
    return x.reshape(shape)


@operator("Unsqueeze")
def unsqueeze_at(x: Tensor, *, axes: Sequence[int]) -> Tensor:
    """Insert dimensions of size 1; attributes name them before operator set 13."""
    return unsqueeze(x, np.asarray(axes))


@operator("Unsqueeze", since=13, host=(1,))
def unsqueeze(x: Tensor, axes: np.ndarray) -> Tensor:
    """Insert dimensions of size 1 at the places that they have in the result."""
    places = integers(axes)
    rank = x.ndim + len(places)
    for place in sorted(place % rank for place in places):
        x = x.unsqueeze(place)
    return x


@operator("Transpose")
def transpose(x: Tensor, *, perm: Sequence[int] | None = None) -> Tensor:
    """Permute the dimensions; reverse them by default."""
    return x.permute(*(perm if perm is not None else reversed(range(x.ndim)))) if x.ndim else x


@operator("Concat")
def concat(*tensors: Tensor, axis: int = 1) -> Tensor:
    """Join tensors along `axis`."""
    return flow.cat(list(tensors), axis)


@operator("Split")
def split_at(
    x: Tensor, *_: Tensor, axis: int = 0, split: Sequence[int] | None = None, n_outputs: int
) -> tuple[Tensor, ...]:
    """Cut a tensor into parts; attributes give their sizes before operator set 13."""
    return split_into(
        x, None if split is None else np.asarray(split), axis=axis, n_outputs=n_outputs
    )


@operator("Split", since=13, host=(1,))
def split_into(
    x: Tensor,
    split: np.ndarray | None = None,
    *,
    axis: int = 0,
    num_outputs: int | None = None,
    n_outputs: int,
) -> tuple[Tensor, ...]:
    """Cut a tensor into parts of given sizes, or equal ones with a smaller last one."""
    if split is not None:
        sizes = integers(split)
    else:
        count = num_outputs or n_outputs
        if count != n_outputs:
            raise ValueError(f"`num_outputs` is {count}, and the node has {n_outputs} outputs")
        extent = x.shape[axis]
        part = -(-extent // count)
        sizes = [min(part, max(extent - part * index, 0)) for index in range(count)]
    return tuple(flow.split(x, sizes, axis))


@operator("Expand", evaluation=Evaluation.TENSORS, host=(1,))
def expand(x: Tensor, shape: np.ndarray) -> Tensor:
    """Broadcast to the shape that the operand's and `shape` give together."""
    target = np.broadcast_shapes(tuple(x.shape), tuple(integers(shape)))
    check_size(target)
    return flow.broadcast_to(x, target)


@operator("Tile", evaluation=Evaluation.TENSORS, host=(1, 2))
def tile_axis(x: Tensor, tiles: np.ndarray, axis: np.ndarray) -> Tensor:
    """Repeat a tensor along one axis, before operator set 6."""
    repeats = [1] * x.ndim
    repeats[integer(axis)] = integer(tiles)
    return tile(x, np.asarray(repeats))


@operator("Tile", since=6, evaluation=Evaluation.TENSORS, host=(1,))
def tile(x: Tensor, repeats: np.ndarray) -> Tensor:
    """Repeat a tensor along its dimensions."""
    counts = integers(repeats)
    check_size([n * count for n, count in zip(x.shape, counts, strict=True)])
    return flow.tile(x, counts)


@operator("ConstantOfShape", evaluation=Evaluation.ANY)
def constant_of_shape(shape: Value, *, value: np.ndarray | None = None) -> np.ndarray:
    """Return a constant of the given shape."""
    sizes = integers(shape)
    check_size(sizes)
    return np.full(sizes, np.float32(0) if value is None else value.reshape(-1)[0])


@operator("Range", evaluation=Evaluation.ANY)
def arange(start: Value, limit: Value, delta: Value, *, stash_type: int = 1) -> np.ndarray:
    """Return evenly spaced numbers from `start` up to `limit`, exclusive."""
    first, last, step = (as_host(value).reshape(()) for value in (start, limit, delta))
    dtype = first.dtype
    # Narrow floats count in single precision, which `stash_type` 1 asks for.
    narrow = dtype.itemsize < 4 and dtype.kind not in "iu" and stash_type == 1
    first, last, step = (
        (v.astype(np.float32) if narrow else v).item() for v in (first, last, step)
    )
    count = max(math.ceil((last - first) / step), 0)
    check_size([count])
    return (first + np.arange(count) * step).astype(dtype)


@operator("EyeLike", evaluation=Evaluation.ANY)
def eye_like(x: Value, *, dtype: int | None = None, k: int = 0) -> np.ndarray:
    """Return a matrix of the operand's shape with ones on diagonal `k`."""
    check_size(x.shape)
    kind = as_host(x).dtype if dtype is None else helper.tensor_dtype_to_np_dtype(dtype)
    return np.eye(*x.shape, k=k, dtype=kind)


@operator("Trilu", host=(1,))
def trilu(x: Tensor, k: np.ndarray | None = None, *, upper: int = 1) -> Tensor:
    """Return the upper or lower triangle of matrices."""
    diagonal = 0 if k is None else integer(k)
    if x.dtype == flow.bool:
        return trilu(x.to(flow.uint8), k, upper=upper).to(flow.bool)
    return (flow.triu if upper else flow.tril)(x, diagonal)


@operator("Pad", evaluation=Evaluation.TENSORS)
def pad_to(
    x: Tensor,
    *,
    pads: Sequence[int] | None = None,
    paddings: Sequence[int] | None = None,
    mode: str = "constant",
    value: float = 0.0,
) -> Tensor:
    """Pad a tensor; attributes say by how much before operator set 11."""
    widths = pads if pads is not None else paddings
    assert widths is not None
    return pad(x, np.asarray(widths), np.asarray(value, np.float32), mode=mode)


@operator("Pad", since=11, evaluation=Evaluation.TENSORS, host=(1, 2, 3), constant=(2,))
def pad(
    x: Tensor,
    pads: np.ndarray,
    value: np.ndarray | None = None,
    axes: np.ndarray | None = None,
    *,
    mode: str = "constant",
) -> Tensor:
    """Pad dimensions at both ends, with a value or with elements; negative amounts crop."""
    widths = integers(pads)
    named = range(x.ndim) if axes is None else [axis % x.ndim for axis in integers(axes)]
    low, ends = [0] * x.ndim, [0] * x.ndim
    for position, axis in enumerate(named):
        low[axis], ends[axis] = widths[position], widths[position + len(named)]
    check_size([b + n + e for b, n, e in zip(low, x.shape, ends, strict=True)])
    if mode == "constant":
        flat = [amount for pair in zip(low[::-1], ends[::-1], strict=True) for amount in pair]
        fill = 0 if value is None or not value.size else value.reshape(-1)[0].item()
        if x.dtype == flow.bool:
            return F.pad(x.to(flow.uint8), flat, value=int(fill)).to(flow.bool)
        return F.pad(x, flat, value=fill).to(x.dtype)
    for axis, (begin, end) in enumerate(zip(low, ends, strict=True)):
        if begin or end:
            places = _pad_places(x.shape[axis], begin, end, mode)
            x = flow.index_select(x, axis, flow.tensor(places, device=x.device))
    return x


def _pad_places(length: int, begin: int, end: int, mode: str) -> np.ndarray:
    """Return the index of the element that each place of a padded dimension shows."""
    places = np.arange(-begin, length + end)
    if mode == "edge":
        return places.clip(0, length - 1)
    if mode == "wrap":
        return places % length
    period = max(2 * (length - 1), 1)
    return length - 1 - np.abs(places % period - (length - 1))
