"""Sums and maxima over sliding windows.

`dims` are the dimensions that windows slide along; `kernel`, `stride`, `dilation` and `padding`
(``(low, high)`` pairs) have one entry for each of them. Indices count the elements of the plane
that `dims` span, in row-major order.
"""

from __future__ import annotations

import functools
import math

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from oneflow.primitives.operators.channels_last import dims_rule
from oneflow.primitives.operators.materialize import materialize_array
from oneflow.primitives.operators.windows import MAX_KERNEL_SIZE, Windows
from oneflow.primitives.registry import primitive
from oneflow.primitives.sharding.axes import free_dims
from oneflow.primitives.traits import Fusion

# Elements of a window along one dimension from which on it may be far larger than its plane.
_WIDE = 256
# Planes are independent of each other.
_spatial_axes = free_dims("dims")


def _in_all_dims(windows: Windows, values: tuple, ndim: int, rest) -> list:
    """`values` at the dimensions of windows, `rest` at all others."""
    expanded = [rest] * ndim
    for dim, value in zip(windows.dims, values, strict=True):
        expanded[dim] = value
    return expanded


def _trimmed(windows: Windows, shape: tuple[int, ...]) -> Windows:
    """Windows without the elements that lie in the padding in every window.

    Args:
        windows: the windows.
        shape: the shape of the array that they slide along.
    """
    if max(windows.kernel) < _WIDE:
        return windows
    kernel, stride, padding = [], [], []
    for dim, width, step, (low, high), factor in zip(*windows, strict=True):
        span = (width - 1) * factor + 1
        last = (shape[dim] + low + high - span) // step * step
        before = max(low - last, 0) // factor
        after = max(span - low - shape[dim], 0) // factor
        kernel.append(width - before - after)
        stride.append(step if last else 1)
        padding.append((low - before * factor, high - after * factor))
    return windows._replace(kernel=tuple(kernel), stride=tuple(stride), padding=tuple(padding))


def _reduce_windows(x, windows: Windows, start, computation):
    """`lax.reduce_window` of an array, or of several alike ones."""
    shape = jnp.shape(jax.tree.leaves(x)[0])
    windows = _trimmed(windows, shape)
    kernel, stride, padding, dilation = (
        _in_all_dims(windows, values, len(shape), rest)
        for values, rest in (
            (windows.kernel, 1),
            (windows.stride, 1),
            (windows.padding, (0, 0)),
            (windows.dilation, 1),
        )
    )
    return lax.reduce_window(
        x, start, computation, kernel, stride, padding, window_dilation=dilation
    )


def _prefer_slices(windows: Windows) -> bool:
    """Return whether shifted slices beat XLA's window operations on the CPU."""
    return windows.dims[0] == 1 and math.prod(windows.kernel) <= MAX_KERNEL_SIZE


# --- sums


def _reduce_sum(x, windows: Windows):
    """Sum of every window."""
    return _reduce_windows(x, windows, np.zeros((), x.dtype), lax.add)


def _window_sum(x, *, dims, kernel, stride, padding):
    return _reduce_sum(x, Windows(dims, kernel, stride, padding, (1,) * len(dims)))


def _window_sum_adjoint(y, *, size, dims, kernel, stride, padding):
    windows = Windows(dims, kernel, stride, padding, (1,) * len(dims))
    shape = list(y.shape)
    for dim, length in zip(dims, size, strict=True):
        shape[dim] = length
    adjoint = jax.linear_transpose(
        lambda x: _reduce_sum(x, windows), jax.ShapeDtypeStruct(tuple(shape), y.dtype)
    )
    return adjoint(y)[0]


window_sum = primitive(
    "window_sum",
    _window_sum,
    axes=_spatial_axes,
    channels_last=dims_rule((True,), (True,)),
    linear=("x",),
)
window_sum_adjoint = primitive(
    "window_sum_adjoint",
    _window_sum_adjoint,
    axes=_spatial_axes,
    channels_last=dims_rule((True,), (True,)),
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
    ),
    zero_second_gradients=True,
)
window_sum_adjoint.gradient(
    y=lambda g, dims, kernel, stride, padding: window_sum(
        g, dims=dims, kernel=kernel, stride=stride, padding=padding
    )
)


@window_sum.lowering("cpu")
def _window_sum_on_cpu(x, *, dims, kernel, stride, padding):
    windows = Windows(dims, kernel, stride, padding, (1,) * len(dims))
    if not _prefer_slices(windows):
        return _reduce_sum(x, windows)
    parts = windows.gather(x, np.zeros((), x.dtype))
    return functools.reduce(jnp.add, parts.values())


