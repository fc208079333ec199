"""Arithmetic, comparisons and functions of one number."""

from __future__ import annotations

import math

import numpy as np

from oneflow_onnx.oneflow2onnx import operators as o
from oneflow_onnx.oneflow2onnx.bits import bit_cast, shift_bits, shift_with_sign
from oneflow_onnx.oneflow2onnx.builder import OnnxBuilder
from oneflow_onnx.oneflow2onnx.equations.table import Equation, equation_lowering
from oneflow_onnx.oneflow2onnx.formulas import atan2
from oneflow_onnx.oneflow2onnx.lowering import Unsupported
from oneflow_onnx.oneflow2onnx.plain_functions import (
    BOOL,
    PLAIN_FUNCTIONS,
    is_finite,
    on_operands,
    one_operator,
)
from oneflow_onnx.oneflow2onnx.reference import Ref

_OPERATORS = {
    "add": "Add",
    "add_any": "Add",
    "mul": "Mul",
    "div": "Div",
    "max": "Max",
    "min": "Min",
    "logistic": "Sigmoid",
    "pow": "Pow",
}
for _name, _function in PLAIN_FUNCTIONS.items():
    equation_lowering(_name)(on_operands(_function))
for _name, _operator in _OPERATORS.items():
    equation_lowering(_name)(on_operands(one_operator(_operator)))
equation_lowering("atan2")(on_operands(atan2))

_BITS = {"and": ("And", "BitwiseAnd"), "or": ("Or", "BitwiseOr"), "xor": ("Xor", "BitwiseXor")}


@equation_lowering("and", "or", "xor")
def _bits(b: OnnxBuilder, equation: Equation) -> Ref:
    logical, bitwise = _BITS[equation.name]
    return b.op(logical if equation.dtype == BOOL else bitwise, *equation.operands)


@equation_lowering("not")
def _not(b: OnnxBuilder, equation: Equation) -> Ref:
    return b.op("Not" if equation.dtype == BOOL else "BitwiseNot", *equation.operands)


@equation_lowering("le", "ge")
def _or_equal(b: OnnxBuilder, equation: Equation) -> Ref:
    name = {"le": "LessOrEqual", "ge": "GreaterOrEqual"}[equation.name]
    return b.op(name, *equation.operands, dtype=BOOL)


equation_lowering("is_finite")(on_operands(is_finite))


@equation_lowering("cbrt")
def _cbrt(b: OnnxBuilder, equation: Equation) -> Ref:
    (x,) = equation.operands
    root = b.op("Pow", b.op("Abs", x), b.constant(1 / 3, x.dtype))
    return b.op("Mul", b.op("Sign", x), root)


@equation_lowering("sign")
def _sign(b: OnnxBuilder, equation: Equation) -> Ref:
    (x,) = equation.operands
    sign = b.op("Sign", x)
    return o.where(b, b.op("IsNaN", x, dtype=BOOL), x, sign) if x.is_float else sign


@equation_lowering("round")
def _round(b: OnnxBuilder, equation: Equation) -> Ref:
    (x,) = equation.operands
    if equation["rounding_method"].name == "TO_NEAREST_EVEN":
        return b.op("Round", x)
    half = b.op("Floor", b.op("Add", b.op("Abs", x), b.constant(0.5, x.dtype)))
    return b.op("Mul", b.op("Sign", x), half)


@equation_lowering("rem")
def _rem(b: OnnxBuilder, equation: Equation) -> Ref:
    x, y = equation.operands
    if x.is_float:
        return b.op("Mod", x, y, fmod=1)
    # The remainder of a division by 0 is the number itself; in ONNX it is an error.
    by_zero = b.op("Equal", y, b.constant(0, y.dtype), dtype=BOOL)
    remainder = b.op("Mod", x, o.where(b, by_zero, b.constant(1, y.dtype), y), fmod=1)
    return o.where(b, by_zero, x, remainder)


@equation_lowering("exp2")
def _exp2(b: OnnxBuilder, equation: Equation) -> Ref:
    (x,) = equation.operands
    return b.op("Exp", b.op("Mul", x, b.constant(math.log(2), x.dtype)))


@equation_lowering("expm1")
def _expm1(b: OnnxBuilder, equation: Equation) -> Ref:
    """``tanh(x / 2) (exp(x) + 1)``, which loses no digits near 0, or `x` where its half would."""
    (x,) = equation.operands
    half = b.op("Mul", x, b.constant(0.5, x.dtype))
    product = b.op("Mul", b.op("Tanh", half), b.op("Add", b.op("Exp", x), b.constant(1, x.dtype)))
    tiny = b.op("Less", b.op("Abs", x), b.constant(1e-30, x.dtype), dtype=BOOL)
    return o.where(b, tiny, x, product)


@equation_lowering("log1p")
def _log1p(b: OnnxBuilder, equation: Equation) -> Ref:
    """``log(u) * x / (u - 1)`` with ``u = 1 + x`` rounded (Goldberg, 1991, theorem 4)."""
    (x,) = equation.operands
    one = b.constant(1, x.dtype)
    u = b.op("Add", x, one)
    difference = b.op("Sub", u, one)
    tiny = b.op("Equal", difference, b.constant(0, x.dtype), dtype=BOOL)
    plain = b.op("Equal", difference, x, dtype=BOOL)
    divisor = o.where(b, tiny, one, difference)
    log_value = b.op("Log", u)
    scaled = b.op("Mul", log_value, b.op("Div", x, divisor))
    return o.where(b, tiny, x, o.where(b, plain, log_value, scaled))


@equation_lowering("integer_pow")
def _integer_pow(b: OnnxBuilder, equation: Equation) -> Ref:
    (x,) = equation.operands
    exponent = equation["y"]
    if not x.is_float or abs(exponent) > 8:
        return b.op("Pow", x, b.constant(exponent, x.dtype))
    result = x
    for _ in range(abs(exponent) - 1):
        result = b.op("Mul", result, x)
    return b.op("Reciprocal", result) if exponent < 0 else result


@equation_lowering("clamp")
def _clamp(b: OnnxBuilder, equation: Equation) -> Ref:
    low, x, high = equation.operands
    return b.op("Min", b.op("Max", x, low), high)


@equation_lowering("select_n")
def _select(b: OnnxBuilder, equation: Equation) -> Ref:
    which, *cases = equation.operands
    if which.dtype == BOOL:
        return o.where(b, which, cases[1], cases[0])
    result = cases[0]
    for place, case in enumerate(cases[1:], 1):
        mask = b.op("Equal", which, b.constant(place, which.dtype), dtype=BOOL)
        result = o.where(b, mask, case, result)
    return result


@equation_lowering("convert_element_type", "reduce_precision")
def _convert(b: OnnxBuilder, equation: Equation) -> Ref:
    (x,) = equation.operands
    if equation.name == "reduce_precision" and equation["mantissa_bits"] < np.finfo(x.dtype).nmant:
        raise Unsupported("its step rounds to fewer bits than a type has")
    return b.cast(x, equation.dtype)


@equation_lowering("bitcast_convert_type")
def _bitcast(b: OnnxBuilder, equation: Equation) -> Ref:
    return bit_cast(b, equation.operands[0], equation.dtype)


@equation_lowering("shift_left", "shift_right_logical", "shift_right_arithmetic")
def _shift(b: OnnxBuilder, equation: Equation) -> Ref:
    x, count = equation.operands
    if equation.name == "shift_left":
        return shift_bits(b, x, count, "LEFT")
    if equation.name == "shift_right_logical" or x.dtype.kind == "u":
        return shift_bits(b, x, count, "RIGHT")
    return shift_with_sign(b, x, count)
