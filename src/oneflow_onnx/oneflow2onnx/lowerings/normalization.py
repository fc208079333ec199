"""Normalisation: one ONNX operator where the opset has it, else mean, variance and arithmetic."""

from __future__ import annotations

import numpy as np

from oneflow_onnx.oneflow2onnx import operators as o
from oneflow_onnx.oneflow2onnx.builder import OnnxBuilder
from oneflow_onnx.oneflow2onnx.lowering import Call, lowering
from oneflow_onnx.oneflow2onnx.lowerings.convolution import channel_vector
from oneflow_onnx.oneflow2onnx.reference import Ref
from oneflow_onnx.oneflow2onnx.sizes import CapturedSize, combine


def _wide(b: OnnxBuilder, x: Ref) -> Ref:
    """Half precision as single precision."""
    return b.cast(x, np.float32) if x.dtype.itemsize < 4 else x


@lowering("moments")
def _moments(b: OnnxBuilder, call: Call) -> tuple[Ref, Ref]:
    (x,), dims = call.operands, call["dims"]
    x = _wide(b, x)
    mean = o.reduce(b, "ReduceMean", x, dims)
    centered = b.op("Sub", x, mean)
    square = b.op("Pow", centered, b.constant(2, x.dtype))
    return mean, o.reduce(b, "ReduceMean", square, dims)


@lowering("normalize_fixed")
def _normalize_fixed(b: OnnxBuilder, call: Call) -> Ref:
    x, mean, variance, weight, bias, eps = call.operands
    vectors = [_per_channel(b, call, vector, x) for vector in (weight, bias, mean, variance)]
    if x.rank > 1 and None not in vectors and eps.constant is not None:
        epsilon = float(eps.constant)
        return b.op("BatchNormalization", x, *vectors, shape=x.shape, epsilon=epsilon)
    return _arithmetic(b, x, mean, variance, weight, bias, eps)


def _per_channel(b: OnnxBuilder, call: Call, vector: Ref, x: Ref) -> Ref | None:
    """A statistic or weight as one number per channel of `x`; None if it is not that."""
    channels = x.shape[1] if x.rank > 1 else 1
    if isinstance(channels, CapturedSize):
        return None
    if vector.constant is not None and vector.constant.size == 1:
        return b.constant(np.full(channels, vector.constant.item(), x.dtype))
    if x.rank == 2 and vector.shape == (channels,):
        return vector
    return channel_vector(call, vector, x.rank)


def _arithmetic(
    b: OnnxBuilder, x: Ref, mean: Ref, variance: Ref, weight: Ref, bias: Ref, eps: Ref
) -> Ref:
    """``(x - mean) / sqrt(variance + eps) * weight + bias``, in the type of the statistics."""
    dtype = x.dtype
    wide = mean.dtype if mean.dtype.itemsize > x.dtype.itemsize else x.dtype
    x, mean, variance, weight, bias, eps = (
        b.cast(operand, wide) for operand in (x, mean, variance, weight, bias, eps)
    )
    result = b.op("Div", b.op("Sub", x, mean), b.op("Sqrt", b.op("Add", variance, eps)))
    result = result if weight.is_filled_with(1) else b.op("Mul", result, weight)
    result = result if bias.is_filled_with(0) else b.op("Add", result, bias)
    return b.cast(result, dtype)


@lowering("normalize")
def _normalize(b: OnnxBuilder, call: Call) -> Ref:
    x, mean, variance, weight, bias, eps = call.operands
    moments = call.producer_of(mean, "moments")
    are_of_x = moments is not None and moments.operands[0] is x
    dims = call["dims"]
    if are_of_x and eps.constant is not None:
        if dims == tuple(range(x.rank - len(dims), x.rank)) and b.opset >= 17:
            layer = _layer_norm(b, call)
            if layer is not None:
                return layer
        # Weights of layer normalisation have the shape of the normalised dimensions.
        is_layer = len(dims) in (weight.rank, bias.rank)
        if x.rank > 2 and dims == tuple(range(2, x.rank)) and not is_layer:
            return _group_norm(b, call)
    return _arithmetic(b, x, mean, variance, weight, bias, eps)


def _layer_norm(b: OnnxBuilder, call: Call) -> Ref | None:
    x, _, _, weight, bias, eps = call.operands
    dims = call["dims"]
    shape = tuple(x.shape[dim] for dim in dims)
    parameters = [_full(b, parameter, shape, x.dtype) for parameter in (weight, bias)]
    if any(parameter is None for parameter in parameters) or eps.constant is None:
        return None
    return b.op(
        "LayerNormalization",
        x,
        *parameters,
        shape=x.shape,
        axis=dims[0],
        epsilon=float(eps.constant),
    )


def _full(b: OnnxBuilder, parameter: Ref, shape: tuple, dtype: np.dtype) -> Ref | None:
    """A weight of exactly this shape; None if it is of another one."""
    if parameter.shape == shape:
        return b.cast(parameter, dtype)
    if (
        parameter.constant is None
        or parameter.constant.size != 1
        or any(isinstance(d, CapturedSize) for d in shape)
    ):
        return None
    return b.constant(np.full(shape, parameter.constant.item(), dtype))


def _group_norm(b: OnnxBuilder, call: Call) -> Ref:
    """Normalisation over all but batch and channels, or groups of channels."""
    x, mean, variance, weight, bias, eps = call.operands
    groups = x.shape[1]
    if isinstance(groups, CapturedSize) or eps.constant is None:
        return _arithmetic(b, x, mean, variance, weight, bias, eps)
    epsilon = float(eps.constant)
    vectors = [_per_channel(b, call, vector, x) for vector in (weight, bias)]
    if None not in vectors:
        return b.op("InstanceNormalization", x, *vectors, shape=x.shape, epsilon=epsilon)
    normalized = _group_normalization(b, call, epsilon)
    if normalized is not None:
        return normalized
    one, zero = (b.constant(np.full(groups, number, x.dtype)) for number in (1, 0))
    result = b.op("InstanceNormalization", x, one, zero, shape=x.shape, epsilon=epsilon)
    result = result if weight.is_filled_with(1) else b.op("Mul", result, b.cast(weight, x.dtype))
    return result if bias.is_filled_with(0) else b.op("Add", result, b.cast(bias, x.dtype))


def _group_normalization(b: OnnxBuilder, call: Call, epsilon: float) -> Ref | None:
    """The operator on the tensor before its channels were parted; None where it is not that."""
    x, _, _, weight, bias, _ = call.operands
    reshaped = call.producer_of(x, "reshape")
    sources = [call.producer_of(vector, "reshape") for vector in (weight, bias)]
    if b.opset < 21 or reshaped is None or None in sources:
        return None
    original = reshaped.operands[0]
    vectors = [source.operands[0] for source in sources if source is not None]
    channels = combine(x.shape[1], x.shape[2], lambda one, other: one * other)
    is_match = original.rank == x.rank - 1 and original.shape == (
        x.shape[0],
        channels,
        *x.shape[3:],
    )
    if not is_match or any(vector.shape != (channels,) for vector in vectors):
        return None
    result = b.op(
        "GroupNormalization",
        original,
        *vectors,
        shape=original.shape,
        epsilon=epsilon,
        num_groups=x.shape[1],
    )
    return o.reshape(b, result, x.shape)


@lowering("attach_moments")
def _attach_moments(b: OnnxBuilder, call: Call) -> tuple[Ref, Ref]:
    _, mean, variance = call.operands
    return mean, variance
