"""Arithmetic, comparisons and functions of one number."""

from __future__ import annotations

import math

import numpy as np

from oneflow_onnx.oneflow2onnx import operators as o
from oneflow_onnx.oneflow2onnx.bits import bit_cast
from oneflow_onnx.oneflow2onnx.builder import GraphBuilder
from oneflow_onnx.oneflow2onnx.equations.table import Equation, EquationLowering, equation
from oneflow_onnx.oneflow2onnx.formulas import atan2
from oneflow_onnx.oneflow2onnx.lowering import Unsupported
from oneflow_onnx.oneflow2onnx.reference import Ref

BOOL = np.dtype(bool)

_SAME = {
    "add": "Add",
    "add_any": "Add",
    "sub": "Sub",
    "mul": "Mul",
    "div": "Div",
    "max": "Max",
    "min": "Min",
    "neg": "Neg",
    "abs": "Abs",
    "floor": "Floor",
    "ceil": "Ceil",
    "sqrt": "Sqrt",
    "exp": "Exp",
    "log": "Log",
    "sin": "Sin",
    "cos": "Cos",
    "tan": "Tan",
    "asin": "Asin",
    "acos": "Acos",
    "atan": "Atan",
    "sinh": "Sinh",
    "cosh": "Cosh",
    "asinh": "Asinh",
    "acosh": "Acosh",
    "atanh": "Atanh",
    "tanh": "Tanh",
    "logistic": "Sigmoid",
    "erf": "Erf",
    "pow": "Pow",
}


def _plain(name: str) -> EquationLowering:
    def lower(b: GraphBuilder, each: Equation) -> Ref:
        return b.op(name, *each.operands)

    return lower


for _name, _operator in _SAME.items():
    equation(_name)(_plain(_operator))

_BITS = {"and": ("And", "BitwiseAnd"), "or": ("Or", "BitwiseOr"), "xor": ("Xor", "BitwiseXor")}


@equation("and", "or", "xor")
def _bits(b: GraphBuilder, each: Equation) -> Ref:
    logical, bitwise = _BITS[each.name]
    return b.op(logical if each.dtype == BOOL else bitwise, *each.operands)


@equation("not")
def _not(b: GraphBuilder, each: Equation) -> Ref:
    return b.op("Not" if each.dtype == BOOL else "BitwiseNot", *each.operands)


@equation("eq", "lt", "gt")
def _compare(b: GraphBuilder, each: Equation) -> Ref:
    name = {"eq": "Equal", "lt": "Less", "gt": "Greater"}[each.name]
    return b.op(name, *each.operands, dtype=BOOL)


@equation("ne")
def _ne(b: GraphBuilder, each: Equation) -> Ref:
    return b.op("Not", b.op("Equal", *each.operands, dtype=BOOL))


@equation("le", "ge")
def _or_equal(b: GraphBuilder, each: Equation) -> Ref:
    name = {"le": "LessOrEqual", "ge": "GreaterOrEqual"}[each.name]
    return b.op(name, *each.operands, dtype=BOOL)


@equation("is_finite")
def _is_finite(b: GraphBuilder, each: Equation) -> Ref:
    (x,) = each.operands
    bad = [b.op(name, x, dtype=BOOL) for name in ("IsNaN", "IsInf")]
    return b.op("Not", b.op("Or", *bad))


@equation("square")
def _square(b: GraphBuilder, each: Equation) -> Ref:
    (x,) = each.operands
    return b.op("Mul", x, x)


@equation("rsqrt")
def _rsqrt(b: GraphBuilder, each: Equation) -> Ref:
    return b.op("Reciprocal", b.op("Sqrt", *each.operands))


@equation("cbrt")
def _cbrt(b: GraphBuilder, each: Equation) -> Ref:
    (x,) = each.operands
    root = b.op("Pow", b.op("Abs", x), b.constant(1 / 3, x.dtype))
    return b.op("Mul", b.op("Sign", x), root)


@equation("sign")
def _sign(b: GraphBuilder, each: Equation) -> Ref:
    (x,) = each.operands
    sign = b.op("Sign", x)
    return o.where(b, b.op("IsNaN", x, dtype=BOOL), x, sign) if x.is_float else sign


@equation("round")
def _round(b: GraphBuilder, each: Equation) -> Ref:
    (x,) = each.operands
    if each["rounding_method"].name == "TO_NEAREST_EVEN":
        return b.op("Round", x)
    half = b.op("Floor", b.op("Add", b.op("Abs", x), b.constant(0.5, x.dtype)))
    return b.op("Mul", b.op("Sign", x), half)


