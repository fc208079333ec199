"""Normalisations, and dropout, which depends on the mode like batch normalisation."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

import oneflow as flow
from oneflow import Tensor
from oneflow.nn import functional as F
from oneflow_onnx.x2oneflow.registry import operator
from oneflow_onnx.x2oneflow.values import normalize_axis, number


@operator("BatchNormalization", constant=(3, 4))
def batch_normalization(
    x: Tensor,
    scale: Tensor,
    bias: Tensor,
    mean: Tensor,
    variance: Tensor,
    *,
    epsilon: float = 1e-5,
    momentum: float = 0.9,
    is_test: int = 0,
    spatial: int = 1,
    training: bool,
) -> Tensor:
    """Normalise channels by statistics: the stored ones, or the batch's while the module trains.

    ONNX's momentum is the weight of the old statistics, PyTorch's that of the new ones.
    """
    if not spatial:
        # Every activation has statistics of its own, so that all of them are channels.
        columns = x.reshape(x.shape[0], -1)
        scale, bias = scale.reshape(-1), bias.reshape(-1)
        mean, variance = mean.reshape(-1), variance.reshape(-1)
        y = _batch_norm(columns, scale, bias, mean, variance, epsilon, momentum, training)
        return y.reshape(x.shape)
    return _batch_norm(x, scale, bias, mean, variance, epsilon, momentum, training)


def _batch_norm(
    x: Tensor,
    scale: Tensor,
    bias: Tensor,
    mean: Tensor,
    variance: Tensor,
    epsilon: float,
    momentum: float,
    training: bool,
) -> Tensor:
    return F.batch_norm(x, mean, variance, scale, bias, training, 1 - momentum, epsilon)


@operator("BatchNormalization", since=14, constant=(3, 4))
def batch_normalization_with_statistics(
    x: Tensor,
    scale: Tensor,
    bias: Tensor,
    mean: Tensor,
    variance: Tensor,
    *,
    epsilon: float = 1e-5,
    momentum: float = 0.9,
    training_mode: int = 0,
    training: bool,
) -> Tensor | tuple[Tensor, Tensor, Tensor]:
    """Normalise channels; in training mode also return the new running statistics."""
    if not training_mode:
        return _batch_norm(x, scale, bias, mean, variance, epsilon, momentum, training)
    axes = [0, *range(2, x.ndim)]
    view = [1, -1, *[1] * (x.ndim - 2)]
    batch_mean = flow.mean(x, axes)
    batch_variance = flow.mean(flow.square(x - batch_mean.reshape(view)), axes)
    y = F.batch_norm(x, batch_mean, batch_variance, scale, bias, False, 0.0, epsilon)
    new_mean = mean * momentum + batch_mean * (1 - momentum)
    new_variance = variance * momentum + batch_variance * (1 - momentum)
    return y, new_mean, new_variance


@operator("InstanceNormalization")
def instance_normalization(
    x: Tensor, scale: Tensor, bias: Tensor, *, epsilon: float = 1e-5
) -> Tensor:
    """Normalise every channel of every entry of the batch."""
    if x.shape[2:].numel() == 1:
        return _single_elements(x) * _by_channel(scale, x) + _by_channel(bias, x)
    return F.instance_norm(x, weight=scale, bias=bias, eps=epsilon)


def _groups(x: Tensor, num_groups: int, epsilon: float) -> Tensor:
    """Groups of channels, normalised."""
    if x.shape[1:].numel() == num_groups:
        return _single_elements(x)
    return F.group_norm(x, num_groups, eps=epsilon)


def _single_elements(x: Tensor) -> Tensor:
    """Elements that are normalised each by itself; layers, which may be trained, refuse them."""
    return x - x


def _by_channel(weight: Tensor, x: Tensor) -> Tensor:
    """A weight of each channel of `x`, to broadcast."""
    return weight.reshape([1, -1, *[1] * (x.ndim - 2)])


@operator("LayerNormalization", since=17)
def layer_normalization(
    x: Tensor,
    scale: Tensor,
    bias: Tensor | None = None,
    *,
    axis: int = -1,
    epsilon: float = 1e-5,
    stash_type: int = 1,
    n_outputs: int,
) -> Any:
    """Normalise over the dimensions from `axis` on; further results are the statistics."""
    first = normalize_axis(axis, x.ndim)
    shape = list(x.shape[first:])
    if n_outputs == 1 and list(scale.shape) == shape:
        return F.layer_norm(x, shape, scale, bias, epsilon)
    axes = list(range(first, x.ndim))
    wide = x.to(flow.float32) if stash_type == 1 else x
    mean = flow.mean(wide, axes, keepdim=True)
    inverse = flow.rsqrt(flow.mean(flow.square(wide - mean), axes, keepdim=True) + epsilon)
    y = ((wide - mean) * inverse).to(x.dtype) * scale
    return (y if bias is None else y + bias), mean, inverse


@operator("RMSNormalization", since=23)
def rms_normalization(
    x: Tensor, scale: Tensor, *, axis: int = -1, epsilon: float = 1e-5, stash_type: int = 1
) -> Tensor:
    """Divide by the root of the mean square over the dimensions from `axis` on."""
    axes = list(range(normalize_axis(axis, x.ndim), x.ndim))
    wide = x.to(flow.float32) if stash_type == 1 else x
    inverse = flow.rsqrt(flow.mean(flow.square(wide), axes, keepdim=True) + epsilon)
    return (wide * inverse).to(x.dtype) * scale


@operator("GroupNormalization", since=18)
def group_normalization_by_group(
    x: Tensor, scale: Tensor, bias: Tensor, *, num_groups: int, epsilon: float = 1e-5
) -> Tensor:
    """Normalise groups of channels; scale and bias are per group before operator set 21."""
    times = x.shape[1] // num_groups
    scale, bias = scale.repeat_interleave(times), bias.repeat_interleave(times)
    return _groups(x, num_groups, epsilon) * _by_channel(scale, x) + _by_channel(bias, x)


@operator("GroupNormalization", since=21)
def group_normalization(
    x: Tensor,
    scale: Tensor,
    bias: Tensor,
    *,
    num_groups: int,
    epsilon: float = 1e-5,
    stash_type: int = 1,
) -> Tensor:
    """Normalise groups of channels."""
    wide = x.to(flow.float32) if stash_type == 1 else x
    normalized = _groups(wide, num_groups, epsilon).to(x.dtype)
    return normalized * _by_channel(scale, x) + _by_channel(bias, x)


@operator("LRN")
def local_response_normalization(
    x: Tensor, *, size: int, alpha: float = 1e-4, beta: float = 0.75, bias: float = 1.0
) -> Tensor:
    """Divide by a power of the mean square over neighbouring channels."""
    before = (size - 1) // 2
    squares = flow.square(x)
    padding = [0] * (2 * (x.ndim - 2)) + [before, size - 1 - before]
    padded = F.pad(squares, padding)
    channels = x.shape[1]
    total = sum(
        (padded.narrow(1, shift, channels) for shift in range(1, size)),
        padded.narrow(1, 0, channels),
    )
    return x / flow.pow(total * (alpha / size) + bias, beta)


@operator("LpNormalization")
def lp_normalization(x: Tensor, *, axis: int = -1, p: int = 2) -> Tensor:
    """Divide by the p-norm along `axis`; where that is 0 the result is 0."""
    if p == 1:
        norm = flow.sum(flow.abs(x), axis, keepdim=True)
    else:
        norm = flow.sqrt(flow.sum(flow.square(x), axis, keepdim=True))
    return flow.where(norm == 0, flow.zeros_like(x), x / norm)


@operator("MeanVarianceNormalization", since=9)
def mean_variance_normalization(x: Tensor, *, axes: Sequence[int] = (0, 2, 3)) -> Tensor:
    """Subtract the mean and divide by the standard deviation over `axes`."""
    mean = flow.mean(x, list(axes), keepdim=True)
    deviation = flow.sqrt(flow.mean(flow.square(x), list(axes), keepdim=True) - flow.square(mean))
    return (x - mean) / (deviation + 1e-9)


@operator("Dropout")
def dropout_at(
    x: Tensor, *, ratio: float = 0.5, is_test: int = 0, training: bool, n_outputs: int
) -> Any:
    """Drop elements while the module trains; before operator set 12."""
    return _drop(x, ratio if training else 0.0, n_outputs)


@operator("Dropout", since=12, host=(1, 2))
def dropout(
    x: Tensor,
    ratio: np.ndarray | None = None,
    training_mode: np.ndarray | None = None,
    *,
    seed: int | None = None,
    training: bool,
    n_outputs: int,
) -> Any:
    """Drop elements while the module trains, or if the model itself says so."""
    active = training or (training_mode is not None and bool(number(training_mode)))
    rate = 0.5 if ratio is None else number(ratio)
    return _drop(x, rate if active else 0.0, n_outputs)


def _drop(x: Tensor, rate: float, n_outputs: int) -> Any:
    if n_outputs == 1:
        return F.dropout(x, rate) if rate else x
    mask = flow.bernoulli(flow.full(x.shape, 1 - rate, device=x.device)).to(flow.bool)
    scale = 0.0 if math.isclose(rate, 1) else 1 / (1 - rate)
    return (x * mask.to(x.dtype) * scale).to(x.dtype), mask
