"""Normalisation of channels on GPUs and TPUs: sums over their places, some hundred at a time.

Activations are ``[N, C, places...]``, and XLA stores them with channels last. Sums over places and
a group's channels, with the groups between them, are then sums of neither rows nor columns, and XLA
stores each summand first; and sums of two forms are two kernels, for which it stores what both
read. So each channel's places are added up here, in rows of some hundred, which is enough work for
all cores of a chip; groups are made of those sums.
"""

from __future__ import annotations

import functools
import math
import operator
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from oneflow.primitives.operators import lax_functions
from oneflow.primitives.operators.lax_functions import as_type, keepdim_sum, size_in

# Places that are added up at a time, and the bounds of their number where there are more of them.
_ROW, _LEAST_ROW, _LONGEST_ROW = 256, 32, 4096


class Places(NamedTuple):
    """The form of activations ``[N, groups, channels, places...]`` whose places are cut into rows.

    Activations are ``[N, groups * channels, rows, row]`` then. Sums and statistics are ``[N,
    groups, channels, rows]``, where all but `groups` may be 1.

    Attributes:
        samples: the size of a batch.
        groups: the number of groups of channels.
        channels: the number of channels in a group.
        rows: the number of rows.
        row: the number of places in a row.
        dims: the dimensions of sums over which statistics are.
    """

    samples: int
    groups: int
    channels: int
    rows: int
    row: int
    dims: tuple[int, ...]

    def flatten(self, x: Any) -> Any:
        """Activations, in float32 at least."""
        shape = (self.samples, self.groups * self.channels, self.rows, self.row)
        return lax.reshape(lax_functions.wide(x), shape)

    def row_sums(self, *values: Any) -> list[Any]:
        """The sums of rows.

        XLA would make one sum of these and the sum of them.
        """
        sums = lax.optimization_barrier([lax.reduce_sum(x, (3,)) for x in values])
        shape = (self.samples, self.groups, self.channels, self.rows)
        return [lax.reshape(x, shape) for x in sums]

    def mean(self, sums: Any) -> Any:
        """The means by the sums of parts."""
        sizes = (self.samples, self.groups, self.channels, self.rows)
        count = math.prod(sizes[dim] for dim in self.dims) * self.row
        return lax.div(keepdim_sum(sums, self.dims), size_in(sums.dtype, count))

    def broadcast(self, x: Any) -> Any:
        """Numbers of groups or channels, in the form of activations without their places."""
        x = jnp.broadcast_to(x, (self.samples, self.groups, self.channels, 1))
        return lax.reshape(x, (self.samples, self.groups * self.channels, 1, 1))


def places_of(shape: tuple[int, ...], dims: tuple[int, ...], grouped: bool) -> Places | None:
    """The form in which statistics are computed; None: they are not of channels with places.

    Args:
        shape: the shape of activations.
        dims: over which statistics are.
        grouped: dimension 2 is of a group's channels.
    """
    first = 3 if grouped else 2
    shape = tuple(map(operator.index, shape))
    if shape[:1] == (1,) and dims[:1] == (1,):  # the one part of a batch that a device has
        shape, dims = shape[1:], tuple(dim - 1 for dim in dims)
    is_batch = not grouped and dims == (0, *range(2, len(shape)))
    if len(shape) <= first or 0 in shape or not (grouped or is_batch):
        return None
    samples, groups, *channels = shape[:first]
    rows, row = _rows(shape[first:])
    dims_of_sums = (0, 3) if is_batch else (2, 3)
    return Places(samples, groups, channels[0] if channels else 1, rows, row, dims_of_sums)