@window_sum_adjoint.lowering("cpu")
def _window_sum_adjoint_on_cpu(y, *, size, dims, kernel, stride, padding):
    windows = Windows(dims, kernel, stride, padding, (1,) * len(dims))
    if not _prefer_slices(windows):
        return _window_sum_adjoint(
            y, size=size, dims=dims, kernel=kernel, stride=stride, padding=padding
        )
    return windows.scatter(lambda offset: y, size)


# --- maxima


def _lowest(dtype):
    """The identity of the maximum.

    A NumPy constant: JAX must recognise the reduction to differentiate it.
    """
    if jnp.issubdtype(dtype, jnp.inexact):
        return np.array(-np.inf, dtype)
    return np.array(jnp.iinfo(dtype).min, dtype)


def _reduce_max(x, windows: Windows):
    """Maximum of every window; a NaN wins."""
    return _reduce_windows(x, windows, _lowest(x.dtype), lax.max)


def _max_pool(x, *, dims, kernel, stride, padding, dilation):
    return _reduce_max(x, Windows(dims, kernel, stride, padding, dilation))


def _max_pool_gradient(y, x, out, *, dims, kernel, stride, padding, dilation):
    """The gradient goes to the first maximum of each window."""
    windows = Windows(dims, kernel, stride, padding, dilation)
    if any(expanded > 1 for expanded in dilation):  # JAX has no such gradient
        _, indices = _max_pool_with_indices(x, **windows._asdict())
        size = tuple(x.shape[dim] for dim in dims)
        return _plane_scatter(y, indices, dims=dims, size=size, accumulate=True)
    _, vjp = jax.vjp(lambda x: _reduce_max(x, windows), x)
    return vjp(y)[0]


def _plane_positions(shape: tuple[int, ...], dims: tuple[int, ...]):
    """For each element of an array of `shape`, its number within the plane of `dims`."""
    position = jnp.zeros(shape, jnp.int64)
    for dim in dims:
        position = position * shape[dim] + lax.broadcasted_iota(jnp.int64, shape, dim)
    return position


def _max_pool_with_indices(x, *, dims, kernel, stride, padding, dilation):
    """Maximum of every window and the position of its first occurrence (of a NaN, if any)."""

    def larger(one, other):
        (value, index), (other_value, other_index) = one, other
        equal = (other_value == value) | ((other_value != other_value) & (value != value))
        is_greater = (other_value > value) | ((other_value != other_value) & (value == value))
        is_greater = is_greater | (equal & (other_index < index))
        return jnp.where(is_greater, other_value, value), jnp.where(is_greater, other_index, index)

    windows = Windows(dims, kernel, stride, padding, dilation)
    start = (_lowest(x.dtype), np.array(np.iinfo(np.int64).max))
    positions = _plane_positions(x.shape, dims)
    return tuple(_reduce_windows((x, positions), windows, start, larger))


max_pool = primitive(
    "max_pool",
    _max_pool,
    axes=_spatial_axes,
    real_only=True,
    fusion=Fusion(into_users=True, reads_memory=True),
    channels_last=dims_rule((True,), (True,)),
)
max_pool_gradient = primitive(
    "max_pool_gradient",
    _max_pool_gradient,
    axes=_spatial_axes,
    fusion=Fusion(into_users=True, reads_memory=True),
    channels_last=dims_rule((True, True, True), (True,)),
    linear=("y",),
)
max_pool_with_indices = primitive(
    "max_pool_with_indices",
    _max_pool_with_indices,
    axes=_spatial_axes,
    real_only=True,
)

max_pool.gradient(
    x=lambda g, x, out, all_attributes: max_pool_gradient(g, x, out, **all_attributes),
    writable="out",
    zero_second_gradients=True,
)
# The position of the maximum does not change with x, so only the incoming gradient has a gradient.
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


@max_pool.lowering("cpu")
def _max_pool_on_cpu(x, *, dims, kernel, stride, padding, dilation):
    windows = Windows(dims, kernel, stride, padding, dilation)
    if not _prefer_slices(windows):
        return _reduce_max(x, windows)
    parts = windows.gather(x, _lowest(x.dtype))
    return functools.reduce(jnp.maximum, parts.values())


