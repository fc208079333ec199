"""The cheapest way from one SBP to another on one placement.

A conversion is a path of edges, each along one dimension of the mesh and each one collective or
a local operation. All sequences are searched (Dijkstra), by the bytes that a device sends.
"""

from __future__ import annotations

import functools
import heapq
import itertools
import math
from collections.abc import Iterator
from typing import NamedTuple

from oneflow.base.sbp import BROADCAST, PARTIAL_SUM, NdSbp, Sbp, Split
from oneflow.primitives.shard_shapes import shard_shape

# The cost of an edge besides the bytes it sends, in bytes: its latency, and writing its result,
# which is this much cheaper than sending it.
_LATENCY = 256.0
_WRITTEN = 1 / 64


class BoxingEdge(NamedTuple):
    """One conversion along one dimension of the mesh.

    Attributes:
        axis: of the mesh.
        source: the signatures before.
        target: the signatures after; they differ from `source` at `axis` alone.
    """

    axis: int
    source: NdSbp
    target: NdSbp

    @property
    def is_collective(self) -> bool:
        """True if devices exchange data, False if each keeps or drops data that it has."""
        before, after = self.source[self.axis], self.target[self.axis]
        return before is PARTIAL_SUM or (isinstance(before, Split) and after is not PARTIAL_SUM)


def transfer_bytes(
    edge: BoxingEdge, shape: tuple[int, ...], itemsize: int, hierarchy: tuple[int, ...]
):
    """Bytes that each device sends along an edge, with the ring or pairwise algorithms."""
    count = hierarchy[edge.axis]
    shard_size = math.prod(shard_shape(shape, hierarchy, edge.source)) * itemsize
    before, after = edge.source[edge.axis], edge.target[edge.axis]
    share = (count - 1) / count
    if before is PARTIAL_SUM:
        return shard_size * share * (2 if after is BROADCAST else 1)
    if isinstance(before, Split):
        if after is BROADCAST:
            return shard_size * (count - 1)
        return shard_size * share if isinstance(after, Split) else 0.0
    return 0.0


def _cost(
    edge: BoxingEdge, shape: tuple[int, ...], itemsize: int, hierarchy: tuple[int, ...]
) -> float:
    written = math.prod(shard_shape(shape, hierarchy, edge.target)) * itemsize
    nbytes = transfer_bytes(edge, shape, itemsize, hierarchy)
    return nbytes + written * _WRITTEN + (_LATENCY if edge.is_collective else 0.0)


def _is_innermost(sbp: NdSbp, axis: int) -> bool:
    """Return whether no later axis splits the same dimension as `axis`.

    Shards of shards are contiguous only in the order of the axes, so the innermost changes first.
    """
    here = sbp[axis]
    return not isinstance(here, Split) or here not in sbp[axis + 1 :]


def _edges_from(sbp: NdSbp, choices: tuple[Sbp, ...]) -> Iterator[BoxingEdge]:
    for axis in range(len(sbp)):
        if not _is_innermost(sbp, axis):
            continue
        for choice in choices:
            target = (*sbp[:axis], choice, *sbp[axis + 1 :])
            if choice is not sbp[axis] and _is_innermost(target, axis):
                yield BoxingEdge(axis, sbp, target)


@functools.lru_cache(maxsize=65536)
def boxing_path(
    shape: tuple[int, ...],
    itemsize: int,
    hierarchy: tuple[int, ...],
    source: NdSbp,
    target: NdSbp,
) -> tuple[float, tuple[BoxingEdge, ...]]:
    """Cost in bytes per device, and the edges, of converting `source` to `target`."""
    choices = tuple(dict.fromkeys((BROADCAST, PARTIAL_SUM, *source, *target)))
    order = itertools.count()
    queue: list[tuple[float, int, NdSbp, tuple[BoxingEdge, ...]]] = [(0.0, next(order), source, ())]
    done: set[NdSbp] = set()
    while queue:
        cost, _, sbp, edges = heapq.heappop(queue)
        if sbp == target:
            return cost, edges
        if sbp in done:
            continue
        done.add(sbp)
        for edge in _edges_from(sbp, choices):
            # A partial sum is made only where one is wanted.
            entry = edge.target[edge.axis]
            if entry is PARTIAL_SUM and target[edge.axis] is not PARTIAL_SUM:
                continue
            if edge.target not in done:
                new = cost + _cost(edge, shape, itemsize, hierarchy)
                heapq.heappush(queue, (new, next(order), edge.target, (*edges, edge)))
    raise ValueError(f"no way from {source} to {target}")


def find_collective_axes(
    shape: tuple[int, ...],
    itemsize: int,
    hierarchy: tuple[int, ...],
    source: NdSbp,
    target: NdSbp,
) -> frozenset[int]:
    """The dimensions of the mesh along which a conversion exchanges data between devices."""
    if 0 in shape:
        return frozenset()
    _, edges = boxing_path(shape, itemsize, hierarchy, source, target)
    return frozenset(s.axis for s in edges if s.is_collective and hierarchy[s.axis] > 1)
