"""Comparisons, logic and choices."""

from __future__ import annotations

import numpy as np

from oneflow_onnx.oneflow2onnx import operators as o
from oneflow_onnx.oneflow2onnx.builder import OnnxBuilder
from oneflow_onnx.oneflow2onnx.lowering import Call, Lowering, lowering
from oneflow_onnx.oneflow2onnx.plain_functions import BOOL, is_finite
from oneflow_onnx.oneflow2onnx.reference import Ref


@lowering("le")
def _le(b: OnnxBuilder, call: Call) -> Ref:
    return _or_equal(b, "Less", *call.operands)


@lowering("ge")
def _ge(b: OnnxBuilder, call: Call) -> Ref:
    return _or_equal(b, "Greater", *call.operands)


def _or_equal(b: OnnxBuilder, name: str, x: Ref, y: Ref) -> Ref:
    if b.opset >= 12:
        return b.op(f"{name}OrEqual", x, y, dtype=BOOL)
    if not x.is_float:
        reverse = "Greater" if name == "Less" else "Less"
        return b.op("Not", b.op(reverse, x, y, dtype=BOOL))
    conditions = b.op(name, x, y, dtype=BOOL), b.op("Equal", x, y, dtype=BOOL)
    return b.op("Or", *conditions)


def _logic(name: str) -> Lowering:
    def lower(b: OnnxBuilder, call: Call) -> Ref:
        return b.op(name, *[o.as_bool(b, operand) for operand in call.operands])

    return lower


for _operator in ("And", "Or", "Xor", "Not"):
    lowering(f"logical_{_operator.lower()}")(_logic(_operator))


def _bitwise(logical: str) -> Lowering:
    def lower(b: OnnxBuilder, call: Call) -> Ref:
        is_logical = call.operands[0].dtype == BOOL
        return b.op(logical if is_logical else f"Bitwise{logical}", *call.operands)

    return lower


for _operator in ("And", "Or", "Xor", "Not"):
    lowering(f"bitwise_{_operator.lower()}")(_bitwise(_operator))


@lowering("where")
def _where(b: OnnxBuilder, call: Call) -> Ref:
    condition, x, y = call.operands
    dtype = call.result.dtype
    return o.where(b, condition, b.cast(x, dtype), b.cast(y, dtype))


@lowering("keep_if")
def _keep_if(b: OnnxBuilder, call: Call) -> Ref:
    x, condition = call.operands
    return o.where(b, condition, x, b.constant(0, x.dtype))


@lowering("drop_if")
def _drop_if(b: OnnxBuilder, call: Call) -> Ref:
    x, condition = call.operands
    return o.where(b, condition, b.constant(0, x.dtype), x)


@lowering("isnan")
def _isnan(b: OnnxBuilder, call: Call) -> Ref:
    (x,) = call.operands
    if not x.is_float:
        return o.filled(b, x.shape, False, BOOL)
    return b.op("IsNaN", x, dtype=BOOL)


@lowering("isinf")
def _isinf(b: OnnxBuilder, call: Call) -> Ref:
    (x,) = call.operands
    if not x.is_float:
        return o.filled(b, x.shape, False, BOOL)
    return b.op("IsInf", x, dtype=BOOL)


@lowering("isposinf", "isneginf")
def _isinf_of_sign(b: OnnxBuilder, call: Call) -> Ref:
    (x,) = call.operands
    infinity = np.inf if call.primitive == "isposinf" else -np.inf
    return b.op("Equal", x, b.constant(infinity, x.dtype), dtype=BOOL)


@lowering("signbit")
def _signbit(b: OnnxBuilder, call: Call) -> Ref:
    return is_negative(b, call.operands[0])


def is_negative(b: OnnxBuilder, x: Ref) -> Ref:
    """True where numbers have a minus sign; the sign of 0 shows in its reciprocal."""
    zero = b.constant(0, x.dtype)
    below = b.op("Less", x, zero, dtype=BOOL)
    if not x.is_float:
        return below
    return b.op("Or", below, b.op("Less", b.op("Reciprocal", x), zero, dtype=BOOL))


@lowering("copysign")
def _copysign(b: OnnxBuilder, call: Call) -> Ref:
    x, y = call.operands
    size = b.op("Abs", x)
    return o.where(b, is_negative(b, y), b.op("Neg", size), size)


@lowering("isfinite")
def _isfinite(b: OnnxBuilder, call: Call) -> Ref:
    (x,) = call.operands
    if not x.is_float:
        return o.filled(b, x.shape, True, BOOL)
    return is_finite(b, x)
