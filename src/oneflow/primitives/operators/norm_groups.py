"""Group normalisation on GPUs and TPUs: groups and their channels as one dimension.

The activations around it are ``[N, C, places...]``, and XLA stores them with channels last. Sums
over places and channels with the groups between them are then sums of neither rows nor columns, and
XLA stores each summand first; and sums of two forms are two kernels, for which it stores what both
read. So each channel's places are added up here, some hundred at a time, which is enough work for
all cores of a chip; groups are made of those sums.
"""

from __future__ import annotations

import math
from typing import Any

import jax.numpy as jnp
from jax import lax

from oneflow.primitives.operators import lax_functions
from oneflow.primitives.operators.lax_functions import as_type, keepdim_sum, size_in

# Places that are added up at a time: at least, and at most where that is possible.
_ROW, _LONGEST_ROW = 256, 4096


def are_groups(shape: tuple[int, ...], dims: tuple[int, ...]) -> bool:
    """Return whether `dims` are channels and places of ``[N, groups, channels, places...]``."""
    return len(shape) > 3 and dims == tuple(range(2, len(shape))) and 0 not in shape


class _Groups:
    """Activations ``[N, groups, channels, places...]`` as ``[N, groups * channels, rows, row]``.

    What belongs to groups or channels is ``[N, groups, channels, 1]``, where the channels of a
    group may be one.
    """

    def __init__(self, shape: tuple[int, ...]) -> None:
        samples, groups, channels, *places = shape
        rows, row = _rows(places)
        self.flat = (samples, groups * channels, rows, row)
        self.channels = (samples, groups, channels, 1)
        self.row, self.count = row, channels * rows * row

    def flatten(self, x: Any) -> Any:
        """Activations, in float32 at least."""
        return lax.reshape(lax_functions.wide(x), self.flat)

    def row_sums(self, *summands: Any) -> list[Any]:
        """The sums of rows, ``[N, groups, channels, rows]``.

        XLA would make one sum of these and the sum of them.
        """
        sums = lax.optimization_barrier([lax.reduce_sum(x, (3,)) for x in summands])
        return [lax.reshape(x, (*self.channels[:3], self.flat[2])) for x in sums]

    def mean(self, sums: Any) -> Any:
        """The means of groups by sums of parts of their channels."""
        return lax.div(keepdim_sum(sums, (2, 3)), size_in(sums.dtype, self.count))

    def spread(self, x: Any) -> Any:
        """Numbers of groups or channels, in the form of activations without their places."""
        return lax.reshape(jnp.broadcast_to(x, self.channels), (*self.flat[:2], 1, 1))


def _rows(places: list[int]) -> tuple[int, int]:
    """The number of rows that places are cut into, and the size of a row.

    It is the least multiple of the last dimension from `_ROW` on, or the greatest below if that
    one is long.
    """
    whole, last = math.prod(places[:-1]), places[-1]
    factors = [factor for factor in range(1, whole + 1) if whole % factor == 0]
    rows = [last * factor for factor in factors]
    row = next((row for row in rows if _ROW <= row <= _LONGEST_ROW), None)
    row = row or max((row for row in rows if row < _ROW), default=last)
    return whole * last // row, row


def moments_of_groups(x: Any) -> tuple[Any, Any]:
    """Mean and biased variance of each group.

    Activations are read once, for sums of their distances to the first number of their row and of
    the squares. With d that number's distance to the mean of the row, the squares of distances to
    the mean are less by `row * d * d`, and at least `d * d` remains, since the first number is one
    of them. So the difference has `row` times the rounding error of a sum at most, and a few times
    if the first number is like others. Means of rows are distances to the first number of the group
    until they have been subtracted from each other.
    """
    groups, ndim = _Groups(x.shape), x.ndim
    x = groups.flatten(x)
    first = lax.slice_in_dim(x, 0, 1, axis=3)
    # Infinities and what has an infinite square would leave NaN where mean or variance is infinite.
    has_square = lax.is_finite(lax.mul(size_in(x.dtype, 4), lax.square(first)))
    first = lax_functions.replaced(first, lax.bitwise_not(has_square), 0.0)
    distance = lax_functions.sub(x, first)
    sums, squares = groups.row_sums(distance, lax.square(distance))
    size = size_in(x.dtype, groups.row)
    shift = lax.div(sums, size)
    less = lax.sub(squares, lax.mul(sums, shift))
    squares = lax.select(lax.is_finite(squares), less, squares)
    first = lax.reshape(first, sums.shape)
    origin = first[:, :, :1, :1]
    row_means = lax.add(lax_functions.sub(first, origin), shift)
    mean = groups.mean(lax.mul(row_means, size))
    between = lax.mul(lax.square(lax_functions.sub(row_means, mean)), size)
    moments = lax.add(origin, mean), groups.mean(lax.add(squares, between))
    shape = (*mean.shape, *(1,) * (ndim - 4))
    mean, variance = (lax.reshape(moment, shape) for moment in moments)
    return mean, variance


def gradient_of_groups(
    dy: Any, x: Any, mean: Any, variance: Any, weight: Any, eps: Any
) -> tuple[Any, Any, Any]:
    """The gradients of normalised groups in x and, for each sample, in weight and bias.

    The formula is that of `normalize_gradient`.

    Args:
        dy: the gradient of the result.
        x: what was normalised.
        mean: of each group.
        variance: of each group.
        weight: the same at all places.
        eps: added to the variance.
    """
    dtype, full, groups = x.dtype, x.shape, _Groups(x.shape)
    g, x = groups.flatten(dy), groups.flatten(x)
    mean, variance = (lax.reshape(part, (*full[:2], 1, 1)) for part in (mean, variance))
    weight = lax.reshape(weight, (*weight.shape[:3], 1)) if weight.ndim else weight
    rstd = lax.rsqrt(lax_functions.add(variance, eps))
    centered = lax_functions.sub(x, groups.spread(mean))
    g_sum, gh_sum = (keepdim_sum(sums, (3,)) for sums in groups.row_sums(g, lax.mul(g, centered)))
    gh_sum = lax_functions.mul(gh_sum, rstd)
    g_mean, gh_mean = (groups.mean(lax_functions.mul(sums, weight)) for sums in (g_sum, gh_sum))
    shift = lax_functions.mul(centered, groups.spread(lax.mul(gh_mean, rstd)))
    weighted = lax_functions.mul(g, groups.spread(weight))
    dx = lax_functions.sub(lax_functions.sub(weighted, groups.spread(g_mean)), shift)
    dx = lax.reshape(lax_functions.mul(dx, groups.spread(rstd)), full)
    ones = (*groups.channels[:3], *(1,) * (len(full) - 3))
    return as_type(dx, dtype), lax.reshape(gh_sum, ones), lax.reshape(g_sum, ones)
