"""Quantisation: linear maps to integers and narrow floats, and products of integers."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
from onnx import helper

import oneflow as flow
from oneflow import Tensor
from oneflow_onnx.x2oneflow.operators.conversion import cast
from oneflow_onnx.x2oneflow.operators.convolution import conv
from oneflow_onnx.x2oneflow.registry import Evaluation, operator
from oneflow_onnx.x2oneflow.values import (
    Value,
    as_host,
    as_tensor,
    dtype_of,
    element_type_of,
    normalize_axis,
)

_INTEGER_LIMITS: dict[int, tuple[int, int]] = {
    onnx.TensorProto.UINT16: (0, 65535),
    onnx.TensorProto.INT16: (-32768, 32767),
    onnx.TensorProto.UINT8: (0, 255),
    onnx.TensorProto.INT8: (-128, 127),
    onnx.TensorProto.UINT4: (0, 15),
    onnx.TensorProto.INT4: (-8, 7),
    onnx.TensorProto.UINT2: (0, 3),
    onnx.TensorProto.INT2: (-2, 1),
    onnx.TensorProto.INT32: (-(2**31), 2**31 - 1),
}


def _wide(value: Value, like: Tensor | None) -> Tensor:
    """Return a value of any numeric element type as a tensor of single precision."""
    if isinstance(value, Tensor):
        return value.to(flow.float32) if value.dtype != flow.float32 else value
    return as_tensor(value.astype(np.float32), like)


def _expand(parameter: Tensor, x: Value, axis: int, block_size: int) -> Tensor:
    """Return a scale or zero point, per tensor, axis or block, in the shape of `x`."""
    if parameter.numel() == 1 and parameter.ndim <= 1:
        return parameter.reshape(())
    dim = normalize_axis(axis, x.ndim)
    if parameter.ndim == 1 and not block_size:
        return parameter.reshape([-1 if d == dim else 1 for d in range(x.ndim)])
    if block_size:
        parameter = parameter.repeat_interleave(block_size, dim)
        return parameter.narrow(dim, 0, x.shape[dim])
    return parameter


def _first_tensor(*values: Value) -> Tensor | None:
    return next((value for value in values if isinstance(value, Tensor)), None)


@operator("DequantizeLinear", since=10, evaluation=Evaluation.ANY)
def dequantize(
    x: Value,
    scale: Value,
    zero_point: Value = None,
    *,
    axis: int = 1,
    block_size: int = 0,
    output_dtype: int = 0,
) -> Tensor:
    """Return ``(x - zero_point) * scale``."""
    like = _first_tensor(x, scale)
    kind = element_type_of(scale)
    target = output_dtype or kind
    if kind not in (onnx.TensorProto.FLOAT, onnx.TensorProto.FLOAT16, onnx.TensorProto.BFLOAT16):
        target = output_dtype or onnx.TensorProto.FLOAT
    y = _wide(x, like)
    if zero_point is not None:
        y = y - _expand(_wide(zero_point, like), x, axis, block_size)
    return (y * _expand(_wide(scale, like), x, axis, block_size)).to(dtype_of(target))


@operator("QuantizeLinear", since=10, evaluation=Evaluation.ANY)
def quantize(
    x: Value,
    scale: Value,
    zero_point: Value = None,
    *,
    axis: int = 1,
    block_size: int = 0,
    output_dtype: int = 0,
    precision: int = 0,
    saturate: int = 1,
) -> Value:
    """Return ``x / scale`` rounded to nearest, ties to even, plus `zero_point`, within limits."""
    like = _first_tensor(x, scale)
    kind = output_dtype or onnx.TensorProto.UINT8
    if zero_point is not None:
        kind = element_type_of(zero_point)
    y = _wide(x, like) / _expand(_wide(scale, like), x, axis, block_size)
    offset = None if zero_point is None else _expand(_wide(zero_point, like), x, axis, block_size)
    if kind not in _INTEGER_LIMITS:
        return cast(y if offset is None else y + offset, to=kind, saturate=saturate)
    y = flow.round(y)
    return _limited(y if offset is None else y + offset, kind)


def _limited(y: Tensor, kind: int) -> Value:
    """Return integral numbers as integers of an element type, clipped to its limits."""
    y = flow.clamp(y, *_INTEGER_LIMITS[kind])
    numpy_type = helper.tensor_dtype_to_np_dtype(kind)
    if kind in (onnx.TensorProto.UINT4, onnx.TensorProto.INT4) or numpy_type.itemsize < 1:
        return as_host(y).astype(numpy_type)
    try:
        return y.to(dtype_of(kind))
    except NotImplementedError:
        return as_host(y).astype(numpy_type)


@operator("DynamicQuantizeLinear", since=11)
def dynamic_quantize(x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Quantise to unsigned bytes with a scale and zero point found from the values."""
    low = flow.clamp(flow.amin(x), max=0.0)
    high = flow.clamp(flow.amax(x), min=0.0)
    span = (high - low) / 255
    scale = flow.where(span == 0, flow.ones_like(span), span)
    zero_point = flow.clamp(flow.round(-low / scale), 0, 255)
    quantized = flow.clamp(flow.round(x / scale) + zero_point, 0, 255)
    return quantized.to(flow.uint8), scale, zero_point.to(flow.uint8)


