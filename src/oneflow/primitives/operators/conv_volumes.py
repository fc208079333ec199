"""Convolutions of volumes on the CPU: a sum of convolutions of planes, one per kernel depth.

XLA has no quick form for three spatial dimensions. Each function takes the convolution, or the
adjoint, of planes, and has its arguments.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np

from oneflow.primitives.operators.conv_xla import Window
from oneflow.primitives.operators.materialize import materialize_array
from oneflow.primitives.operators.windows import Windows

# Channels of all planes that a kernel reads, up to which they are put side by side: 48 take as long
# either way, and 192 longer.
_MIN_PARALLEL = 16


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