def _rows(places: tuple[int, ...]) -> tuple[int, int]:
    """The number of rows that places are cut into, and the size of a row.

    It is the divisor next to `_ROW`, rather above it; all places are a row if that one is small.
    """
    count = math.prod(places)
    sizes = (*range(_ROW, _LONGEST_ROW + 1), *range(_ROW - 1, _LEAST_ROW, -1))
    row = next((size for size in sizes if count % size == 0), None)
    return (1, count) if row is None else (count // row, row)


@functools.partial(jax.jit, static_argnums=1)
def moments_of_places(x: Any, places: Places) -> tuple[Any, Any]:
    """Mean and biased variance, with the dimensions that they are over.

    A program has it once for all layers of a form, as it is a function of `jax.jit`.

    Activations are read once, for sums of their distances to the first number of their row and of
    the squares. With d that number's distance to the mean of the row, the squares of distances to
    the mean are less by `row * d * d`, and at least `d * d` remains, since the first number is one
    of them. So the difference has `row` times the rounding error of a sum at most, and a few times
    if the first number is like others. Means of rows are distances to the first number of all until
    they have been subtracted from each other.
    """
    ndim = x.ndim
    x = places.flatten(x)
    first = lax.slice_in_dim(x, 0, 1, axis=3)
    # Infinities and what has an infinite square would leave NaN where mean or variance is infinite.
    has_square = lax.is_finite(lax.square(first))
    first = lax.select(has_square, first, lax_functions.full_of(first, 0.0))
    distance = lax_functions.sub(x, first)
    sums, squares = places.row_sums(distance, lax.square(distance))
    size = size_in(x.dtype, places.row)
    shift = lax.div(sums, size)
    less = lax.sub(squares, lax.mul(sums, shift))
    squares = lax.select(lax.is_finite(squares), less, squares)
    first = lax.reshape(first, sums.shape)
    origin = first
    for dim in places.dims:
        origin = lax.slice_in_dim(origin, 0, 1, axis=dim)
    row_means = lax.add(lax_functions.sub(first, origin), shift)
    mean = places.mean(lax.mul(row_means, size))
    between = lax.mul(lax.square(lax_functions.sub(row_means, mean)), size)
    moments = lax.add(origin, mean), places.mean(lax.add(squares, between))
    shape = (*mean.shape[:2], *(1,) * (ndim - 2))
    mean, variance = (lax.reshape(moment, shape) for moment in moments)
    return mean, variance


def gradient_of_groups(
    dy: Any, x: Any, mean: Any, variance: Any, weight: Any, eps: Any, places: Places
) -> tuple[Any, Any, Any]:
    """The gradients of normalised groups in x and, for each sample, in weight and bias.

    The formula is that of `normalize_gradient`.

    Args:
        dy: the gradient of the result.
        x: what was normalised.
        mean: the mean of each group.
        variance: the variance of each group.
        weight: the same at all places.
        eps: added to the variance.
        places: the form of `x`.
    """
    dtype, full = x.dtype, x.shape
    g, x = places.flatten(dy), places.flatten(x)
    mean, variance = (lax.reshape(part, (*full[:2], 1, 1)) for part in (mean, variance))
    weight = lax.reshape(weight, (*weight.shape[:3], 1)) if weight.ndim else weight
    rstd = lax.rsqrt(lax_functions.add(variance, eps))
    centered = lax_functions.sub(x, places.broadcast(mean))
    g_sum, gh_sum = (keepdim_sum(sums, (3,)) for sums in places.row_sums(g, lax.mul(g, centered)))
    gh_sum = lax_functions.mul(gh_sum, rstd)
    g_mean, gh_mean = (places.mean(lax_functions.mul(sums, weight)) for sums in (g_sum, gh_sum))
    shift = lax_functions.mul(centered, places.broadcast(lax.mul(gh_mean, rstd)))
    weighted = lax_functions.mul(g, places.broadcast(weight))
    dx = lax_functions.sub(lax_functions.sub(weighted, places.broadcast(g_mean)), shift)
    dx = lax.reshape(lax_functions.mul(dx, places.broadcast(rstd)), full)
    ones = (*full[:3], *(1,) * (len(full) - 3))
    return as_type(dx, dtype), lax.reshape(gh_sum, ones), lax.reshape(g_sum, ones)