def _subtract_zero_point(x: Tensor, zero_point: Tensor | None, axis: int) -> Tensor:
    """Return integers less their zero point, in double precision, where products are exact."""
    wide = x.to(flow.float64)
    if zero_point is None:
        return wide
    offset = zero_point.to(flow.float64)
    if offset.ndim == 1 and offset.numel() > 1:
        offset = offset.reshape([-1 if d == axis % x.ndim else 1 for d in range(x.ndim)])
    return wide - (offset.reshape(()) if offset.numel() == 1 else offset)


@operator("MatMulInteger", since=10)
def matmul_integer(
    a: Tensor, b: Tensor, a_zero: Tensor | None = None, b_zero: Tensor | None = None
) -> Tensor:
    """Multiply matrices of bytes and return 32-bit integers."""
    rows = (
        _subtract_zero_point(a, a_zero, -2) if a.ndim > 1 else _subtract_zero_point(a, a_zero, -1)
    )
    return flow.matmul(rows, _subtract_zero_point(b, b_zero, -1)).to(flow.int32)


@operator("ConvInteger", since=10, evaluation=Evaluation.TENSORS)
def conv_integer(
    x: Tensor,
    weight: Tensor,
    x_zero: Tensor | None = None,
    weight_zero: Tensor | None = None,
    **attributes: Any,
) -> Tensor:
    """Convolve bytes and return 32-bit integers."""
    shifted = _subtract_zero_point(x, x_zero, 1), _subtract_zero_point(weight, weight_zero, 0)
    return conv(*shifted, **attributes).to(flow.int32)


@operator("QLinearMatMul", since=10)
def qlinear_matmul(
    a: Tensor,
    a_scale: Tensor,
    a_zero: Tensor,
    b: Tensor,
    b_scale: Tensor,
    b_zero: Tensor,
    y_scale: Tensor,
    y_zero: Tensor,
) -> Value:
    """Multiply quantised matrices and quantise the product."""
    product = flow.matmul(_subtract_zero_point(a, a_zero, -2), _subtract_zero_point(b, b_zero, -1))
    factor = a_scale.to(flow.float64) * b_scale.to(flow.float64) / y_scale.to(flow.float64)
    scaled = flow.round(product * factor) + y_zero.to(flow.float64)
    return _limited(scaled, element_type_of(y_zero))


@operator("QLinearConv", since=10, evaluation=Evaluation.TENSORS)
def qlinear_conv(
    x: Tensor,
    x_scale: Tensor,
    x_zero: Tensor,
    weight: Tensor,
    weight_scale: Tensor,
    weight_zero: Tensor,
    y_scale: Tensor,
    y_zero: Tensor,
    bias: Tensor | None = None,
    **attributes: Any,
) -> Value:
    """Convolve quantised values and quantise the result; biases are in units of both scales."""
    wide = None if bias is None else bias.to(flow.float64)
    total = conv(
        _subtract_zero_point(x, x_zero, 1),
        _subtract_zero_point(weight, weight_zero, 0),
        wide,
        **attributes,
    )
    factor = weight_scale.to(flow.float64) * x_scale.to(flow.float64) / y_scale.to(flow.float64)
    if factor.numel() > 1:
        factor = factor.reshape(1, -1, *[1] * (x.ndim - 2))
    scaled = flow.round(total * factor) + y_zero.to(flow.float64)
    return _limited(scaled, element_type_of(y_zero))