@max_pool_gradient.lowering("cpu")
def _max_pool_gradient_on_cpu(y, x, out, *, dims, kernel, stride, padding, dilation):
    windows = Windows(dims, kernel, stride, padding, dilation)
    if not _prefer_slices(windows):
        return _max_pool_gradient(y, x, out, **windows._asdict())
    # A copy of x is padded: XLA would keep the forward pass's padded x all that time.
    parts = windows.gather(materialize_array(x), _lowest(x.dtype))
    # The integers are as wide as the elements compared, or XLA's loop is not vectorised.
    int_dtype = jnp.int32 if x.dtype.itemsize <= 4 else jnp.int64
    number = {offset: int_dtype(index) for index, offset in enumerate(parts)}
    # The first maximum gets the gradient. It is found again: `out` may be that of an `x` which XLA
    # has computed a second time, and rounded otherwise.
    first, *others = parts
    largest, largest_at = parts[first], jnp.full(out.shape, number[first])
    for offset in others:
        part = parts[offset]
        is_larger = (part > largest) | ((part != part) & (largest == largest))
        largest = jnp.where(is_larger, part, largest)
        largest_at = jnp.where(is_larger, number[offset], largest_at)
    size = tuple(x.shape[dim] for dim in dims)
    if windows.tile(size):
        return _tiled_choice(largest_at, y, windows).reshape(x.shape)
    # Computed once; fused into every use it would be computed for each offset again.
    largest_at = materialize_array(largest_at)
    return windows.scatter(lambda offset: jnp.where(largest_at == number[offset], y, 0), size)


def _tiled_choice(offset, y, windows: Windows):
    """`y` at the chosen offset of each window, zeros at the others; offsets follow their window."""
    offsets = math.prod(windows.kernel)
    numbers = jnp.arange(offsets, dtype=offset.dtype).reshape(windows.kernel)
    kernel_dims = [dim + 1 + index for index, dim in enumerate(windows.dims)]
    others = [dim for dim in range(y.ndim + len(kernel_dims)) if dim not in kernel_dims]
    grid = jnp.expand_dims(numbers, others)
    y = materialize_array(y)  # read once per offset
    is_chosen = jnp.expand_dims(offset, kernel_dims) == grid
    return jnp.where(is_chosen, jnp.expand_dims(y, kernel_dims), 0)


# --- elements of planes by their position


def _flatten_spatial(x, dims: tuple[int, ...]):
    """`x` with the planes of `dims` flattened into a last dimension, and the shape before that."""
    others = [dim for dim in range(x.ndim) if dim not in dims]
    moved = lax.transpose(x, (*others, *dims))
    batch_shape = moved.shape[: len(others)]
    return moved.reshape(*batch_shape, math.prod(moved.shape[len(others) :])), moved.shape


def _unflatten_spatial(flat, shape: tuple[int, ...], dims: tuple[int, ...]):
    """Undo `_flatten_spatial`; `shape` is the shape before flattening."""
    others = [dim for dim in range(len(shape)) if dim not in dims]
    order = (*others, *dims)
    return lax.transpose(flat.reshape(shape), tuple(order.index(d) for d in range(len(shape))))


def _plane_gather(x, indices, *, dims):
    flat, _ = _flatten_spatial(x, dims)
    positions, shape = _flatten_spatial(indices, dims)
    return _unflatten_spatial(jnp.take_along_axis(flat, positions, axis=-1), shape, dims)


def _plane_scatter(y, indices, *, dims, size, accumulate: bool):
    """Zeros of spatial sizes `size` with `y` at `indices`: added (`accumulate`) or written."""
    flat, shape = _flatten_spatial(y, dims)
    positions, _ = _flatten_spatial(indices, dims)
    batch_shape = shape[: len(shape) - len(dims)]
    batch = math.prod(batch_shape)
    into = jnp.zeros((batch, math.prod(size)), y.dtype)
    rows = jnp.arange(batch)[:, None]
    positions, flat = (array.reshape(batch, array.shape[-1]) for array in (positions, flat))
    target = into.at[rows, positions]
    filled = target.add(flat, mode="drop") if accumulate else target.set(flat, mode="drop")
    return _unflatten_spatial(filled, (*batch_shape, *size), dims)


plane_gather = primitive("plane_gather", _plane_gather, axes=_spatial_axes, linear=("x",))
plane_scatter = primitive("plane_scatter", _plane_scatter, axes=_spatial_axes, linear=("y",))
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


unpool = primitive("unpool", _unpool, axes=_spatial_axes, linear=("x",))
unpool.gradient(x=lambda g, indices, dims: plane_gather(g, indices, dims=dims))
unpool.checked(
    _find_bad_place,
    lambda value, attributes, specs: RuntimeError(
        f"Found an invalid max index: {value} (output volumes are of size "
        f"{'x'.join(map(str, attributes['size']))})"
    ),
)
