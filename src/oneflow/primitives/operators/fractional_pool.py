"""Maxima over windows at random places: Graham, "Fractional max-pooling" (2014).

Attributes have one entry for each of the dimensions behind the first two, which number the planes.
"""

from __future__ import annotations

import math

import jax.numpy as jnp

from oneflow.primitives.operation import Operation
from oneflow.primitives.operators.pool import plane_scatter
from oneflow.primitives.registry import primitive
from oneflow.primitives.sharding.axes import Axes


def _starts(sample, length: int, width: int, results: int):
    """The first element of each window along one dimension, the last one at the end."""
    last = jnp.full((*sample.shape, 1), length - width)
    if results < 2:
        return last[..., :results]
    step = jnp.asarray((length - width) / (results - 1), sample.dtype)
    moved = sample[..., None]
    numbers = jnp.arange(results - 1, dtype=sample.dtype)
    first = jnp.trunc((numbers + moved) * step) - jnp.trunc(moved * step)
    return jnp.concatenate([first.astype(last.dtype), last], -1)


def _places(size: tuple[int, ...], samples, kernel: tuple[int, ...], target: tuple[int, ...]):
    """The positions in the plane of the elements of every window: ``[N, C, *target, w]``."""
    count = len(size)
    places = jnp.zeros((), int)
    for dim, (length, width, results) in enumerate(zip(size, kernel, target, strict=True)):
        starts = _starts(samples[..., dim], length, width, results)
        along = [results if position == dim else 1 for position in range(count)]
        inside = [width if position == dim else 1 for position in range(count)]
        starts = starts.reshape(*starts.shape[:2], *along, *[1] * count)
        places = places * length + starts + jnp.arange(width).reshape(inside)
    return places.reshape(*places.shape[: 2 + count], math.prod(kernel))


def _fractional_max_pool(x, samples, *, kernel, target):
    """Maxima and where they are; the first of several, and of NaNs."""
    places = _places(x.shape[2:], samples, kernel, target)
    flat = x.reshape(*x.shape[:2], math.prod(x.shape[2:]))
    flat_places = places.reshape(*x.shape[:2], math.prod(places.shape[2:]))
    elements = jnp.take_along_axis(flat, flat_places, -1)
    elements = elements.reshape(places.shape)
    window_index = jnp.argmax(elements, -1, keepdims=True)
    values, indices = (
        jnp.take_along_axis(array, window_index, -1)[..., 0] for array in (elements, places)
    )
    return values, indices


def _axes_of_pool(operation: Operation) -> Axes:
    """Planes are independent of each other."""

    def names(specs):
        return tuple([("n", "c", *(None,) * (spec.ndim - 2)) for spec in specs])

    return Axes(names(operation.in_specs), names(operation.out_specs))


fractional_max_pool = primitive(
    "fractional_max_pool", _fractional_max_pool, axes=_axes_of_pool, real_only=True
)
fractional_max_pool.gradient(
    x=lambda g, out, x_spec: plane_scatter(
        g[0],
        out[1],
        dims=tuple(range(2, x_spec.ndim)),
        size=tuple(x_spec.shape[2:]),
        accumulate=True,
    ),
    writable="out",
    zero_second_gradients=True,
)
