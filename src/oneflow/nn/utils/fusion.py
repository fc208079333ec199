"""Batch normalization that is folded into the layer before it, for inference."""

from __future__ import annotations

import copy
from typing import TypeVar

from oneflow.differentiation.grad_mode import no_grad
from oneflow.module.module import Module
from oneflow.module.parameter import Parameter
from oneflow.tensor.tensor import Tensor

Layer = TypeVar("Layer", bound=Module)


def fuse_conv_bn_eval(conv: Layer, bn: Module, transpose: bool = False) -> Layer:
    """Return a copy of a convolution that gives what `bn` after it gives.

    Args:
        conv: the convolution, in evaluation mode.
        bn: the batch normalization after it, in evaluation mode, with running statistics.
        transpose: `conv` is transposed, and has its output channels in dimension 1.

    Raises:
        AssertionError: a layer is in training mode.
        ValueError: `bn` has no running statistics.

    Example:
        >>> import oneflow as flow
        >>> conv, bn = flow.nn.Conv2d(1, 2, 3).eval(), flow.nn.BatchNorm2d(2).eval()
        >>> x = flow.ones(1, 1, 4, 4)
        >>> fused = flow.nn.utils.fuse_conv_bn_eval(conv, bn)
        >>> flow.allclose(fused(x), bn(conv(x)), atol=1e-5)
        True
    """
    return _fused(conv, bn, transpose)


def fuse_conv_bn_weights(
    conv_w: Tensor,
    conv_b: Tensor | None,
    bn_rm: Tensor,
    bn_rv: Tensor,
    bn_eps: float,
    bn_w: Tensor | None,
    bn_b: Tensor | None,
    transpose: bool = False,
) -> tuple[Parameter, Parameter]:
    """Return weight and bias of the convolution that `fuse_conv_bn_eval` makes.

    Args:
        conv_w: its weight.
        conv_b: its bias.
        bn_rm: running mean.
        bn_rv: running variance.
        bn_eps: epsilon of the normalization.
        bn_w: weight of the normalization.
        bn_b: bias of the normalization.
        transpose: output channels are in dimension 1 of `conv_w`.

    Example:
        >>> import oneflow as flow
        >>> from oneflow.nn.utils import fuse_conv_bn_weights
        >>> mean, variance = flow.zeros(4), flow.ones(4)
        >>> weight, bias = fuse_conv_bn_weights(
        ...     flow.ones(4, 2, 3, 3), None, mean, variance, 0.0, 2 * flow.ones(4), flow.ones(4)
        ... )
        >>> weight.shape, weight[0, 0, 0, 0].item(), bias.tolist()
        (oneflow.Size([4, 2, 3, 3]), 2.0, [1.0, 1.0, 1.0, 1.0])
    """
    with no_grad():
        scale = (bn_rv + bn_eps).rsqrt()
        scale = scale if bn_w is None else scale * bn_w
        shape = [1] * conv_w.ndim
        shape[1 if transpose else 0] = -1
        bias = (-bn_rm if conv_b is None else conv_b - bn_rm) * scale
        bias = bias if bn_b is None else bias + bn_b
        weight = conv_w * scale.reshape(shape)
    needs_grad = [
        (conv_w if parameter is None else parameter).requires_grad for parameter in (conv_w, conv_b)
    ]
    return (
        Parameter(weight.to(conv_w.dtype), needs_grad[0]),
        Parameter(bias.to(conv_w.dtype), needs_grad[1]),
    )


def fuse_linear_bn_eval(linear: Layer, bn: Module) -> Layer:
    """Return a copy of a linear layer that gives what `bn` after it gives.

    Args and errors are those of `fuse_conv_bn_eval`.

    Example:
        >>> import oneflow as flow
        >>> linear, bn = flow.nn.Linear(3, 2).eval(), flow.nn.BatchNorm1d(2).eval()
        >>> x = flow.ones(4, 3)
        >>> fused = flow.nn.utils.fuse_linear_bn_eval(linear, bn)
        >>> flow.allclose(fused(x), bn(linear(x)), atol=1e-5)
        True
    """
    return _fused(linear, bn, transpose=False)


def fuse_linear_bn_weights(
    linear_w: Tensor,
    linear_b: Tensor | None,
    bn_rm: Tensor,
    bn_rv: Tensor,
    bn_eps: float,
    bn_w: Tensor | None,
    bn_b: Tensor | None,
) -> tuple[Parameter, Parameter]:
    """Return weight and bias of the layer that `fuse_linear_bn_eval` makes.

    Arguments are as for `fuse_conv_bn_weights`.

    Example:
        >>> import oneflow as flow
        >>> from oneflow.nn.utils import fuse_linear_bn_weights
        >>> mean, variance = flow.zeros(2), flow.ones(2)
        >>> weight, bias = fuse_linear_bn_weights(
        ...     flow.eye(2), flow.ones(2), mean, variance, 0.0, 2 * flow.ones(2), flow.zeros(2)
        ... )
        >>> weight.tolist(), bias.tolist()
        ([[2.0, 0.0], [0.0, 2.0]], [2.0, 2.0])
    """
    return fuse_conv_bn_weights(linear_w, linear_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b)


def _fused(layer: Layer, bn: Module, transpose: bool) -> Layer:
    if layer.training or bn.training:
        raise AssertionError("Fusion only for eval! Call `eval()` on both layers")
    if bn.running_mean is None or bn.running_var is None:
        raise ValueError("fusion needs running statistics; use track_running_stats=True")
    fused = copy.deepcopy(layer)
    statistics = (bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias)
    fused.weight, fused.bias = fuse_conv_bn_weights(
        layer.weight, layer.bias, *statistics, transpose=transpose
    )
    return fused
