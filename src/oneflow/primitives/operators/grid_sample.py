"""Sampling an image at arbitrary positions: a grid, an affine map's grid, moved patches.

Shapes: x is ``[N, C, *S]``, the grid ``[N, *O, n]`` with n = len(S), its last dimension in the
order (x, y, z), so backwards; coordinates run from -1 to 1.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np

from oneflow.base.dtype import DType
from oneflow.primitives.operation import Operation
from oneflow.primitives.operators import kinks
from oneflow.primitives.operators.lax_functions import index_dtype
from oneflow.primitives.operators.materialize import materialize_array
from oneflow.primitives.operators.resample import cubic_weights
from oneflow.primitives.operators.rounding import quotient
from oneflow.primitives.registry import primitive
from oneflow.primitives.sharding.axes import Axes, leading_axes


def _positions(coordinates, size: int, align_corners: bool):
    """Coordinates in elements."""
    if align_corners:
        return (coordinates + 1) / 2 * (size - 1)
    return ((coordinates + 1) * size - 1) / 2


def _reflect(positions, size: int, align_corners: bool):
    """Positions mirrored at the border until they are inside."""
    low, span = (0.0, size - 1) if align_corners else (-0.5, size)
    if span == 0:
        return jnp.zeros_like(positions)
    distance = jnp.abs(positions - low)  # at the lower border its slope is that of the inside
    segment = jnp.floor(quotient(distance, span))
    rest = distance - segment * span
    return jnp.where(segment % 2 == 0, rest + low, span - rest + low)


def _inside(positions, size: int, padding_mode: str, align_corners: bool):
    """Positions after padding: only ``"zeros"`` leaves any outside.

    One at the border or beyond does not move what is read there, so it has no gradient.
    """
    if padding_mode == "zeros":
        return positions
    if padding_mode == "reflection":
        positions = _reflect(positions, size, align_corners)
    return kinks.below(kinks.above(positions, 0), size - 1)


def _interpolation_points(
    positions, size: int, mode: str, padding_mode: str, align_corners: bool
) -> list[tuple]:
    """``(element, weight)`` pairs that an interpolation along one dimension sums."""
    if mode == "bicubic":
        low = jnp.floor(positions)
        weights = cubic_weights(positions - low)
        return [
            (_inside(low + offset, size, padding_mode, align_corners), weight)
            for offset, weight in zip((-1, 0, 1, 2), weights, strict=True)
        ]
    positions = _inside(positions, size, padding_mode, align_corners)
    if mode == "nearest":
        return [(jnp.round(positions), jnp.ones_like(positions))]
    low = jnp.floor(positions)
    return [(low, low + 1 - positions), (low + 1, positions - low)]


class _Layout(NamedTuple):
    """The place of channels while elements are read and added up.

    Attributes:
        channel_dim: the dimension of channels.
        read: the elements of images at an index ``[N, P]``.
        stored: numbers that are the same for all channels.
    """

    channel_dim: int
    read: Callable
    stored: Callable


def _at_positions(images, index):
    """The elements of images ``[N, C, S]``: ``[N, C, P]``."""
    return jnp.take_along_axis(images, index[:, None, :], axis=2)


def _at_rows(rows, index):
    """The elements of images ``[N, S, C]``: ``[N, P, C]``."""
    samples = jnp.arange(index.shape[0], dtype=index.dtype)[:, None]
    return rows.at[samples, index].get(mode="promise_in_bounds")


_CHANNELS_FIRST = _Layout(1, _at_positions, lambda numbers: numbers)
# For XLA on CPUs: all channels of a position are read and written together, and the index and the
# weights are not computed anew for each of them. 4 x 16 x 64 x 64 take 1.7 ms of processor time,
# and 3.7 where they are. With gradients it is 6.8 and 7.2: the weights are computed anew all the
# same, as JAX takes the operand of the call for its result.
_CHANNELS_LAST = _Layout(2, _at_rows, materialize_array)


def _interpolate(flat, sizes: list[int], along: list[list[tuple]], layout: _Layout):
    """The weighted sums of elements: ``[N, C, P]`` of images ``[N, C, product of sizes]``.

    `along` holds for each dimension the pairs of `_interpolation_points`, each ``[N, P]``; elements
    outside count as 0.
    """
    terms, dtype = [], index_dtype(2 * math.prod(sizes))
    images = jnp.moveaxis(flat, 1, layout.channel_dim)
    # Farther out than any element of a dimension, and a number that each dtype of positions has.
    limit = min(2.0 ** (np.iinfo(dtype).bits - 2), float(jnp.finfo(along[0][0][0].dtype).max))
    for corner in itertools.product(*along):
        index = jnp.zeros(corner[0][0].shape, dtype)
        weight = functools.reduce(jnp.multiply, [factor for _, factor in corner])
        for (position, _), size in zip(corner, sizes, strict=True):
            position = jnp.clip(jnp.nan_to_num(position, nan=-1.0), -limit, limit)
            element = position.astype(dtype)
            valid = (element >= 0) & (element < size)
            index = index * size + jnp.clip(element, 0, size - 1)
            # NaN stays. XLA makes a choice of a product with `valid`, which would lose it.
            weight = jnp.where(valid | jnp.isnan(weight), weight, 0)
        values = layout.read(images, layout.stored(index))
        weight = jnp.expand_dims(layout.stored(weight), layout.channel_dim)
        terms.append(values * weight.astype(flat.dtype))
    return jnp.moveaxis(functools.reduce(jnp.add, terms), layout.channel_dim, 1)


def _grid_sample(layout: _Layout, x, grid, *, mode: str, padding_mode: str, align_corners: bool):
    batch, channels, *sizes = x.shape
    flat = x.reshape(batch, channels, math.prod(sizes))
    count = math.prod(grid.shape[1:-1])
    along = [
        _interpolation_points(
            _positions(grid[..., len(sizes) - 1 - dim].reshape(batch, count), size, align_corners),
            size,
            mode,
            padding_mode,
            align_corners,
        )
        for dim, size in enumerate(sizes)
    ]
    return _interpolate(flat, sizes, along, layout).reshape(batch, channels, *grid.shape[1:-1])


def _axes(operation: Operation) -> Axes:
    """Samples, channels and positions to sample at are independent."""
    x, grid = operation.in_specs
    positions = tuple(f"d{dim}" for dim in range(1, grid.ndim - 1))
    return Axes(
        (("n", "c", *(None,) * (x.ndim - 2)), ("n", *positions, None)), (("n", "c", *positions),)
    )


_sample_positions = functools.partial(_grid_sample, _CHANNELS_FIRST)
grid_sample = primitive("grid_sample", _sample_positions, axes=_axes, linear=("x",))
grid_sample.lowering("cpu", differentiate=True)(functools.partial(_grid_sample, _CHANNELS_LAST))


def _affine_grid(theta, *, size: tuple[int, ...], align_corners: bool, dtype: DType):
    """``[N, *size, n]``: where the affine maps ``theta[N, n, n + 1]`` take a regular grid."""
    lines = []
    for length in size:
        steps = jnp.arange(length, dtype=dtype.numpy)
        if align_corners:
            line = steps * (2 / max(length - 1, 1)) - (1 if length > 1 else 0)
        else:
            line = quotient(steps * 2 + 1, length) - 1
        lines.append(line.astype(dtype.numpy))
    # Sums, not a product with a matrix of points: three columns are too few for its kernels.
    columns = jnp.moveaxis(theta, -1, 0)
    *columns, shift = columns.reshape(columns.shape[:2] + (1,) * len(size) + columns.shape[2:])
    terms = [
        line.reshape(-1, *(1,) * (number + 1)) * column
        for number, (line, column) in enumerate(zip(reversed(lines), columns, strict=True))
    ]
    return sum(terms[1:], terms[0]) + shift


affine_grid = primitive("affine_grid", _affine_grid, axes=leading_axes(2), linear=("theta",))


def _deform_patches(
    layout: _Layout,
    x,
    offset,
    *,
    kernel: tuple[int, int],
    stride: tuple[int, int],
    padding: tuple[int, int],
    dilation: tuple[int, int],
    groups: int,
):
    """Return the elements that a kernel reads at its offsets: ``[N, C, kernel_size, H', W']``.

    The offset is ``[N, groups * kernel_size * 2, H', W']``, (y, x) for each element of the
    kernel; each group of channels is moved by offsets of its own.
    """
    batch, channels, *sizes = x.shape
    kernel_size, places = kernel[0] * kernel[1], offset.shape[2:]
    wide = jnp.promote_types(offset.dtype, jnp.float32)
    offsets = offset.astype(wide).reshape(batch * groups, kernel_size, 2, *places)
    along = []
    for dim, size in enumerate(sizes):
        kernel_shape, place_shape = [1, 1], [1, 1]
        kernel_shape[dim], place_shape[dim] = kernel[dim], places[dim]
        within = jnp.arange(kernel[dim], dtype=wide) * dilation[dim] - padding[dim]
        place = jnp.arange(places[dim], dtype=wide) * stride[dim]
        within = jnp.broadcast_to(within.reshape(kernel_shape), kernel)
        base = within.reshape(kernel_size, 1, 1) + place.reshape(place_shape)
        positions = base + offsets[:, :, dim]
        positions = positions.reshape(batch * groups, kernel_size * places[0] * places[1])
        along.append(_interpolation_points(positions, size, "bilinear", "zeros", False))
    flat = x.reshape(batch * groups, channels // groups, math.prod(sizes))
    patches = _interpolate(flat, sizes, along, layout)
    return patches.reshape(batch, channels, kernel_size, *places)


def _patch_axes(operation: Operation) -> Axes:
    """Images are independent; channels are, too, if all are moved by the same offsets."""
    channel = "c" if operation.attributes["groups"] == 1 else None
    return Axes(
        (("n", channel, None, None), ("n", None, None, None)),
        (("n", channel, None, None, None),),
    )


_read_positions = functools.partial(_deform_patches, _CHANNELS_FIRST)
deform_patches = primitive("deform_patches", _read_positions, axes=_patch_axes, linear=("x",))
deform_patches.lowering("cpu", differentiate=True)(
    functools.partial(_deform_patches, _CHANNELS_LAST)
)
