"""Arithmetic and functions of one number."""

from __future__ import annotations

import math

import numpy as np

from oneflow_onnx.oneflow2onnx import operators as o
from oneflow_onnx.oneflow2onnx.bits import shift_bits, shift_with_sign
from oneflow_onnx.oneflow2onnx.builder import OnnxBuilder
from oneflow_onnx.oneflow2onnx.lowering import Call, lowering
from oneflow_onnx.oneflow2onnx.lowerings.convolution import bias_added
from oneflow_onnx.oneflow2onnx.lowerings.pooling import average_of_quotient
from oneflow_onnx.oneflow2onnx.lowerings.rotary import rotary_embedding
from oneflow_onnx.oneflow2onnx.plain_functions import PLAIN_FUNCTIONS, on_operands, one_operator
from oneflow_onnx.oneflow2onnx.reference import Ref

_OPERATORS = {
    "sigmoid": "Sigmoid",
    "relu": "Relu",
    "round": "Round",
    "reciprocal": "Reciprocal",
    "softsign": "Softsign",
    "maximum": "Max",
    "minimum": "Min",
}
for _primitive, _function in PLAIN_FUNCTIONS.items():
    lowering(_primitive)(on_operands(_function))
for _primitive, _operator in _OPERATORS.items():
    lowering(_primitive)(on_operands(one_operator(_operator)))


@lowering("add")
def _add(b: OnnxBuilder, call: Call) -> Ref:
    fused = rotary_embedding(b, call) or bias_added(b, call)
    return b.op("Add", *call.operands) if fused is None else fused


@lowering("div")
def _div(b: OnnxBuilder, call: Call) -> Ref:
    pooled = average_of_quotient(b, call)
    if pooled is not None:
        return pooled
    return o.single_rounding(b, "Div", *call.operands, dtype=call.result.dtype)


@lowering("cast")
def _cast(b: OnnxBuilder, call: Call) -> Ref:
    (x,) = call.operands
    return b.cast(x, call.result.dtype)


@lowering("clone", "materialize", "optimization_barrier", "boxing", "transfer", "conj", "real_part")
def _identity(b: OnnxBuilder, call: Call) -> Ref:
    return call.operands[0]


@lowering("barrier")
def _barrier(b: OnnxBuilder, call: Call) -> tuple[Ref, ...]:
    return tuple(call.operands[: len(call.results)])


@lowering("overwrite")
def _overwrite(b: OnnxBuilder, call: Call) -> Ref:
    return call.operands[1]


@lowering("add_scaled")
def _add_scaled(b: OnnxBuilder, call: Call) -> Ref:
    x, y, factor = call.operands
    return b.op("Add", x, y if factor.is_filled_with(1) else b.op("Mul", y, factor))


@lowering("add_product")
def _add_product(b: OnnxBuilder, call: Call) -> Ref:
    x, y, z, factor = call.operands
    product = b.op("Mul", y, z)
    return b.op("Add", x, product if factor.is_filled_with(1) else b.op("Mul", product, factor))


@lowering("add_quotient")
def _add_quotient(b: OnnxBuilder, call: Call) -> Ref:
    x, y, z, factor = call.operands
    return b.op("Add", x, b.op("Div", y if factor.is_filled_with(1) else b.op("Mul", y, factor), z))


@lowering("cube")
def _cube(b: OnnxBuilder, call: Call) -> Ref:
    (x,) = call.operands
    return b.op("Mul", b.op("Mul", x, x), x)


@lowering("pow")
def _pow(b: OnnxBuilder, call: Call) -> Ref:
    x, y = (b.cast(operand, call.result.dtype) for operand in call.operands)
    power = b.op("Pow", x, y)
    if x.is_float or (y.number is not None and y.number >= 0):
        return power
    # A negative power of an integer is 0; for the base 0 the runtime would give no number.
    zero = b.constant(0, x.dtype)
    none = [
        b.op(name, operand, zero, dtype=np.dtype(bool))
        for name, operand in (("Equal", x), ("Less", y))
    ]
    return o.where(b, b.op("And", *none), zero, power)


@lowering("sign")
def _sign(b: OnnxBuilder, call: Call) -> Ref:
    (x,) = call.operands
    sign = b.op("Sign", x)
    if not x.is_float:
        return sign
    # ONNX leaves the sign of NaN open; here it is 0.
    zero = b.constant(0, x.dtype)
    return o.where(b, b.op("IsNaN", x, dtype=np.dtype(bool)), zero, sign)


def truncated(b: OnnxBuilder, x: Ref) -> Ref:
    """`x` rounded towards 0."""
    return b.op("Mul", b.op("Sign", x), b.op("Floor", b.op("Abs", x)))


lowering("trunc")(on_operands(truncated))


@lowering("frac")
def _frac(b: OnnxBuilder, call: Call) -> Ref:
    (x,) = call.operands
    return b.op("Sub", x, truncated(b, x))


