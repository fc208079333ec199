"""The error function and its complement, which ONNX Runtime computes in single precision only."""

from __future__ import annotations

import math

import numpy as np

from oneflow_onnx.oneflow2onnx.builder import OnnxBuilder
from oneflow_onnx.oneflow2onnx.formulas import Formula
from oneflow_onnx.oneflow2onnx.reference import Ref

# Cody, "Rational Chebyshev approximations for the error function", 1969: numerator and
# denominator, the highest coefficient first; of `erf` below 0.5, then of `erfc` up to 4, and on.
_SMALL = (
    (
        1.85777706184603153e-1,
        3.16112374387056560,
        1.13864154151050156e2,
        3.77485237685302021e2,
        3.20937758913846947e3,
    ),
    (
        1.0,
        2.36012909523441209e1,
        2.44024637934444173e2,
        1.28261652607737228e3,
        2.84423683343917062e3,
    ),
)
_MIDDLE = (
    (
        2.15311535474403846e-8,
        5.64188496988670089e-1,
        8.88314979438837594,
        6.61191906371416295e1,
        2.98635138197400131e2,
        8.81952221241769090e2,
        1.71204761263407058e3,
        2.05107837782607147e3,
        1.23033935479799725e3,
    ),
    (
        1.0,
        1.57449261107098347e1,
        1.17693950891312499e2,
        5.37181101862009858e2,
        1.62138957456669019e3,
        3.29079923573345963e3,
        4.36261909014324716e3,
        3.43936767414372164e3,
        1.23033935480374942e3,
    ),
)
_LARGE = (
    (
        1.63153871373020978e-2,
        3.05326634961232344e-1,
        3.60344899949804439e-1,
        1.25781726111229246e-1,
        1.60837851487422766e-2,
        6.58749161529837803e-4,
    ),
    (
        1.0,
        2.56852019228982242,
        1.87295284992346725,
        5.27905102951428412e-1,
        6.05183413124413191e-2,
        2.33520497626869185e-3,
    ),
)


def erf(b: OnnxBuilder, x: Ref) -> Ref:
    """The error function."""
    if x.dtype != np.float64:
        return b.op("Erf", x)
    value = Formula(b, x)
    small, of_small, tail = _parts(value)
    return small.where(of_small, value.apply("Sign") * (1 - tail)).ref


def erfc(b: OnnxBuilder, x: Ref) -> Ref:
    """One minus the error function, in double precision: the difference would cancel."""
    value = Formula(b, b.cast(x, np.dtype(np.float64)))
    small, of_small, tail = _parts(value)
    return b.cast(small.where(1 - of_small, (value < 0).where(2 - tail, tail)).ref, x.dtype)


def _parts(x: Formula) -> tuple[Formula, Formula, Formula]:
    """The places where `x` is small, `erf` there, and `erfc` of the absolute value elsewhere."""
    size = x.abs()
    small, large = size < 0.5, size > 4.0
    near = small.where(x, 0.0)
    of_small = near * _quotient(near * near, _SMALL)
    between = (small | large).where(1.0, size)  # NaN stays
    clamped = large.where(size, 4.0)
    share = 1 / (clamped * clamped)
    of_large = (1 / math.sqrt(math.pi) - share * _quotient(share, _LARGE)) / clamped
    scaled = large.where(of_large, _quotient(between, _MIDDLE))
    return small, of_small, (-size * size).exp() * scaled


def _quotient(x: Formula, polynomials: tuple[tuple[float, ...], tuple[float, ...]]) -> Formula:
    numerator, denominator = polynomials
    return x.polynomial(numerator) / x.polynomial(denominator)
