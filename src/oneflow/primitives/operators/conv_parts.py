"""Convolutions on the CPU that are made of smaller ones.

XLA has no quick form for several groups or three spatial dimensions: its weight gradient of 32
groups of 4 channels takes 300 times as long as one convolution per group. Each function takes the
convolution, or the adjoint, that computes a part, and has its arguments.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from oneflow.primitives.operators.conv_xla import Window
from oneflow.primitives.operators.materialize import materialize_array
from oneflow.primitives.operators.windows import Windows

# Channels of all planes that a kernel reads, up to which they are put side by side: 48 take as long
# either way, and 192 longer.
_MIN_PARALLEL = 16

# --- one convolution per group


def by_group(compute: Callable[[Any, Any], Any], groups: int, axes: tuple[int, int, int]):
    """The results of all groups behind each other.

    Args:
        compute: from the parts of both operands to that of the result.
        groups: how many there are.
        axes: the dimension that holds them, of both operands and the result.
    """

    def computed(first, second):
        parts = zip(_split(first, axes[0], groups), _split(second, axes[1], groups), strict=True)
        return jnp.concatenate([compute(*pair) for pair in parts], axes[2])

    return computed


def _split(x, axis: int, count: int) -> list:
    return [materialize_array(part) for part in jnp.split(x, count, axis)]


# --- a sum of depthwise convolutions, one for each channel of a group


def _channel_for_each_output(x, at: int, groups: int, out: int):
    """Channel `at` of each group, once for each output channel of the group."""
    by_channel = x.reshape(*x.shape[:-1], groups, x.shape[-1] // groups)[..., at]
    return materialize_array(jnp.repeat(by_channel, out // groups, axis=-1))


def convolve_by_channel(convolve: Callable, x, weight, window: Window, dtype: Any, wide: Any):
    """The sum of depthwise convolutions, in the type `wide`; then in `dtype`."""
    out = weight.shape[0]
    depthwise = window._replace(groups=out)
    terms = [
        convolve(
            _channel_for_each_output(x, at, window.groups, out),
            weight[:, at : at + 1],
            depthwise,
            wide,
        )
        for at in range(weight.shape[1])
    ]
    return functools.reduce(jnp.add, map(materialize_array, terms)).astype(dtype)


def input_adjoint_by_channel(
    adjoint: Callable, y, weight, size: tuple[int, ...], window: Window, dtype: Any, wide: Any
):
    """The transpose of `convolve_by_channel` in its input."""
    out, groups = weight.shape[0], window.groups
    depthwise = window._replace(groups=out)
    channels = []
    for at in range(weight.shape[1]):
        part = materialize_array(adjoint(y, weight[:, at : at + 1], size, depthwise, wide))
        by_output = part.reshape(*part.shape[:-1], groups, out // groups)
        channels.append(jnp.sum(by_output, axis=-1))
    joined = jnp.stack(channels, axis=-1)
    return joined.reshape(*joined.shape[:-2], -1).astype(dtype)


def weight_adjoint_by_channel(adjoint: Callable, x, y, kernel: tuple[int, ...], window: Window):
    """The transpose of `convolve_by_channel` in its weight."""
    out, groups = y.shape[-1], window.groups
    depthwise = window._replace(groups=out)
    parts = [
        adjoint(_channel_for_each_output(x, at, groups, out), y, kernel, depthwise)
        for at in range(x.shape[-1] // groups)
    ]
    return jnp.concatenate(parts, axis=1)


# --- volumes: a sum of convolutions of all planes, one for each depth of the kernel


def _plane(window: Window) -> Window:
    """The window within a plane."""
    return window._replace(
        dims=(1, 2),
        stride=window.stride[1:],
        padding=window.padding[1:],
        dilation=window.dilation[1:],
    )


def _planes(x):
    """All planes as images of one batch."""
    return materialize_array(x.reshape(-1, *x.shape[2:]))


def _offsets_inside(along: Windows, size: int, count: int) -> list[int]:
    """The offsets in depth at which some window reads an element, and not all read padding."""
    _, (length,), (step,), ((low, _),), (rate,) = along
    starts = range(-low, count * step - low, step)
    return [at for at in range(length) if any(0 <= at * rate + start < size for start in starts)]


def convolve_by_depth(convolve: Callable, x, weight, window: Window, dtype: Any, wide: Any):
    """The sum of convolutions of planes, in the type `wide`; then in `dtype`.

    Few channels are put side by side, and are one convolution: 3 channels of 32 planes take 6 ms,
    and 14 as a sum of three.
    """
    along = window.with_kernel(weight.shape[2:]).along(0)
    shifted = along.gather(x, np.zeros((), x.dtype))
    inside = _offsets_inside(along, x.shape[1], along.counts(x.shape)[0]) or [0]
    parts = [_planes(shifted[(at,)]) for at in inside]
    kernels = [weight[:, :, at] for at in inside]
    if x.shape[-1] * len(inside) <= _MIN_PARALLEL:
        parts, kernels = [jnp.concatenate(parts, -1)], [jnp.concatenate(kernels, 1)]
    terms = [
        convolve(part, kernel, _plane(window), wide)
        for part, kernel in zip(parts, kernels, strict=True)
    ]
    total = functools.reduce(jnp.add, terms)
    return total.reshape(x.shape[0], -1, *total.shape[1:]).astype(dtype)


def input_adjoint_by_depth(
    adjoint: Callable, y, weight, size: tuple[int, ...], window: Window, dtype: Any, wide: Any
):
    """The transpose of `convolve_by_depth` in its input."""
    along = window.with_kernel(weight.shape[2:]).along(0)
    inside = _offsets_inside(along, size[0], y.shape[1])
    planes = _planes(y)

    def part(offset: tuple[int, ...]):
        if offset[0] not in inside:
            return jnp.zeros((*y.shape[:2], *size[1:], weight.shape[1]), wide)
        plane_adjoint = adjoint(planes, weight[:, :, offset[0]], size[1:], _plane(window), wide)
        return materialize_array(plane_adjoint.reshape(*y.shape[:2], *plane_adjoint.shape[1:]))

    return along.scatter(part, size[:1]).astype(dtype)


def weight_adjoint_by_depth(adjoint: Callable, x, y, kernel: tuple[int, ...], window: Window):
    """The transpose of `convolve_by_depth` in its weight."""
    along = window.with_kernel(kernel).along(0)
    inside = _offsets_inside(along, x.shape[1], y.shape[1])
    planes = _planes(y)
    zeros = jnp.zeros((y.shape[-1], x.shape[-1], *kernel[1:]), y.dtype)
    parts = [
        adjoint(_planes(part), planes, kernel[1:], _plane(window)) if at in inside else zeros
        for (at,), part in along.gather(x, np.zeros((), x.dtype)).items()
    ]
    return jnp.stack(parts, axis=2)


# --- few positions: a product of what the windows hold with the weight as it lies in memory


def _patches(x, windows: Windows):
    """The elements of each window, ``[N, *counts, channels * kernel size]``."""
    shifted = windows.gather(x, np.zeros((), x.dtype))
    patches = jnp.stack([shifted[offset] for offset in windows.all()], axis=-1)
    return materialize_array(patches.reshape(*patches.shape[:-2], -1))


def product(x, y, over: tuple[tuple[int, ...], tuple[int, ...]], dtype: Any = None):
    """The sums of products over one dimension or several of both operands, in `dtype`."""
    return lax.dot_general(x, y, (over, ((), ())), preferred_element_type=dtype)


def convolve_patches(x, weight, windows: Windows, dtype: Any):
    """The convolution, in `dtype`, as one product."""
    matrix = weight.reshape(weight.shape[0], -1)
    return product(_patches(x, windows), matrix, ((x.ndim - 1,), (1,)), dtype)


def input_adjoint_patches(y, weight, size: tuple[int, ...], windows: Windows, wide: Any):
    """The transpose of `convolve_patches` in its input, in the type `wide`."""
    matrix = weight.reshape(weight.shape[0], -1)
    patches = materialize_array(product(y, matrix, ((y.ndim - 1,), (0,)), wide))
    patches = patches.reshape(*y.shape[:-1], weight.shape[1], *windows.kernel)
    return windows.scatter(lambda offset: patches[(..., *offset)], size)


def weight_adjoint_patches(x, y, windows: Windows):
    """The transpose of `convolve_patches` in its weight."""
    rows = tuple(range(x.ndim - 1))
    matrix = product(y, _patches(x, windows), (rows, rows))
    return matrix.reshape(y.shape[-1], x.shape[-1], *windows.kernel)
