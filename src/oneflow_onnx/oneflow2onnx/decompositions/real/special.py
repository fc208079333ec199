"""Special functions that ONNX does not have, by series and rational approximations."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from oneflow_onnx.oneflow2onnx import operators as o
from oneflow_onnx.oneflow2onnx.builder import OnnxBuilder
from oneflow_onnx.oneflow2onnx.equations.table import Equation, equation_lowering
from oneflow_onnx.oneflow2onnx.formulas import Formula
from oneflow_onnx.oneflow2onnx.gamma_functions import digamma, lgamma, zeta
from oneflow_onnx.oneflow2onnx.loops import repeat_while
from oneflow_onnx.oneflow2onnx.reference import Ref

# Steps after which the series of the incomplete gamma function end in any case.
_MOST_STEPS = 1000


@equation_lowering("lgamma")
def _lgamma(b: OnnxBuilder, equation: Equation) -> Ref:
    return lgamma(Formula(b, equation.operands[0])).ref


@equation_lowering("digamma")
def _digamma(b: OnnxBuilder, equation: Equation) -> Ref:
    return digamma(Formula(b, equation.operands[0])).ref


@equation_lowering("zeta")
def _zeta(b: OnnxBuilder, equation: Equation) -> Ref:
    s, q = equation.operands
    return zeta(Formula(b, s), Formula(b, q)).ref


@equation_lowering("polygamma")
def _polygamma(b: OnnxBuilder, equation: Equation) -> Ref:
    n, x = (Formula(b, operand) for operand in equation.operands)
    odd = (n * 0.5).apply("Floor") * 2 < n
    value = lgamma(n + 1).exp() * zeta(n + 1, x)
    return odd.where(value, -value).ref


# Coefficients of Giles, "Approximating the erfinv function", 2010, table 1.
_CENTER = (
    2.81022636e-08,
    3.43273939e-07,
    -3.5233877e-06,
    -4.39150654e-06,
    0.00021858087,
    -0.00125372503,
    -0.00417768164,
    0.246640727,
    1.50140941,
)
_TAIL = (
    -0.000200214257,
    0.000100950558,
    0.00134934322,
    -0.00367342844,
    0.00573950773,
    -0.0076224613,
    0.00943887047,
    1.00167406,
    2.83297682,
)


@equation_lowering("erf_inv")
def _erf_inv(b: OnnxBuilder, equation: Equation) -> Ref:
    x = Formula(b, equation.operands[0])
    w = -((1 - x) * (1 + x)).log()
    near = w < 5
    tail = w.apply("Max", 5).apply("Sqrt") - 3
    factor = near.where((w - 2.5).polynomial(_CENTER), tail.polynomial(_TAIL))
    end = x.apply("Abs").equals(1)
    return end.where(x * math.inf, factor * x).ref


# Abramowitz and Stegun, 1964, 9.8.1 to 9.8.4.
_I0_SMALL = (0.0045813, 0.0360768, 0.2659732, 1.2067492, 3.0899424, 3.5156229, 1.0)
_I0_LARGE = (
    0.00392377,
    -0.01647633,
    0.02635537,
    -0.02057706,
    0.00916281,
    -0.00157565,
    0.00225319,
    0.01328592,
    0.39894228,
)
_I1_SMALL = (0.00032411, 0.00301532, 0.02658733, 0.15084934, 0.51498869, 0.87890594, 0.5)
_I1_LARGE = (
    -0.00420059,
    0.01787654,
    -0.02895312,
    0.02282967,
    -0.01031555,
    0.00163801,
    -0.00362018,
    -0.03988024,
    0.39894228,
)


def _bessel(x: Formula, small: Sequence[float], large: Sequence[float]) -> tuple[Formula, Formula]:
    """Two polynomials of a scaled Bessel function, and where the first holds."""
    size = x.apply("Abs")
    t = size / 3.75
    inner = (t * t).apply("Min", 1).polynomial(small) * (-size).exp()
    outer = (1 / t.apply("Max", 1)).polynomial(large) / size.apply("Max", 1).apply("Sqrt")
    return inner, outer


@equation_lowering("bessel_i0e")
def _bessel_i0e(b: OnnxBuilder, equation: Equation) -> Ref:
    x = Formula(b, equation.operands[0])
    inner, outer = _bessel(x, _I0_SMALL, _I0_LARGE)
    return (x.apply("Abs") < 3.75).where(inner, outer).ref


@equation_lowering("bessel_i1e")
def _bessel_i1e(b: OnnxBuilder, equation: Equation) -> Ref:
    x = Formula(b, equation.operands[0])
    inner, outer = _bessel(x, _I1_SMALL, _I1_LARGE)
    return (x.apply("Abs") < 3.75).where(inner * x, outer * x.apply("Sign")).ref


# --- the incomplete gamma function


@equation_lowering("igamma", "igammac")
def _igamma(b: OnnxBuilder, equation: Equation) -> Ref:
    """Its series up to x = a + 1, else the continued fraction of its complement."""
    a, x = (Formula(b, o.expand(b, operand, equation.shape)) for operand in equation.operands)
    bad = (a < 0) | a.equals(0) | (x < 0)
    ends = x.equals(0) | x.equals(math.inf)
    inside = (bad | ends).where(1.0, x)
    a = bad.where(1.0, a)
    scale = (a * inside.log() - inside - lgamma(a)).exp()
    by_series = inside < a + 1
    lower = _series(a, by_series.where(inside, 0.5 * a)) * scale
    upper = _fraction(a, by_series.where(a + 2, inside)) * scale
    if equation.name == "igamma":
        value = by_series.where(lower, 1 - upper)
        value = ends.where((x > 1).where(value * 0 + 1, value * 0), value)
    else:
        value = by_series.where(1 - lower, upper)
        value = ends.where((x > 1).where(value * 0, value * 0 + 1), value)
    return bad.where(math.nan, value).ref


def _series(a: Formula, x: Formula) -> Formula:
    """``sum x^k / (a (a + 1) ... (a + k))``."""

    def step(values: list[Formula]) -> list[Formula]:
        r, term, total = values
        r = r + 1
        term = term * x / r
        return [r, term, total + term]

    def is_active(values: Sequence[Formula]) -> Formula:
        _, term, total = values
        return term > total * _precision(a)

    start = 1 / a
    return _repeated([a, start, start], is_active, step)[2]


def _fraction(a: Formula, x: Formula) -> Formula:
    """The continued fraction of the complement, by the method of Lentz (1976)."""

    def step(values: list[Formula]) -> list[Formula]:
        n, last, c, d, total, _ = values
        factor = n * (a - n)
        last = last + 2
        d = 1 / (factor * d + last)
        c = last + factor / c
        change = c * d
        return [n + 1, last, c, d, total * change, change]

    def is_active(values: Sequence[Formula]) -> Formula:
        return (values[5] - 1).apply("Abs") > _precision(a)

    first = x + 1 - a
    d = 1 / first
    huge = a * 0 + 1e30
    return _repeated([a * 0 + 1, first, huge, d, d, a * 0 + 2], is_active, step)[4]


def _precision(x: Formula) -> float:
    return 1e-14 if x.ref.dtype == np.float64 else 1e-7


def _repeated(
    start: Sequence[Formula],
    is_active: Callable[[Sequence[Formula]], Formula],
    step: Callable[[list[Formula]], list[Formula]],
) -> list[Formula]:
    """Formulas after steps, as long as any element is unfinished, and not for ever."""
    b = start[0].b

    def apply_to(values: Sequence[Ref]) -> list[Formula]:
        return [Formula(b, value) for value in values]

    def condition(values: Sequence[Ref]) -> Ref:
        left = is_active(apply_to(values)).ref
        return o.any_nonzero(b, left, range(left.rank), keepdim=False)

    def advance(values: list[Ref]) -> list[Ref]:
        return [formula.ref for formula in step(apply_to(values))]

    carried = [formula.ref for formula in start]
    return apply_to(repeat_while(b, carried, condition, advance, at_most=_MOST_STEPS))
