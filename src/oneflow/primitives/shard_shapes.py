"""Offsets and sizes of the shards of a global tensor.

A dimension of size n split over k devices is balanced: the first ``n % k`` devices have one element
more. Dimensions may be split again by further dimensions of the mesh, in their order. Compiled
programs need equal shapes everywhere, so a device holds its shard padded to the largest; the
content of the padding is never read.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from jax import lax

from oneflow.base.placement import mesh_axis
from oneflow.base.sbp import NdSbp, Split

Sizes = tuple[int, ...]


def split_axes(sbp: NdSbp, dim: int) -> list[int]:
    """The mesh axes that split dimension `dim` of the tensor, outermost first."""
    return [
        axis
        for axis, component in enumerate(sbp)
        if isinstance(component, Split) and component.dim == dim
    ]


def padded_size(size: int, counts: Sizes) -> int:
    """The padded size of the shards of a dimension that is split into `counts`, outermost first."""
    for count in counts:
        size = -(-size // count)
    return size


def split_counts(hierarchy: Sizes, sbp: NdSbp, dim: int) -> Sizes:
    """Numbers of shards into which each mesh axis splits dimension `dim`, outermost first."""
    return tuple([hierarchy[axis] for axis in split_axes(sbp, dim)])


def shard_shape(shape: Sizes, hierarchy: Sizes, sbp: NdSbp) -> Sizes:
    """The shape of the shard on each device, padding included."""
    return tuple(
        padded_size(size, split_counts(hierarchy, sbp, dim)) for dim, size in enumerate(shape)
    )


def is_even(shape: Sizes, hierarchy: Sizes, sbp: NdSbp) -> bool:
    """Return whether all shards have the same shape, so that there is no padding."""
    for dim, size in enumerate(shape):
        for count in split_counts(hierarchy, sbp, dim):
            if size % count:
                return False
            size //= count
    return True


def offset_and_size(size: Any, counts: Sizes, coordinate: Any) -> tuple[Any, Any]:
    """Offset and size of the shard at `coordinate`, which has one entry for each of `counts`.

    Works on Python numbers and on traced scalars alike.
    """
    offset = 0
    for count, position in zip(counts, coordinate, strict=True):
        base, extra = size // count, size % count
        offset = offset + base * position + minimum(position, extra)
        size = base + (position < extra)
    return offset, size


def minimum(x: Any, y: Any) -> Any:
    """The smaller of two numbers; either may be traced."""
    return (
        min(x, y) if isinstance(x, int) and isinstance(y, int) else lax.min(*map(as_index, (x, y)))
    )


def as_index(number: Any) -> Any:
    """Convert a number to the type that `lax.axis_index` returns."""
    return lax.convert_element_type(number, "int32")


def traced_offset_and_size(size: int, hierarchy: Sizes, axes: list[int]) -> tuple[Any, Any]:
    """Offset and size, traced, of this device's shard of a dimension split by `axes`."""
    counts = tuple([hierarchy[axis] for axis in axes])
    return offset_and_size(size, counts, [lax.axis_index(mesh_axis(axis)) for axis in axes])


def traced_offsets(shape: Sizes, hierarchy: Sizes, sbp: NdSbp) -> tuple[Any, ...]:
    """The traced offsets of this device's shard in each dimension."""
    return tuple(
        traced_offset_and_size(size, hierarchy, split_axes(sbp, dim))[0]
        for dim, size in enumerate(shape)
    )


def shard_slices(
    shape: Sizes, hierarchy: Sizes, sbp: NdSbp, coordinate: Sizes
) -> tuple[slice, ...]:
    """The shard, as slices of the whole, of the device at `coordinate` in the mesh."""
    slices = []
    for dim, size in enumerate(shape):
        axes = split_axes(sbp, dim)
        counts = tuple([hierarchy[axis] for axis in axes])
        offset, length = offset_and_size(size, counts, [coordinate[axis] for axis in axes])
        slices.append(slice(offset, offset + length))
    return tuple(slices)


def mesh_coordinates(hierarchy: Sizes) -> Iterator[Sizes]:
    """Yield the coordinates of a mesh in the order of its flat list of ranks."""
    if not hierarchy:
        yield ()
        return
    for first in range(hierarchy[0]):
        for rest in mesh_coordinates(hierarchy[1:]):
            yield (first, *rest)
