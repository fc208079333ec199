"""The gamma function and its relatives, which ONNX does not have, as formulas."""

from __future__ import annotations

import math

from oneflow_onnx.oneflow2onnx.formulas import Formula

_LANCZOS = (
    676.5203681218851,
    -1259.1392167224028,
    771.32342877765313,
    -176.61502916214059,
    12.507343278686905,
    -0.13857109526572012,
    9.9843695780195716e-6,
    1.5056327351493116e-7,
)
# B(2j) / (2j)! for j = 1, 2, ..., with Bernoulli's numbers.
# B(2j) / (2j)! for j = 1, 2, ..., with Bernoulli's numbers.
_EULER_MACLAURIN = (1 / 12, -1 / 720, 1 / 30240, -1 / 1209600, 1 / 47900160)


def lgamma(x: Formula) -> Formula:
    """The logarithm of the gamma function (Lanczos, 1964, with g = 7), reflected below 1/2."""
    low = x < 0.5
    z = low.where(1 - x, x) - 1
    series = sum((c / (z + (n + 1)) for n, c in enumerate(_LANCZOS)), 0.99999999999980993)
    assert isinstance(series, Formula)
    t = z + 7.5
    upper = (z + 0.5) * (t.log() - 1) - 7 + series.log() + 0.5 * math.log(2 * math.pi)
    share = x - x.apply("Floor")
    sine = (share * math.pi).apply("Sin")
    lower = (math.pi / sine).log() - upper
    infinite = x.apply("Abs").equals(math.inf)
    return infinite.where(math.inf, low.where(lower, upper))


def digamma(x: Formula) -> Formula:
    """The slope of `lgamma`: its asymptotic series beyond 6, reflected below 1/2; NaN at poles."""
    low = x < 0.5
    z = low.where(1 - x, x)
    steps = sum((1 / (z + n) for n in range(1, 6)), 1 / z)
    y = z + 6
    square = 1 / (y * y)
    series = square.polynomial([1 / 240, -1 / 252, 1 / 120, -1 / 12, 0])
    upper = y.log() - 0.5 / y + series - steps
    share = x - x.apply("Floor")
    lower = upper - math.pi / (share * math.pi).apply("Tan")
    is_singular = low & share.equals(0)
    return is_singular.where(math.nan, low.where(lower, upper))


def zeta(s: Formula, q: Formula) -> Formula:
    """The sum of ``(q + k) ** -s`` for positive `q`, by the formula of Euler and Maclaurin."""
    power = -s
    total = sum(((q + n) ** power for n in range(1, 10)), q**power)
    w = q + 10
    last = w**power
    total = total + last * w / (s - 1) + 0.5 * last
    factor = s * last / w
    for n, coefficient in enumerate(_EULER_MACLAURIN):
        total = total + coefficient * factor
        factor = factor * (s + (2 * n + 1)) * (s + (2 * n + 2)) / (w * w)
    return total
