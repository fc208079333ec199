"""Sums and maxima over sliding windows.

`dims` are the dimensions that windows slide along; `kernel`, `stride`, `dilation` and `padding`
(``(low, high)`` pairs) have one entry for each of them. Indices count the elements of the plane
that `dims` span, in row-major order.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from oneflow.primitives.operators.channels_last import follows
from oneflow.primitives.registry import primitive
from oneflow.primitives.sharding.axes import free_dims
from oneflow.primitives.traits import Fusion

Pairs = tuple[tuple[int, int], ...]
# Planes are independent of each other.
_PLANES = free_dims("dims")


class Windows(NamedTuple):
    """The attributes that window primitives share."""

    dims: tuple[int, ...]
    kernel: tuple[int, ...]
    stride: tuple[int, ...]
    padding: Pairs
    dilation: tuple[int, ...]

    def along(self, values: tuple, ndim: int, rest) -> list:
        """`values` at the window dimensions, `rest` at all others."""
        spread = [rest] * ndim
        for dim, value in zip(self.dims, values, strict=True):
            spread[dim] = value
        return spread

    def tile(self, size: tuple[int, ...]) -> bool:
        """Whether they cover spatial dimensions of `size` without gap, overlap or remainder."""
        return (
            self.kernel == self.stride
            and set(self.dilation) <= {1}
            and not any(low or high for low, high in self.padding)
            and not any(n % step for n, step in zip(size, self.stride, strict=True))
        )

    def reduce(self, x, start, computation):
        """`lax.reduce_window` with these windows."""
        kernel, stride, padding, dilation = (
            self.along(values, jnp.ndim(jax.tree.leaves(x)[0]), rest)
            for values, rest in (
                (self.kernel, 1),
                (self.stride, 1),
                (self.padding, (0, 0)),
                (self.dilation, 1),
            )
        )
        return lax.reduce_window(
            x, start, computation, kernel, stride, padding, window_dilation=dilation
        )


# --- sums


def window_totals(x, windows: Windows):
    """Sum of every window."""
    return windows.reduce(x, np.zeros((), x.dtype), lax.add)


def _window_sum(x, *, dims, kernel, stride, padding):
    return window_totals(x, Windows(dims, kernel, stride, padding, (1,) * len(dims)))


def _window_sum_adjoint(y, *, size, dims, kernel, stride, padding):
    windows = Windows(dims, kernel, stride, padding, (1,) * len(dims))
    shape = list(y.shape)
    for dim, length in zip(dims, size, strict=True):
        shape[dim] = length
    adjoint = jax.linear_transpose(
        lambda x: window_totals(x, windows), jax.ShapeDtypeStruct(tuple(shape), y.dtype)
    )
    return adjoint(y)[0]


window_sum = primitive(
    "window_sum",
    _window_sum,
    axes=_PLANES,
    channels_last=follows((True,), (True,)),
    linear=("x",),
)
window_sum_adjoint = primitive(
    "window_sum_adjoint",
    _window_sum_adjoint,
    axes=_PLANES,
    channels_last=follows((True,), (True,)),
    linear=("y",),
)
window_sum.gradient(
    x=lambda g, x_spec, dims, kernel, stride, padding: window_sum_adjoint(
        g,
        size=tuple(x_spec.shape[dim] for dim in dims),
        dims=dims,
        kernel=kernel,
        stride=stride,
        padding=padding,
    )
)
window_sum_adjoint.gradient(
    y=lambda g, dims, kernel, stride, padding: window_sum(
        g, dims=dims, kernel=kernel, stride=stride, padding=padding
    )
)

# --- maxima


def lowest(dtype):
    """The identity of the maximum.

    A NumPy constant: JAX must recognise the reduction to differentiate it.
    """
    if jnp.issubdtype(dtype, jnp.inexact):
        return np.array(-np.inf, dtype)
    return np.array(jnp.iinfo(dtype).min, dtype)


def window_maxima(x, windows: Windows):
    """Maximum of every window; a NaN wins."""
    return windows.reduce(x, lowest(x.dtype), lax.max)


def _max_pool(x, *, dims, kernel, stride, padding, dilation):
    return window_maxima(x, Windows(dims, kernel, stride, padding, dilation))


def _max_pool_gradient(y, x, out, *, dims, kernel, stride, padding, dilation):
    """The gradient goes to the first maximum of each window."""
    windows = Windows(dims, kernel, stride, padding, dilation)
    if any(spread > 1 for spread in dilation):  # JAX has no such gradient
        _, indices = _max_pool_with_indices(x, **windows._asdict())
        size = tuple(x.shape[dim] for dim in dims)
        return _plane_scatter(y, indices, dims=dims, size=size, accumulate=True)
    _, pullback = jax.vjp(lambda x: window_maxima(x, windows), x)
    return pullback(y)[0]


def plane_positions(shape: tuple[int, ...], dims: tuple[int, ...]):
    """For each element of an array of `shape`, its number within the plane of `dims`."""
    position = jnp.zeros(shape, jnp.int64)
    for dim in dims:
        position = position * shape[dim] + lax.broadcasted_iota(jnp.int64, shape, dim)
    return position


def _max_pool_with_indices(x, *, dims, kernel, stride, padding, dilation):
    """Maximum of every window and the position of its first occurrence (of a NaN, if any)."""

    def larger(one, other):
        (value, index), (challenger, place) = one, other
        equal = (challenger == value) | ((challenger != challenger) & (value != value))
        wins = (challenger > value) | ((challenger != challenger) & (value == value))
        wins = wins | (equal & (place < index))
        return jnp.where(wins, challenger, value), jnp.where(wins, place, index)

    windows = Windows(dims, kernel, stride, padding, dilation)
    start = (lowest(x.dtype), np.array(np.iinfo(np.int64).max))
    return tuple(windows.reduce((x, plane_positions(x.shape, dims)), start, larger))


max_pool = primitive(
    "max_pool",
    _max_pool,
    axes=_PLANES,
    real_only=True,
    fusion=Fusion(into_readers=True, reads_memory=True),
    channels_last=follows((True,), (True,)),
)
max_pool_gradient = primitive(
    "max_pool_gradient",
    _max_pool_gradient,
    axes=_PLANES,
    fusion=Fusion(into_readers=True, reads_memory=True),
    channels_last=follows((True, True, True), (True,)),
    linear=("y",),
)
max_pool_with_indices = primitive(
    "max_pool_with_indices",
    _max_pool_with_indices,
    axes=_PLANES,
    real_only=True,
)

max_pool.gradient(
    x=lambda g, x, out, all_attributes: max_pool_gradient(g, x, out, **all_attributes),
    writable="out",
    zero_second_gradients=True,
)
# Where the maximum is does not change with x, so only the incoming gradient has a gradient.
max_pool_gradient.gradient(
    y=lambda g, x, dims, all_attributes: plane_gather(
        g, max_pool_with_indices(x, **all_attributes)[1], dims=dims
    ),
)
max_pool_with_indices.gradient(
    x=lambda g, out, x_spec, dims: plane_scatter(
        g[0],
        out[1],
        dims=dims,
        size=tuple(x_spec.shape[dim] for dim in dims),
        accumulate=True,
    ),
    writable="out",
    zero_second_gradients=True,
)


def _flat_planes(x, dims: tuple[int, ...]):
    """`x` with the planes of `dims` flattened into a last dimension, and the shape before that."""
    others = [dim for dim in range(x.ndim) if dim not in dims]
    moved = lax.transpose(x, (*others, *dims))
    kept = moved.shape[: len(others)]
    return moved.reshape(*kept, math.prod(moved.shape[len(others) :])), moved.shape


def _from_flat_planes(flat, shape: tuple[int, ...], dims: tuple[int, ...]):
    """Undo `_flat_planes`; `shape` is the shape before flattening."""
    others = [dim for dim in range(len(shape)) if dim not in dims]
    order = (*others, *dims)
    return lax.transpose(flat.reshape(shape), tuple(order.index(d) for d in range(len(shape))))


def _plane_gather(x, indices, *, dims):
    flat, _ = _flat_planes(x, dims)
    wanted, shape = _flat_planes(indices, dims)
    return _from_flat_planes(jnp.take_along_axis(flat, wanted, axis=-1), shape, dims)


def _plane_scatter(y, indices, *, dims, size, accumulate: bool):
    """Zeros of spatial sizes `size` with `y` at `indices`: added (`accumulate`) or written."""
    flat, shape = _flat_planes(y, dims)
    positions, _ = _flat_planes(indices, dims)
    kept = shape[: len(shape) - len(dims)]
    into = jnp.zeros((math.prod(kept), math.prod(size)), y.dtype)
    rows = jnp.arange(math.prod(kept))[:, None]
    positions, flat = positions.reshape(math.prod(kept), -1), flat.reshape(math.prod(kept), -1)
    target = into.at[rows, positions]
    filled = target.add(flat, mode="drop") if accumulate else target.set(flat, mode="drop")
    return _from_flat_planes(filled, (*kept, *size), dims)


plane_gather = primitive("plane_gather", _plane_gather, axes=_PLANES, linear=("x",))
plane_scatter = primitive("plane_scatter", _plane_scatter, axes=_PLANES, linear=("y",))
plane_gather.gradient(
    x=lambda g, indices, x_spec, dims: plane_scatter(
        g, indices, dims=dims, size=tuple(x_spec.shape[dim] for dim in dims), accumulate=True
    )
)
plane_scatter.gradient(y=lambda g, indices, dims: plane_gather(g, indices, dims=dims))


def _unpool(x, indices, *, dims, size):
    return _plane_scatter(x, indices, dims=dims, size=size, accumulate=False)


def _find_bad_place(x, indices, *, dims, size):
    bad = (indices < 0) | (indices >= math.prod(size))
    return jnp.any(bad), jnp.max(jnp.where(bad, indices, jnp.iinfo(indices.dtype).min), initial=-1)


unpool = primitive("unpool", _unpool, axes=_PLANES, linear=("x",))
unpool.gradient(x=lambda g, indices, dims: plane_gather(g, indices, dims=dims))
unpool.checked(
    _find_bad_place,
    lambda value, attributes, specs: RuntimeError(
        f"Found an invalid max index: {value} (output volumes are of size "
        f"{'x'.join(map(str, attributes['size']))})"
    ),
)
