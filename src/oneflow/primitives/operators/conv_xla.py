"""Convolution and its two adjoints, each as one operation of XLA.

Activations and weights lie as `conv.py` says.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax.numpy as jnp
from jax import lax

from oneflow.primitives.operators.windows import Pairs, Windows
from oneflow.primitives.symbolic_size import specialized


class Window(NamedTuple):
    """The attributes that the three primitives share."""

    dims: tuple[int, ...]
    stride: tuple[int, ...]
    padding: Pairs
    dilation: tuple[int, ...]
    groups: int

    def with_kernel(self, kernel: tuple[int, ...]) -> Windows:
        """The windows that a kernel of these spatial sizes slides along."""
        return Windows(self.dims, kernel, self.stride, self.padding, self.dilation)


def sum_dtype(dtype: Any) -> Any:
    """The type that products of `dtype` are summed in: so half precision is rounded once."""
    is_inexact = jnp.issubdtype(dtype, jnp.inexact)
    return jnp.promote_types(dtype, jnp.float32) if is_inexact else dtype


def channel_dim(dims: tuple[int, ...]) -> int:
    """The channel dimension beside the spatial dimensions `dims`: the last or the second."""
    return len(dims) + 1 if dims[0] == 1 else 1


def bias_shape(dims: tuple[int, ...], channels: int) -> tuple[int, ...]:
    """The shape in which one number for each channel broadcasts with an activation."""
    size = (1,) * len(dims)
    return (1, *size, channels) if dims[0] == 1 else (1, channels, *size)


def convolve(x, weight, window: Window, dtype: Any = None):
    """The convolution as one XLA operation, returned in `dtype`: the operands' if it is None."""
    layout = (0, channel_dim(window.dims), *window.dims)
    kernel = tuple(range(weight.ndim))
    return lax.conv_general_dilated(
        x,
        weight,
        window.stride,
        window.padding,
        rhs_dilation=window.dilation,
        dimension_numbers=lax.ConvDimensionNumbers(layout, kernel, layout),
        feature_group_count=window.groups,
        preferred_element_type=dtype,
    )


def convolve_input_adjoint(y, weight, size: tuple[int, ...], window: Window, dtype: Any = None):
    """The transpose of `convolve` in its input, whose spatial sizes are `size`.

    Written out, because JAX transposes neither integers nor for symbolic sizes.
    """
    groups, spatial = window.groups, tuple(range(2, weight.ndim))
    if groups > 1:
        # Output channels of a group behind its input channels, as if there were one group.
        parts = weight.reshape(groups, weight.shape[0] // groups, *weight.shape[1:])
        weight = jnp.moveaxis(parts, 0, 1).reshape(parts.shape[1], -1, *weight.shape[2:])
    pads = window.with_kernel(weight.shape[2:]).adjoint_padding(y.shape, size)
    padding = [(specialized(low), specialized(high)) for low, high in pads]
    layout = (0, channel_dim(window.dims), *window.dims)
    return lax.conv_general_dilated(
        y,
        lax.rev(weight, spatial),
        (1,) * len(spatial),
        padding,
        lhs_dilation=window.stride,
        rhs_dilation=window.dilation,
        # Output channels of the weight are what this convolution sums over.
        dimension_numbers=lax.ConvDimensionNumbers(layout, (1, 0, *spatial), layout),
        feature_group_count=groups,
        preferred_element_type=dtype,
    )


def convolve_weight_adjoint(x, y, kernel: tuple[int, ...], window: Window):
    """The transpose of `convolve` in its weight, whose spatial sizes are `kernel`.

    A convolution over the batch: its kernel is `y`, spread by the stride.
    """
    padding = []
    for at, dim in enumerate(window.dims):
        low = window.padding[at][0]
        kernel_span = window.dilation[at] * (kernel[at] - 1)
        filled = (y.shape[dim] - 1) * window.stride[at] + 1
        padding.append((low, specialized(kernel_span + filled - low - x.shape[dim])))
    channel = channel_dim(window.dims)
    layout = (channel, 0, *window.dims)
    return lax.conv_general_dilated(
        x,
        y,
        window.dilation,
        padding,
        rhs_dilation=window.stride,
        dimension_numbers=lax.ConvDimensionNumbers(layout, layout, (1, 0, *range(2, x.ndim))),
        batch_group_count=window.groups,
    )
