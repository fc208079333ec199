"""`boxing`: the same global tensor with another SBP. Collectives happen here and nowhere else."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from oneflow.base.placement import mesh_axis
from oneflow.base.sbp import BROADCAST, PARTIAL_SUM, NdSbp, Split
from oneflow.primitives.registry import primitive
from oneflow.primitives.shard_shapes import (
    as_index,
    is_even,
    padded_size,
    shard_shape,
    split_axes,
    traced_offset_and_size,
)
from oneflow.primitives.sharding.boxing_path import BoxingEdge, boxing_path
from oneflow.primitives.sharding.partial_sums import (
    all_reduce,
    reduce_scatter,
    reduce_scatter_on_cpu,
    sum_identity,
)
from oneflow.primitives.traits import Kind

Sizes = tuple[int, ...]


def _boxing(
    x: jax.Array, *, shape: Sizes, hierarchy: Sizes, source: NdSbp, target: NdSbp
) -> jax.Array:
    """Convert this device's shard from `source` to `target`; runs inside `shard_map`."""
    return _convert(x, shape, hierarchy, source, target, reduce_scatter)


def _convert(
    x: jax.Array,
    shape: Sizes,
    hierarchy: Sizes,
    source: NdSbp,
    target: NdSbp,
    reduce_scatter: Callable[[jax.Array, str, int], jax.Array],
) -> jax.Array:
    if 0 in shape:
        # XLA has no collectives of nothing.
        return jnp.zeros(shard_shape(shape, hierarchy, target), x.dtype)
    _, path = boxing_path(shape, x.dtype.itemsize, hierarchy, source, target)
    # A device that is alone along an axis has the same under any SBP.
    edges = tuple(edge for edge in path if hierarchy[edge.axis] > 1)
    for index, edge in enumerate(edges):
        if index and _reduces_all(edge) and _reduces_all(edges[index - 1]):
            continue  # done with the one before
        if _reduces_all(edge):
            axes = tuple(mesh_axis(reduction.axis) for reduction in _run_of_sums(edges[index:]))
            x = all_reduce(x, axes)
        else:
            x = _Axis(edge, shape, hierarchy).convert(x, reduce_scatter)
    return x


def _reduces_all(edge: BoxingEdge) -> bool:
    return edge.source[edge.axis] is PARTIAL_SUM and edge.target[edge.axis] is BROADCAST


def _run_of_sums(edges: tuple[BoxingEdge, ...]) -> list[BoxingEdge]:
    """The all-reduces at the beginning of `edges`, which are one over several axes."""
    run = []
    for edge in edges:
        if not _reduces_all(edge):
            break
        run.append(edge)
    return run