lowering("fmod", "integer_fmod")(on_operands(one_operator("Mod", fmod=1)))


lowering("integer_remainder")(on_operands(one_operator("Mod")))


@lowering("remainder")
def _remainder(b: OnnxBuilder, call: Call) -> Ref:
    """``x - floor(x / y) * y``, by way of the exact rest: no quotient is rounded."""
    x, y = call.operands
    if not x.is_float:
        return b.op("Mod", x, y)
    rest = b.op("Mod", x, y, fmod=1)
    return o.where(b, _rounds_up(b, rest, y), b.op("Add", rest, y), rest)


def _rounds_up(b: OnnxBuilder, rest: Ref, y: Ref) -> Ref:
    """Return where division towards 0, which leaves `rest`, is above division rounded down."""
    zero, truth = b.constant(0, y.dtype), np.dtype(bool)
    negative = [b.op("Less", number, zero, dtype=truth) for number in (rest, y)]
    has_other_sign = b.op("Xor", *negative, dtype=truth)
    return b.op("And", has_other_sign, b.op("Not", b.op("Equal", rest, zero, dtype=truth)))


@lowering("floor_divide", "integer_floor_divide")
def _floor_divide(b: OnnxBuilder, call: Call) -> Ref:
    x, y = call.operands
    if not x.is_float:
        return b.op("Div", b.op("Sub", x, b.op("Mod", x, y)), y)
    # The rest is subtracted first, so that the quotient is whole and 1 // 0.1 is 9.
    rest, zero, one = b.op("Mod", x, y, fmod=1), b.constant(0, x.dtype), b.constant(1, x.dtype)
    quotient = b.op("Div", b.op("Sub", x, rest), y)
    quotient = o.where(b, _rounds_up(b, rest, y), b.op("Sub", quotient, one), quotient)
    half = b.constant(0.5, x.dtype)
    below = b.op("Floor", quotient)
    above = b.op("Greater", b.op("Sub", quotient, below), half, dtype=np.dtype(bool))
    nearest = o.where(b, above, b.op("Add", below, one), below)
    by_zero = b.op("Equal", y, zero, dtype=np.dtype(bool))
    return o.where(b, by_zero, b.op("Div", x, y), nearest)


@lowering("trunc_divide", "integer_trunc_divide")
def _trunc_divide(b: OnnxBuilder, call: Call) -> Ref:
    quotient = b.op("Div", *call.operands)
    return truncated(b, quotient) if quotient.is_float else quotient


@lowering("lerp")
def _lerp(b: OnnxBuilder, call: Call) -> Ref:
    x, y, weight = call.operands
    return b.op("Add", x, b.op("Mul", weight, b.op("Sub", y, x)))


@lowering("clamp", "hardtanh")
def _clamp(b: OnnxBuilder, call: Call) -> Ref:
    x, low, high = call.operands
    return limited(b, call, x, low, high)


@lowering("clamp_min")
def _clamp_min(b: OnnxBuilder, call: Call) -> Ref:
    x, low = call.operands
    return limited(b, call, x, low, None)


@lowering("clamp_max")
def _clamp_max(b: OnnxBuilder, call: Call) -> Ref:
    x, high = call.operands
    return limited(b, call, x, None, high)


def limited(b: OnnxBuilder, call: Call, x: Ref, low: Ref | None, high: Ref | None) -> Ref:
    """`x` limited by numbers or tensors."""
    x = b.cast(x, call.result.dtype)
    limits = [None if bound is None else b.cast(bound, x.dtype) for bound in (low, high)]
    if all(bound is None or not bound.shape for bound in limits) and not _may_cross(*limits):
        return o.clip(b, x, *limits)
    x = x if limits[0] is None else b.op("Max", x, limits[0])
    return x if limits[1] is None else b.op("Min", x, limits[1])


def _may_cross(low: Ref | None, high: Ref | None) -> bool:
    """Return whether the lower limit may be above the upper one, which `Clip` leaves undefined."""
    if low is None or high is None:
        return False
    if low.number is None or high.number is None:
        return True
    return low.number > high.number


@lowering("exp2")
def _exp2(b: OnnxBuilder, call: Call) -> Ref:
    (x,) = call.operands
    return b.op("Pow", b.constant(2, x.dtype), x)


@lowering("log2", "log10")
def _log(b: OnnxBuilder, call: Call) -> Ref:
    (x,) = call.operands
    base = 2 if call.primitive == "log2" else 10
    return b.op("Mul", b.op("Log", x), b.constant(1 / math.log(base), x.dtype))


@lowering("shift_right")
def _shift_right(b: OnnxBuilder, call: Call) -> Ref:
    x, count = call.operands
    if x.dtype.kind == "u":
        return shift_bits(b, x, count, "RIGHT")
    return shift_with_sign(b, x, count)


@lowering("shift_left")
def _shift_left(b: OnnxBuilder, call: Call) -> Ref:
    x, count = call.operands
    return shift_bits(b, x, count, "LEFT")
