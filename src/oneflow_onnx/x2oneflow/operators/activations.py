"""Activation functions."""

from __future__ import annotations

import math

import oneflow as flow
from oneflow import Tensor
from oneflow.nn import functional as F
from oneflow_onnx.x2oneflow.registry import operator
from oneflow_onnx.x2oneflow.values import normalize_axis


@operator("Relu")
def relu(x: Tensor) -> Tensor:
    """Return the elements, 0 in place of negative ones."""
    return F.relu(x)


@operator("LeakyRelu")
def leaky_relu(x: Tensor, *, alpha: float = 0.01) -> Tensor:
    """Scale the negative elements by `alpha`."""
    return F.leaky_relu(x, alpha)


@operator("PRelu")
def prelu_by_channel(x: Tensor, slope: Tensor) -> Tensor:
    """Scale the negative elements by slopes: one, or one per channel, before operator set 7."""
    if slope.numel() > 1 and slope.ndim == 1:
        slope = slope.reshape(-1, *[1] * (x.ndim - 2))
    return prelu(x, slope)


@operator("PRelu", since=7)
def prelu(x: Tensor, slope: Tensor) -> Tensor:
    """Scale the negative elements by slopes that are broadcast."""
    return flow.where(x < 0, x * slope, x)


@operator("Elu")
def elu(x: Tensor, *, alpha: float = 1.0) -> Tensor:
    """Exponential linear unit."""
    return F.elu(x, alpha)


@operator("Celu")
def celu(x: Tensor, *, alpha: float = 1.0) -> Tensor:
    """Continuously differentiable exponential linear unit."""
    return F.celu(x, alpha)


@operator("Selu")
def selu(
    x: Tensor, *, alpha: float = 1.67326319217681884765625, gamma: float = 1.05070102214813232421875
) -> Tensor:
    """Scaled exponential linear unit."""
    return F.elu(x, alpha) * gamma


@operator("ThresholdedRelu")
def thresholded_relu(x: Tensor, *, alpha: float = 1.0) -> Tensor:
    """Return the elements above `alpha`, 0 in place of others."""
    return flow.where(x > alpha, x, flow.zeros_like(x))


@operator("Gelu")
def gelu(x: Tensor, *, approximate: str = "none") -> Tensor:
    """Gaussian error linear unit."""
    return F.gelu(x, approximate=approximate)


@operator("HardSigmoid")
def hard_sigmoid(x: Tensor, *, alpha: float = 0.2, beta: float = 0.5) -> Tensor:
    """Return ``alpha * x + beta``, limited to [0, 1]."""
    return flow.clamp(x * alpha + beta, 0, 1)


@operator("HardSwish")
def hard_swish(x: Tensor) -> Tensor:
    """Return ``x * hard_sigmoid(x)``."""
    return F.hardswish(x)


@operator("Swish")
def swish(x: Tensor, *, alpha: float = 1.0) -> Tensor:
    """Return ``x * sigmoid(alpha * x)``."""
    return F.silu(x) if alpha == 1 else x * flow.sigmoid(x * alpha)


@operator("Mish")
def mish(x: Tensor) -> Tensor:
    """Return ``x * tanh(softplus(x))``."""
    return F.mish(x)


@operator("Softplus")
def softplus(x: Tensor) -> Tensor:
    """Return ``log(1 + exp(x))``."""
    return flow.logaddexp(x, flow.zeros_like(x))


@operator("Softsign")
def softsign(x: Tensor) -> Tensor:
    """Return ``x / (1 + |x|)``."""
    return F.softsign(x)


@operator("Shrink")
def shrink(x: Tensor, *, bias: float = 0.0, lambd: float = 0.5) -> Tensor:
    """Move the elements outside [-lambd, lambd] towards 0 by `bias`; the others become 0."""
    zero = flow.zeros_like(x)
    moved = flow.where(x < -lambd, x + bias, flow.where(x > lambd, x - bias, zero))
    return moved.to(x.dtype)


@operator("Softmax")
def softmax_flat(x: Tensor, *, axis: int = 1) -> Tensor:
    """Softmax over all dimensions from `axis` on, before operator set 13."""
    return F.softmax(_matrix(x, axis), -1).reshape(x.shape)


@operator("LogSoftmax")
def log_softmax_flat(x: Tensor, *, axis: int = 1) -> Tensor:
    """Logarithms of the softmax over all dimensions from `axis` on, before operator set 13."""
    return F.log_softmax(_matrix(x, axis), -1).reshape(x.shape)


@operator("Hardmax")
def hardmax_flat(x: Tensor, *, axis: int = 1) -> Tensor:
    """Return 1 at the first maximum over all dimensions from `axis` on, before operator set 13."""
    return hardmax(_matrix(x, axis), axis=-1).reshape(x.shape)


def _matrix(x: Tensor, axis: int) -> Tensor:
    return x.reshape(math.prod(x.shape[: normalize_axis(axis, x.ndim)]), -1)


@operator("Softmax", since=13)
def softmax(x: Tensor, *, axis: int = -1) -> Tensor:
    """Softmax over one dimension."""
    return F.softmax(x, axis)


@operator("LogSoftmax", since=13)
def log_softmax(x: Tensor, *, axis: int = -1) -> Tensor:
    """Logarithms of the softmax over one dimension."""
    return F.log_softmax(x, axis)


@operator("Hardmax", since=13)
def hardmax(x: Tensor, *, axis: int = -1) -> Tensor:
    """Return 1 at the first maximum along one dimension, 0 elsewhere."""
    indices = flow.argmax(x, axis, keepdim=True)
    return flow.zeros_like(x).scatter(axis, indices, flow.ones_like(x))
