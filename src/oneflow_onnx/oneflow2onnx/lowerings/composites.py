"""Larger operators that a product ends: root mean square normalisation, fake quantisation."""

from __future__ import annotations

import numpy as np

from oneflow_onnx.oneflow2onnx import operators as o
from oneflow_onnx.oneflow2onnx.builder import OnnxBuilder
from oneflow_onnx.oneflow2onnx.lowering import Call, lowering
from oneflow_onnx.oneflow2onnx.reference import Ref

_INT8 = np.dtype(np.int8)


@lowering("mul")
def _mul(b: OnnxBuilder, call: Call) -> Ref:
    composite = _rms_norm(b, call) if b.opset >= 23 else None
    composite = composite or _fake_quantization(b, call)
    return composite or o.single_rounding(b, "Mul", *call.operands, dtype=call.result.dtype)


def _rms_norm(b: OnnxBuilder, call: Call) -> Ref | None:
    """``x / sqrt(mean(x^2) + eps) * weight`` as one operator; None where it is not that."""
    inner, weight = call.operands
    scaled = call.producer_of(inner, "mul")
    root = call.producer_of(scaled.operands[1], "rsqrt") if scaled else None
    total = call.producer_of(root.operands[0], "add") if root else None
    mean = call.producer_of(total.operands[0], "mean") if total else None
    square = call.producer_of(mean.operands[0], "square") if mean else None
    if scaled is None or total is None or mean is None or square is None:
        return None
    x, eps, dims = scaled.operands[0], total.operands[1].number, mean["dims"]
    last = tuple(range(x.rank - len(dims), x.rank))
    if square.operands[0] is not x or eps is None or dims != last:
        return None
    if weight.shape != x.shape[last[0] :]:
        return None
    return b.op("RMSNormalization", x, weight, shape=x.shape, axis=last[0], epsilon=float(eps))


def _fake_quantization(b: OnnxBuilder, call: Call) -> Ref | None:
    """``clamp(round(x / scale), -largest, largest) * scale``, by way of int8; None for all else."""
    number, scale = call.operands
    limited = call.producer_of(number, "clamp")
    round_call = call.producer_of(limited.operands[0], "round") if limited else None
    quotient = call.producer_of(round_call.operands[0], "div") if round_call else None
    if limited is None or quotient is None or quotient.operands[1] is not scale:
        return None
    x, (low, high) = quotient.operands[0], (bound.number for bound in limited.operands[1:])
    per_row = scale.rank == x.rank > 0 and scale.shape == (x.shape[0], *[1] * (x.rank - 1))
    if x.dtype != np.float32 or low is None or high is None or not 0 < high == -low < 128:
        return None
    if scale.rank and not (per_row and b.opset >= 13):
        return None
    # Quantised numbers go down to -128.
    ends = [b.op("Mul", scale, b.constant(end, x.dtype)) for end in (low, high)]
    within = b.op("Min", b.op("Max", x, ends[0]), ends[1])
    factors = o.reshape(b, scale, scale.shape[:1])
    zeros = b.constant(np.int8(0)) if not per_row else o.filled(b, factors.shape, 0, _INT8)
    axis = {"axis": 0} if per_row else {}
    small = b.op("QuantizeLinear", within, factors, zeros, shape=x.shape, dtype=_INT8, **axis)
    return b.op("DequantizeLinear", small, factors, zeros, shape=x.shape, dtype=x.dtype, **axis)
