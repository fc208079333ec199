"""Convolutions of several groups on the CPU: one for each group, or one for each of its channels.

XLA has no quick form: its gradient in the weight of 32 groups of 4 channels takes 300 times as long
as one convolution per group. Each function takes the convolution, or the adjoint, that computes a
part, and has its arguments.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np

from oneflow.primitives.operators.conv_xla import Window
from oneflow.primitives.operators.materialize import materialize_array

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

# Terms of an output that are added up in one go, those of 3 x 3 and four channels, if a group has
# as many outputs as half a vector of AVX2: with 5 x 5, 3 x 3 x 3 or two outputs that gains nothing.
_MAX_TERMS_AT_ONCE = 36
_MIN_OUTPUTS_OF_VECTORS = 4


def _channel_for_each_output(x, at: int, groups: int, out: int):
    """Channel `at` of each group, once for each output channel of the group."""
    by_channel = x.reshape(*x.shape[:-1], groups, x.shape[-1] // groups)[..., at]
    return materialize_array(jnp.repeat(by_channel, out // groups, axis=-1))


def convolve_by_channel(convolve: Callable, x, weight, window: Window, dtype: Any, wide: Any):
    """The sum of depthwise convolutions, in the type `wide`; then in `dtype`."""
    out = weight.shape[0]
    is_small = math.prod(weight.shape[1:]) <= _MAX_TERMS_AT_ONCE
    if is_small and out >= _MIN_OUTPUTS_OF_VECTORS * window.groups:
        return _convolve_at_once(x, weight, window, wide).astype(dtype)
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


def _convolve_at_once(x, weight, window: Window, dtype: Any):
    """All terms of all channels added up in one go, along the output channels of a group.

    No channel of `x` is written once for each output: 32 groups of 4 channels at 28 x 28 take two
    thirds of the time, with windows of stride 2 a third.
    """
    out, channels, *kernel = weight.shape
    windows = window.with_kernel(tuple(kernel))
    padded = materialize_array(windows.padded(x, np.zeros((), x.dtype)))
    windows = windows._replace(padding=((0, 0),) * len(kernel))
    by_group = weight.astype(dtype).reshape(window.groups, -1, *weight.shape[1:])
    kernels = materialize_array(jnp.moveaxis(by_group, 1, -1))
    terms = []
    for offset, part in windows.gather(padded, np.zeros((), x.dtype)).items():
        inputs = part.astype(dtype).reshape(*part.shape[:-1], window.groups, channels, 1)
        terms += [inputs[..., at, :] * kernels[:, at, *offset] for at in range(channels)]
    total = materialize_array(functools.reduce(jnp.add, terms))
    return total.reshape(*total.shape[:-2], out)


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
