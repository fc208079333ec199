"""Conversions between two SBP on the host: by NumPy, on shards without padding.

They take the same steps as `oneflow.primitives.operators.boxing` and are compiled for no shape. Who
calls says how shards that lie apart reach each other.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from oneflow.base.sbp import BROADCAST, PARTIAL_SUM, NdSbp, Split
from oneflow.primitives.shard_shapes import shard_slices
from oneflow.primitives.sharding.boxing_path import BoxingEdge, boxing_path
from oneflow.primitives.sharding.partial_sums import sum_identity

Sizes = tuple[int, ...]
Shards = dict[Sizes, np.ndarray]
"""The shards of some devices, by their coordinates."""
Chunks = Mapping[Sizes, Sequence[np.ndarray]]
"""The arrays that each device has for, or from, every position along a dimension of the mesh."""
Exchange = Callable[[int, Chunks], Chunks]
"""A function of a dimension of the mesh and what its devices send; returns what they receive."""

# Bytes of a partial sum up to which each device adds up all of it.
_SMALL = 1 << 16


def convert_shards(
    shards: Shards, shape: Sizes, hierarchy: Sizes, sbp: tuple[NdSbp, NdSbp], exchange: Exchange
) -> Shards:
    """Convert the shards of this process's devices to another SBP.

    Args:
        shards: the shards.
        shape: the shape of the whole tensor.
        hierarchy: the sizes of the mesh.
        sbp: before and after.
        exchange: sends and receives; every process of the mesh calls it as often.
    """
    if 0 in shape:
        dtype = next(iter(shards.values())).dtype
        return {
            coordinate: np.zeros(_sizes(shard_slices(shape, hierarchy, sbp[1], coordinate)), dtype)
            for coordinate in shards
        }
    itemsize = next(iter(shards.values())).dtype.itemsize
    for edge in boxing_path(shape, itemsize, hierarchy, *sbp)[1]:
        shards = _Edge(edge, shape, hierarchy, exchange).convert(shards)
    return shards


class _Edge:
    """One step of a conversion, along one dimension of the mesh."""

    def __init__(
        self, edge: BoxingEdge, shape: Sizes, hierarchy: Sizes, exchange: Exchange
    ) -> None:
        self._axis = edge.axis
        self._count = hierarchy[edge.axis]
        self._source, self._target = edge.source, edge.target
        self._shape, self._hierarchy = shape, hierarchy
        self._exchange = functools.partial(exchange, edge.axis)

    def convert(self, shards: Shards) -> Shards:
        """The shards after the step."""
        before, after = self._source[self._axis], self._target[self._axis]
        if before is BROADCAST:
            return {c: self._share(x, c, after) for c, x in shards.items()}
        if before is PARTIAL_SUM:
            if after is BROADCAST:
                return all_reduce(shards, self._count, self._exchange)
            received = self._exchange({c: self._cut(x, c) for c, x in shards.items()})
            return {c: add_parts(parts) for c, parts in received.items()}
        assert isinstance(before, Split)
        if after is PARTIAL_SUM:
            return {c: self._embed(x, c) for c, x in shards.items()}
        if after is BROADCAST:
            received = self._exchange({c: [x] * self._count for c, x in shards.items()})
        else:
            received = self._exchange({c: self._cut(x, c) for c, x in shards.items()})
        return {c: np.concatenate(parts, before.dim) for c, parts in received.items()}

    def _at(self, coordinate: Sizes, position: int) -> Sizes:
        return (*coordinate[: self._axis], position, *coordinate[self._axis + 1 :])

    def _cut(self, x: np.ndarray, coordinate: Sizes) -> list[np.ndarray]:
        """The pieces of a shard that the devices along the dimension get, along the new split."""
        after: Any = self._target[self._axis]
        chunks = []
        for position in range(self._count):
            other = self._at(coordinate, position)
            index = [slice(None)] * x.ndim
            index[after.dim] = self._new_range(other, after.dim)
            chunks.append(x[tuple(index)])
        return chunks

    def _new_range(self, coordinate: Sizes, dim: int) -> slice:
        """The range of a dimension that the step splits, within the shard before it."""
        before, after = (
            shard_slices(self._shape, self._hierarchy, sbp, coordinate)[dim]
            for sbp in (self._source, self._target)
        )
        return slice(after.start - before.start, after.stop - before.start)

    def _share(self, x: np.ndarray, coordinate: Sizes, after: Any) -> np.ndarray:
        """The part of all devices' data that one of them keeps."""
        if isinstance(after, Split):
            return self._cut(x, coordinate)[coordinate[self._axis]]
        return x if coordinate[self._axis] == 0 else np.full(x.shape, sum_identity(x.dtype))

    def _embed(self, x: np.ndarray, coordinate: Sizes) -> np.ndarray:
        """A shard as a partial sum: what changes nothing around it."""
        before: Any = self._source[self._axis]
        outer = shard_slices(self._shape, self._hierarchy, self._target, coordinate)
        inner = shard_slices(self._shape, self._hierarchy, self._source, coordinate)[before.dim]
        whole = np.full(_sizes(outer), sum_identity(x.dtype))
        index = [slice(None)] * x.ndim
        start = outer[before.dim].start
        index[before.dim] = slice(inner.start - start, inner.stop - start)
        whole[tuple(index)] = x
        return whole


def all_reduce(
    shards: Shards,
    count: int,
    exchange: Callable[[Chunks], Chunks],
    empty: Callable[[Sizes, np.dtype], np.ndarray] = np.empty,
) -> Shards:
    """The sums; of large ones each device adds up a part, and all send each other theirs.

    Args:
        shards: what this process's devices add.
        count: the number of devices.
        exchange: between them.
        empty: makes the arrays of sums.
    """
    nbytes = max(x.nbytes for x in shards.values())
    if count == 2 or nbytes <= _SMALL:
        received = exchange({c: [x] * count for c, x in shards.items()})
        return {c: add_parts(parts, empty) for c, parts in received.items()}
    received = exchange({c: np.array_split(x.reshape(-1), count) for c, x in shards.items()})
    sums = exchange({c: [add_parts(parts)] * count for c, parts in received.items()})
    return {
        c: np.concatenate(parts, out=empty((shards[c].size,), shards[c].dtype)).reshape(
            shards[c].shape
        )
        for c, parts in sums.items()
    }


def _sizes(slices: Sequence[slice]) -> Sizes:
    return tuple(part.stop - part.start for part in slices)


def add_parts(
    parts: Sequence[np.ndarray], empty: Callable[[Sizes, np.dtype], np.ndarray] = np.empty
) -> np.ndarray:
    """The sum, in the order of the devices, so that all get the same bits.

    Args:
        parts: what is added.
        empty: makes the array of the sum.
    """
    dtype = parts[0].dtype
    if dtype == np.bool_:
        return functools.reduce(np.logical_or, parts)
    wide = np.dtype(np.float32) if dtype.itemsize <= 2 and dtype.kind not in "iub" else dtype
    *others, last = [part.astype(wide, copy=False) for part in parts]
    if not others:
        return np.asarray(last, dtype)
    total = np.add(functools.reduce(np.add, others), last, out=empty(last.shape, wide))
    return np.asarray(total, dtype)