@equation("rem")
def _rem(b: GraphBuilder, each: Equation) -> Ref:
    x, y = each.operands
    if x.is_float:
        return b.op("Mod", x, y, fmod=1)
    # The remainder of a division by 0 is the number itself; in ONNX it is an error.
    by_zero = b.op("Equal", y, b.constant(0, y.dtype), dtype=BOOL)
    remainder = b.op("Mod", x, o.where(b, by_zero, b.constant(1, y.dtype), y), fmod=1)
    return o.where(b, by_zero, x, remainder)


@equation("exp2")
def _exp2(b: GraphBuilder, each: Equation) -> Ref:
    (x,) = each.operands
    return b.op("Exp", b.op("Mul", x, b.constant(math.log(2), x.dtype)))


@equation("expm1")
def _expm1(b: GraphBuilder, each: Equation) -> Ref:
    """``2 sinh(x / 2) exp(x / 2)``, which loses no digits near 0."""
    (x,) = each.operands
    half = b.op("Mul", x, b.constant(0.5, x.dtype))
    # Below -100 it is -1, and the hyperbolic sine would be infinite.
    lowest = b.constant(-50, x.dtype)
    half = o.where(b, b.op("Less", half, lowest, dtype=BOOL), lowest, half)
    product = b.op("Mul", b.op("Sinh", half), b.op("Exp", half))
    return b.op("Mul", product, b.constant(2, x.dtype))


@equation("log1p")
def _log1p(b: GraphBuilder, each: Equation) -> Ref:
    """``log(u) * x / (u - 1)`` with ``u = 1 + x`` rounded (Goldberg, 1991, theorem 4)."""
    (x,) = each.operands
    one = b.constant(1, x.dtype)
    u = b.op("Add", x, one)
    rounded = b.op("Sub", u, one)
    tiny = b.op("Equal", rounded, b.constant(0, x.dtype), dtype=BOOL)
    plain = b.op("Equal", rounded, x, dtype=BOOL)
    divisor = o.where(b, tiny, one, rounded)
    logarithm = b.op("Log", u)
    corrected = b.op("Mul", logarithm, b.op("Div", x, divisor))
    return o.where(b, tiny, x, o.where(b, plain, logarithm, corrected))


@equation("erfc")
def _erfc(b: GraphBuilder, each: Equation) -> Ref:
    (x,) = each.operands
    return b.op("Sub", b.constant(1, x.dtype), b.op("Erf", x))


@equation("atan2")
def _atan2(b: GraphBuilder, each: Equation) -> Ref:
    return atan2(b, *each.operands)


@equation("integer_pow")
def _integer_pow(b: GraphBuilder, each: Equation) -> Ref:
    (x,) = each.operands
    exponent = each["y"]
    if not x.is_float or abs(exponent) > 8:
        return b.op("Pow", x, b.constant(exponent, x.dtype))
    result = x
    for _ in range(abs(exponent) - 1):
        result = b.op("Mul", result, x)
    return b.op("Reciprocal", result) if exponent < 0 else result


@equation("clamp")
def _clamp(b: GraphBuilder, each: Equation) -> Ref:
    low, x, high = each.operands
    return b.op("Min", b.op("Max", x, low), high)


@equation("select_n")
def _select(b: GraphBuilder, each: Equation) -> Ref:
    which, *cases = each.operands
    if which.dtype == BOOL:
        return o.where(b, which, cases[1], cases[0])
    result = cases[0]
    for place, case in enumerate(cases[1:], 1):
        chosen = b.op("Equal", which, b.constant(place, which.dtype), dtype=BOOL)
        result = o.where(b, chosen, case, result)
    return result


@equation("convert_element_type", "reduce_precision")
def _convert(b: GraphBuilder, each: Equation) -> Ref:
    (x,) = each.operands
    if each.name == "reduce_precision" and each["mantissa_bits"] < np.finfo(x.dtype).nmant:
        raise Unsupported("its step rounds to fewer bits than a type has")
    return b.cast(x, each.dtype)


@equation("bitcast_convert_type")
def _bitcast(b: GraphBuilder, each: Equation) -> Ref:
    return bit_cast(b, each.operands[0], each.dtype)


@equation("shift_left", "shift_right_logical", "shift_right_arithmetic")
def _shift(b: GraphBuilder, each: Equation) -> Ref:
    direction = "LEFT" if each.name == "shift_left" else "RIGHT"
    if each.name == "shift_right_arithmetic" and each.dtype.kind == "i":
        raise Unsupported("shifts of numbers with a sign")
    return b.op("BitShift", *each.operands, direction=direction)
