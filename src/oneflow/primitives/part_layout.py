"""Where the parts of a global tensor begin and how large they are.

A dimension of size n split over k devices is balanced: the first ``n % k`` devices have one element
more. Dimensions may be split again by further dimensions of the mesh, in their order. Compiled
programs need equal shapes everywhere, so a device holds its part padded to the largest; what the
padding holds is never looked at.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from jax import lax

from oneflow.base.placement import mesh_axis
from oneflow.base.sbp import NdSbp, Split

Sizes = tuple[int, ...]


def splitting_axes(sbp: NdSbp, dim: int) -> list[int]:
    """The dimensions of the mesh that split dimension `dim` of the tensor, outermost first."""
    return [axis for axis, each in enumerate(sbp) if isinstance(each, Split) and each.dim == dim]


def padded_size(size: int, counts: Sizes) -> int:
    """The size of every device's part of a dimension that is split into `counts` in turn."""
    for count in counts:
        size = -(-size // count)
    return size


def counts_of(hierarchy: Sizes, sbp: NdSbp, dim: int) -> Sizes:
    """Into how many parts each dimension of the mesh splits dimension `dim`, outermost first."""
    return tuple([hierarchy[axis] for axis in splitting_axes(sbp, dim)])


def part_shape(shape: Sizes, hierarchy: Sizes, sbp: NdSbp) -> Sizes:
    """The shape of what each device holds, padding included."""
    return tuple(
        padded_size(size, counts_of(hierarchy, sbp, dim)) for dim, size in enumerate(shape)
    )


def is_even(shape: Sizes, hierarchy: Sizes, sbp: NdSbp) -> bool:
    """Whether all parts have the same shape, so that nothing is padding."""
    for dim, size in enumerate(shape):
        for count in counts_of(hierarchy, sbp, dim):
            if size % count:
                return False
            size //= count
    return True


def extent(size: Any, counts: Sizes, places: Any) -> tuple[Any, Any]:
    """Start and size of the part at `places`, one place for each of `counts`.

    Works on numbers and on traced ones alike.
    """
    start = 0
    for count, place in zip(counts, places, strict=True):
        base, extra = size // count, size % count
        start = start + base * place + least(place, extra)
        size = base + (place < extra)
    return start, size


def least(x: Any, y: Any) -> Any:
    """The smaller of two numbers, either of which may be traced."""
    return (
        min(x, y) if isinstance(x, int) and isinstance(y, int) else lax.min(*map(as_index, (x, y)))
    )


def as_index(number: Any) -> Any:
    """A number in the type of what `lax.axis_index` returns."""
    return lax.convert_element_type(number, "int32")


def traced_extent(size: int, hierarchy: Sizes, axes: list[int]) -> tuple[Any, Any]:
    """Start and size of this device's part of a dimension split by `axes`, while tracing."""
    counts = tuple([hierarchy[axis] for axis in axes])
    return extent(size, counts, [lax.axis_index(mesh_axis(axis)) for axis in axes])


def traced_starts(shape: Sizes, hierarchy: Sizes, sbp: NdSbp) -> tuple[Any, ...]:
    """Where this device's part begins in each dimension, while tracing."""
    return tuple(
        traced_extent(size, hierarchy, splitting_axes(sbp, dim))[0]
        for dim, size in enumerate(shape)
    )


def part_slices(shape: Sizes, hierarchy: Sizes, sbp: NdSbp, places: Sizes) -> tuple[slice, ...]:
    """The part, as slices of the whole, of the device at `places` in the mesh."""
    slices = []
    for dim, size in enumerate(shape):
        axes = splitting_axes(sbp, dim)
        counts = tuple([hierarchy[axis] for axis in axes])
        start, length = extent(size, counts, [places[axis] for axis in axes])
        slices.append(slice(start, start + length))
    return tuple(slices)


def places_in(hierarchy: Sizes) -> Iterator[Sizes]:
    """The places in a mesh, in the order of its flat list of ranks."""
    if not hierarchy:
        yield ()
        return
    for first in range(hierarchy[0]):
        for rest in places_in(hierarchy[1:]):
            yield (first, *rest)
