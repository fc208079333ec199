"""Functions whose implementations look at the bits of numbers, by arithmetic."""

from __future__ import annotations

import math

import numpy as np

from oneflow_onnx.oneflow2onnx.builder import OnnxBuilder
from oneflow_onnx.oneflow2onnx.formulas import Formula
from oneflow_onnx.oneflow2onnx.gamma_functions import digamma
from oneflow_onnx.oneflow2onnx.lowering import Call, Unsupported, lowering
from oneflow_onnx.oneflow2onnx.reference import Ref


@lowering("digamma")
def _digamma(b: OnnxBuilder, call: Call) -> Ref:
    """Infinite at 0, with the sign of the other side."""
    x = Formula(b, call.operands[0])
    return x.equals(0).where(-1 / x, digamma(x)).ref


def _power_of_two(exponent: Formula) -> tuple[Formula, Formula]:
    """Two factors of a power; neither is too small or too large to be stored."""
    half = (exponent * 0.5).apply("Floor")
    two = half * 0 + 2
    return two**half, two ** (exponent - half)


def _parts(x: Formula) -> tuple[Formula, Formula]:
    """The mantissa in [0.5, 1) and the exponent of finite numbers other than 0."""
    exponent = (x.apply("Abs").log() * (1 / math.log(2))).apply("Floor") + 1
    one, other = _power_of_two(-exponent)
    mantissa = x * one * other
    # The logarithm is rounded.
    high, low = (mantissa.apply("Abs") < 1).apply("Not"), mantissa.apply("Abs") < 0.5
    mantissa = high.where(mantissa * 0.5, low.where(mantissa * 2, mantissa))
    return mantissa, high.where(exponent + 1, low.where(exponent - 1, exponent))


@lowering("frexp")
def _frexp(b: OnnxBuilder, call: Call) -> tuple[Ref, Ref]:
    x = Formula(b, call.operands[0])
    plain = x.apply("Abs") < math.inf
    special = x.equals(0) | plain.apply("Not")
    mantissa, exponent = _parts(special.where(1.0, x))
    exponent = special.where(0.0, exponent)
    return special.where(x, mantissa).ref, b.cast(exponent.ref, call.results[1].dtype)


@lowering("nextafter")
def _nextafter(b: OnnxBuilder, call: Call) -> Ref:
    x, y = (Formula(b, operand) for operand in call.operands)
    if x.ref.dtype.name not in ("float32", "float64"):
        raise Unsupported("the number after one of half precision")
    limits = np.finfo(x.ref.dtype)
    special = x.equals(0) | (x.apply("Abs") < math.inf).apply("Not")
    mantissa, exponent = _parts(special.where(1.0, x))
    # Below a power of two numbers are twice as close.
    up = (y > x).where(x * 0 + 1, x * 0 - 1)
    to_zero = mantissa.equals(-0.5 * up)
    one, other = _power_of_two(exponent - (limits.nmant + 1))
    step = one * other * up
    moved = special.where(x, x + to_zero.where(step * 0.5, step))
    moved = x.equals(0).where(up * float(limits.smallest_subnormal), moved)
    infinite = x.apply("Abs").equals(math.inf)
    moved = infinite.where(x.apply("Sign") * float(limits.max), moved)
    return x.equals(y).where(y, (y.equals(y) & x.equals(x)).where(moved, x + y)).ref
