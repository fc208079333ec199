"""The collectives that convert between two SBP, and the bytes that they move."""

from __future__ import annotations

import functools
import math
from typing import NamedTuple

from oneflow.base.sbp import BROADCAST, PARTIAL_SUM, NdSbp, Split
from oneflow.primitives.operation import Operation
from oneflow.primitives.shard_shapes import padded_size, shard_shape, split_axes
from oneflow.primitives.sharding.boxing_path import BoxingEdge, boxing_path
from oneflow.primitives.traits import Kind

Sizes = tuple[int, ...]


class Collective(NamedTuple):
    """One exchange between the devices along some dimensions of a mesh.

    Attributes:
        kind: ``"all-reduce"``, ``"reduce-scatter"``, ``"all-gather"`` or ``"all-to-all"``.
        axes: the dimensions of the mesh.
        group: how many devices take part in each exchange.
        operand_bytes: bytes of what each device puts in, padding included.
        sent: bytes that each device sends, with the ring or pairwise algorithms.
        path: SBP from the beginning of the conversion until after this exchange.
        staged: bytes of copies: shares are sent as one piece each, and those of a dimension that is
            not the first one are not; what is received, XLA leaves to the readers to put in order.
    """

    kind: str
    axes: tuple[int, ...]
    group: int
    operand_bytes: int
    sent: float
    path: tuple[NdSbp, ...]
    staged: int = 0


def collectives_of(operation: Operation) -> tuple[Collective, ...]:
    """The collectives of an operation; none unless it is a conversion that exchanges data."""
    if operation.primitive.traits.kind is not Kind.BOXING or not operation.in_specs[0].numel:
        return ()
    spec, attributes = operation.in_specs[0], operation.attributes
    collectives = _collectives(
        spec.shape,
        spec.dtype.itemsize,
        attributes["hierarchy"],
        attributes["source"],
        attributes["target"],
    )
    if operation.device.type != "cpu":
        return collectives
    return tuple(map(_on_cpu, collectives))


def _on_cpu(collective: Collective) -> Collective:
    """CPUs exchange shares of partial sums, and add them up themselves."""
    if collective.kind != "reduce-scatter":
        return collective
    received = collective.operand_bytes
    return collective._replace(kind="all-to-all", staged=collective.staged + received)


@functools.lru_cache(maxsize=65536)
def _collectives(
    shape: Sizes, itemsize: int, hierarchy: Sizes, source: tuple, target: tuple
) -> tuple[Collective, ...]:
    collectives: list[Collective] = []
    edges = boxing_path(shape, itemsize, hierarchy, source, target)[1]
    for index, edge in enumerate(edges):
        if not edge.is_collective or hierarchy[edge.axis] == 1:
            continue
        path = (source, *[edge.target for edge in edges[: index + 1]])
        new = _collective(edge, shape, itemsize, hierarchy)._replace(path=path)
        is_consecutive = index and edges[index - 1].is_collective and collectives
        if is_consecutive and new.kind == collectives[-1].kind == "all-reduce":
            merged = _all_reduce(collectives[-1].axes + new.axes, new.operand_bytes, hierarchy)
            collectives[-1] = merged._replace(path=path)
        else:
            collectives.append(new)
    return tuple(collectives)


def _all_reduce(axes: tuple[int, ...], nbytes: int, hierarchy: Sizes) -> Collective:
    """All-reduces of the same over several dimensions of the mesh are one."""
    group = math.prod(hierarchy[axis] for axis in axes)
    return Collective("all-reduce", axes, group, nbytes, 2 * nbytes * (group - 1) / group, ())


def _collective(edge: BoxingEdge, shape: Sizes, itemsize: int, hierarchy: Sizes) -> Collective:
    before, after = edge.source[edge.axis], edge.target[edge.axis]
    group, axes = hierarchy[edge.axis], (edge.axis,)
    source_bytes = math.prod(shard_shape(shape, hierarchy, edge.source)) * itemsize
    target_bytes = math.prod(shard_shape(shape, hierarchy, edge.target)) * itemsize
    if before is PARTIAL_SUM:
        if after is BROADCAST:
            return _all_reduce(axes, source_bytes, hierarchy)
        # Uneven shares are padded to the same size.
        assert isinstance(after, Split)
        given_bytes = target_bytes * group
        staged = given_bytes if after.dim or given_bytes != source_bytes else 0
        return Collective(
            "reduce-scatter", axes, group, given_bytes, target_bytes * (group - 1), (), staged
        )
    if after is BROADCAST:
        return Collective("all-gather", axes, group, source_bytes, source_bytes * (group - 1), ())
    assert isinstance(after, Split)
    given_bytes = source_bytes
    outer = [hierarchy[axis] for axis in split_axes(edge.source[: edge.axis], after.dim)]
    size = padded_size(shape[after.dim], tuple(outer))
    if size:
        given_bytes = source_bytes // size * -(-size // group) * group
    staged = given_bytes if after.dim else 0
    return Collective(
        "all-to-all", axes, group, given_bytes, given_bytes * (group - 1) / group, (), staged
    )