class _Axis:
    """One edge: its mesh axis, and the sharding of the tensor's dimensions by the other axes.

    A dimension split at the edge's axis is split by earlier axes too, never by later ones. "Outer"
    is the part that the earlier axes leave, "inner" this device's share of it.
    """

    def __init__(self, edge: BoxingEdge, shape: Sizes, hierarchy: Sizes) -> None:
        self._edge = edge
        self._shape = shape
        self._hierarchy = hierarchy
        self._name = mesh_axis(edge.axis)
        self._count = hierarchy[edge.axis]
        self._even = all(is_even(shape, hierarchy, sbp) for sbp in (edge.source, edge.target))

    def convert(self, x: jax.Array, reduce_scatter: Callable) -> jax.Array:
        """Return the shard after the edge."""
        before, after = self._edge.source[self._edge.axis], self._edge.target[self._edge.axis]
        if before is BROADCAST:
            return (
                self._local_share(x, after.dim)
                if isinstance(after, Split)
                else self._first_to_partial_sum(x)
            )
        if before is PARTIAL_SUM:
            assert isinstance(after, Split)
            return reduce_scatter(self._pad_shares(x, after.dim), self._name, after.dim)
        assert isinstance(before, Split)
        if after is BROADCAST:
            gathered = lax.all_gather(x, self._name, axis=before.dim, tiled=True)
            return self._pack(gathered, before.dim)
        if after is PARTIAL_SUM:
            return self._to_partial_sum(x, before.dim)
        assert isinstance(after, Split)
        moved = lax.all_to_all(
            self._pad_shares(x, after.dim),
            self._name,
            split_axis=after.dim,
            concat_axis=before.dim,
            tiled=True,
        )
        return self._pack(moved, before.dim)

    def _outer(self, dim: int) -> tuple[int, Any]:
        """Padded size of the outer part along `dim`, and how much of it is real."""
        sbp = self._edge.source[: self._edge.axis]
        axes = split_axes(sbp, dim)
        counts = tuple([self._hierarchy[axis] for axis in axes])
        _, real = traced_offset_and_size(self._shape[dim], self._hierarchy, axes)
        return padded_size(self._shape[dim], counts), real

    def _shares(self, dim: int) -> tuple[int, int, Any, Any]:
        """Padded outer and inner sizes; the base share, and how many have one element more."""
        padded, real = self._outer(dim)
        return padded, -(-padded // self._count), real // self._count, real % self._count

    def _local_share(self, x: jax.Array, dim: int) -> jax.Array:
        """This device's share of the outer part."""
        padded, inner, base, extra = self._shares(dim)
        coordinate = lax.axis_index(self._name)
        if self._even:
            return lax.dynamic_slice_in_dim(x, coordinate * inner, inner, dim)
        start = coordinate * base + jnp.minimum(coordinate, extra)
        return _take(x, start + jnp.arange(inner), dim, padded)

    def _pad_shares(self, x: jax.Array, dim: int) -> jax.Array:
        """The outer part as all shares one after the other, each padded to the same size."""
        if self._even:
            return x
        padded, inner, base, extra = self._shares(dim)
        coordinate, offset = jnp.divmod(jnp.arange(inner * self._count), inner)
        return _take(x, coordinate * base + jnp.minimum(coordinate, extra) + offset, dim, padded)

    def _pack(self, x: jax.Array, dim: int) -> jax.Array:
        """The outer part from all shares one after the other, each padded to the same size."""
        if self._even:
            return x
        padded, inner, base, extra = self._shares(dim)
        position = jnp.arange(padded)
        in_long = position < extra * (base + 1)
        rest = position - extra * (base + 1)
        short = jnp.maximum(base, 1)
        coordinate = jnp.where(in_long, position // (base + 1), extra + rest // short)
        offset = jnp.where(in_long, position % (base + 1), rest % short)
        return _take(x, coordinate * inner + offset, dim, inner * self._count)

    def _to_partial_sum(self, x: jax.Array, dim: int) -> jax.Array:
        """The outer part, -0.0 where it is not this device's share: a partial sum."""
        padded, inner, base, extra = self._shares(dim)
        coordinate = lax.axis_index(self._name)
        start = coordinate * base + jnp.minimum(coordinate, extra)
        size = base + as_index(coordinate < extra)
        position = jnp.arange(padded)
        taken = _take(x, position - start, dim, inner)
        is_local = (position >= start) & (position < start + size)
        shape = [1] * x.ndim
        shape[dim] = padded
        return jnp.where(is_local.reshape(shape), taken, sum_identity(x.dtype))

    def _first_to_partial_sum(self, x: jax.Array) -> jax.Array:
        """The whole on the first device and nothing on the others: a partial sum."""
        return jnp.where(lax.axis_index(self._name) == 0, x, sum_identity(x.dtype))


def _take(x: jax.Array, index: Any, dim: int, size: int) -> jax.Array:
    """Take elements of a dimension; an index out of range is of padding and gives any value."""
    return jnp.take(x, jnp.clip(index, 0, max(size - 1, 0)), axis=dim)


boxing = primitive("boxing", _boxing, kind=Kind.BOXING)
# The whole is the same: its gradient is the gradient, with whatever SBP that has.
boxing.gradient(x=lambda g: g)


@boxing.lowering("cpu")
def _boxing_on_cpu(
    x: jax.Array, *, shape: Sizes, hierarchy: Sizes, source: NdSbp, target: NdSbp
) -> jax.Array:
    return _convert(x, shape, hierarchy, source, target, reduce_scatter_on_cpu)
