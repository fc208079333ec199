"""Activation functions: one ONNX operator where the opset has it, else its formula."""

from __future__ import annotations

import math

import numpy as np

from oneflow_onnx.oneflow2onnx import operators as o
from oneflow_onnx.oneflow2onnx.builder import OnnxBuilder
from oneflow_onnx.oneflow2onnx.error_functions import erf
from oneflow_onnx.oneflow2onnx.lowering import Call, lowering
from oneflow_onnx.oneflow2onnx.reference import Ref

BOOL = np.dtype(bool)


@lowering("gelu")
def _gelu(b: OnnxBuilder, call: Call) -> Ref:
    (x,) = call.operands
    # ONNX Runtime takes `Gelu` of double precision apart into an `Erf` that it does not have.
    if b.opset >= 20 and x.dtype != np.float64:
        return b.op("Gelu", x)
    inner = erf(b, b.op("Mul", x, b.constant(math.sqrt(0.5), x.dtype)))
    half = b.op("Mul", x, b.constant(0.5, x.dtype))
    return b.op("Mul", half, b.op("Add", inner, b.constant(1, x.dtype)))


@lowering("gelu_tanh")
def _gelu_tanh(b: OnnxBuilder, call: Call) -> Ref:
    (x,) = call.operands
    if b.opset >= 20:
        return b.op("Gelu", x, approximate="tanh")
    cube = b.op("Mul", b.op("Mul", x, x), b.op("Mul", x, b.constant(0.044715, x.dtype)))
    scaled = b.op("Mul", b.op("Add", x, cube), b.constant(math.sqrt(2 / math.pi), x.dtype))
    half = b.op("Mul", x, b.constant(0.5, x.dtype))
    return b.op("Mul", half, b.op("Add", b.op("Tanh", scaled), b.constant(1, x.dtype)))


@lowering("quick_gelu")
def _quick_gelu(b: OnnxBuilder, call: Call) -> Ref:
    (x,) = call.operands
    return b.op("Mul", x, b.op("Sigmoid", b.op("Mul", x, b.constant(1.702, x.dtype))))


@lowering("silu")
def _silu(b: OnnxBuilder, call: Call) -> Ref:
    (x,) = call.operands
    return b.op("Swish", x) if b.opset >= 24 else b.op("Mul", x, b.op("Sigmoid", x))


@lowering("softplus")
def _softplus(b: OnnxBuilder, call: Call) -> Ref:
    """``log(1 + exp(beta x)) / beta``, and x itself above the threshold."""
    x, beta, threshold = (b.cast(operand, call.result.dtype) for operand in call.operands)
    is_plain = beta.constant is not None and float(beta.constant) == 1
    scaled = x if is_plain else b.op("Mul", x, beta)
    soft = b.op("Softplus", scaled)
    soft = soft if is_plain else b.op("Div", soft, beta)
    return o.where(b, b.op("Greater", scaled, threshold, dtype=BOOL), x, soft)


@lowering("mish")
def _mish(b: OnnxBuilder, call: Call) -> Ref:
    (x,) = call.operands
    return b.op("Mul", x, b.op("Tanh", b.op("Softplus", x)))


@lowering("log_sigmoid")
def _log_sigmoid(b: OnnxBuilder, call: Call) -> Ref:
    (x,) = call.operands
    return b.op("Neg", b.op("Softplus", b.op("Neg", x)))


@lowering("elu")
def _elu(b: OnnxBuilder, call: Call) -> Ref:
    """``scale * (x, or alpha * (exp(input_scale * x) - 1) below 0)``."""
    x, alpha, scale, input_scale = call.operands
    a, s, i = (_number(ref) for ref in (alpha, scale, input_scale))
    if i == 1 and s == 1:
        return b.op("Elu", x, alpha=a)
    if i == 1:
        return b.op("Selu", x, alpha=a, gamma=s)
    if i == 1 / a and s == 1 and b.opset >= 12:
        return b.op("Celu", x, alpha=a)
    zero = b.constant(0, x.dtype)
    exponential = b.op("Exp", b.op("Mul", b.op("Min", x, zero), b.constant(i, x.dtype)))
    below = b.op("Mul", b.op("Sub", exponential, b.constant(1, x.dtype)), b.constant(a, x.dtype))
    both = b.op("Add", b.op("Max", x, zero), below)
    return both if s == 1 else b.op("Mul", both, b.constant(s, x.dtype))


def _number(x: Ref) -> float:
    """A constant as a Python number."""
    assert x.constant is not None
    return float(x.constant)


@lowering("leaky_relu")
def _leaky_relu(b: OnnxBuilder, call: Call) -> Ref:
    x, slope = call.operands
    return b.op("LeakyRelu", x, alpha=_number(slope))


@lowering("prelu")
def _prelu(b: OnnxBuilder, call: Call) -> Ref:
    x, weight = call.operands
    return b.op("PRelu", x, weight, shape=x.shape)


@lowering("square_relu")
def _square_relu(b: OnnxBuilder, call: Call) -> Ref:
    positive = b.op("Relu", call.operands[0])
    return b.op("Mul", positive, positive)


@lowering("threshold")
def _threshold(b: OnnxBuilder, call: Call) -> Ref:
    x, limit, value = (b.cast(operand, call.result.dtype) for operand in call.operands)
    return o.where(b, b.op("Greater", x, limit, dtype=BOOL), x, value)


@lowering("hardshrink")
def _hardshrink(b: OnnxBuilder, call: Call) -> Ref:
    x, limit = (b.cast(operand, call.result.dtype) for operand in call.operands)
    outside = b.op("Greater", b.op("Abs", x), limit, dtype=BOOL)
    return o.where(b, outside, x, b.constant(0, x.dtype))


@lowering("softshrink")
def _softshrink(b: OnnxBuilder, call: Call) -> Ref:
    x, limit = call.operands
    if limit.constant is not None:
        return b.op("Shrink", x, lambd=float(limit.constant), bias=float(limit.constant))
    return b.op("Mul", b.op("Sign", x), b.op("Relu", b.op("Sub", b.op("Abs", x), limit)))


@lowering("tanhshrink")
def _tanhshrink(b: OnnxBuilder, call: Call) -> Ref:
    (x,) = call.operands
    return b.op("Sub", x, b.op("Tanh", x))


@lowering("hardsigmoid")
def _hardsigmoid(b: OnnxBuilder, call: Call) -> Ref:
    return b.op("HardSigmoid", call.operands[0], alpha=1 / 6, beta=0.5)


@lowering("hardswish")
def _hardswish(b: OnnxBuilder, call: Call) -> Ref:
    (x,) = call.operands
    if b.opset >= 14:
        return b.op("HardSwish", x)
    return b.op("Mul", x, b.op("HardSigmoid", x, alpha=1 / 6, beta=0.5))


@lowering("softmax", "log_softmax")
def _softmax(b: OnnxBuilder, call: Call) -> Ref:
    (x,) = call.operands
    name = "Softmax" if call.primitive == "softmax" else "LogSoftmax"
    dim = call["dim"]
    if not x.rank:
        return o.reshape(b, b.op(name, o.reshape(b, x, (1,)), axis=0), ())
    if b.opset >= 13 or dim == x.rank - 1:
        return b.op(name, x, axis=dim)
    # Before opset 13 all dimensions from the axis on were one.
    return o.move_back(b, b.op(name, o.move_last(b, x, dim), axis=x.rank - 1), dim)
