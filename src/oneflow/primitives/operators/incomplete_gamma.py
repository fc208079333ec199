"""The regularised incomplete gamma functions, ``P(a, x)`` and ``Q(a, x) = 1 - P(a, x)``.

XLA's own sum too few terms where `a` is large. Equation numbers are those of https://dlmf.nist.gov.
Whichever of the two is no larger than about a half is computed, in double precision, and the other
is what is left. There are four regions: a uniform expansion where `x` is near a large `a`, the
power series of `P` below `a`, that of `Q` where `x` is small, and the continued fraction of `Q`.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from oneflow.primitives.operators import loops
from oneflow.primitives.operators.bessel import power_series, scaled_erfc

_PRECISION, _MOST_STEPS = 1e-17, 2000
# The expansion holds for `a` from the one, and ``x / a - 1`` up to the other.
_LARGE_A, _NEAR = 20.0, 0.3
_ORDERS, _TERMS = 12, 24
# Coefficients of 5.11.1, and from where on that series is exact to rounding.
_BERNOULLI = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156)
_STIRLING_FROM = 10.0


@functools.cache
def _coefficients() -> np.ndarray:
    """``d(k, n)`` of 8.12.12, by the recurrences below it."""
    count = _TERMS + 2 * _ORDERS + 2
    alpha = np.zeros(count + 2)
    alpha[1] = 1
    for n in range(2, count + 2):
        products = sum(k * alpha[k] * alpha[n - k + 1] for k in range(2, n))
        alpha[n] = (alpha[n - 1] - products) / (n + 1)
    first = np.array([(n + 2) * alpha[n + 2] for n in range(count)])
    first[0] = -1 / 3
    table, gamma = [first], _gamma_series(_ORDERS)
    for k in range(1, _ORDERS):
        before = table[-1]
        steps = np.arange(len(before) - 2) + 2
        table.append((-1) ** k * gamma[k] * first[: len(steps)] + steps * before[2:])
    return np.array([row[:_TERMS] for row in table])


def _gamma_series(count: int) -> list[float]:
    """The coefficients of 5.11.3: the exponential of the series of 5.11.1."""
    exponents = dict(zip(range(1, 2 * len(_BERNOULLI), 2), _BERNOULLI, strict=True))
    coefficients = [1.0]
    for n in range(1, count):
        coefficients.append(
            sum(k * exponents.get(k, 0) * coefficients[n - k] for k in range(1, n + 1)) / n
        )
    return coefficients


def _distance(a: Any, x: Any) -> Any:
    """``x / a - 1 - log(x / a)``, by its series where that would cancel."""
    mu = (x - a) / a
    small = jnp.abs(mu) < 0.1
    near = jnp.where(small, mu, 0)
    series = near * near * power_series(near, [(-1) ** n / (n + 2) for n in range(16)])
    return jnp.where(small, series, mu - jnp.log(x / a))


def _near_diagonal(a: Any, x: Any) -> Any:
    """The smaller function by 8.12.3 and 8.12.4."""
    square = _distance(a, x)
    eta = jnp.copysign(jnp.sqrt(2 * square), x - a)
    rest = jnp.zeros_like(a)
    for k, row in reversed(list(enumerate(_coefficients()))):
        rest = rest / a + power_series(eta, row[: _TERMS - 2 * k])  # the k-th is over ``a ** k``
    rest = rest / jnp.sqrt(2 * math.pi * a)
    half = 0.5 * scaled_erfc(jnp.sqrt(a * square))
    return jnp.exp(-a * square) * jnp.where(x < a, half - rest, half + rest)


def _power_over_gamma(a: Any, x: Any) -> Any:
    """``x ** a * exp(-x) / gamma(a + 1)``."""
    large = a >= _STIRLING_FROM
    b, y = jnp.where(large, a, _STIRLING_FROM), jnp.where(large, x, _STIRLING_FROM)
    correction = power_series(1 / (b * b), _BERNOULLI) / b
    by_stirling = jnp.exp(-b * _distance(b, y) - correction) / jnp.sqrt(2 * math.pi * b)
    direct = jnp.exp(a * jnp.log(x) - x - lax.lgamma(a + 1))
    return jnp.where(large, by_stirling, direct)


def _until_exact(body: Any, start: tuple) -> tuple:
    """Steps on a state ``(n, change, ...)`` until no change is larger than rounding."""

    def has_more(state: tuple) -> Any:
        return jnp.any(jnp.abs(state[1]) > _PRECISION) & (state[0] < _MOST_STEPS)

    return loops.while_loop(has_more, body, start)


def _below(a: Any, x: Any) -> Any:
    """``P`` by 8.11.4."""

    def body(state: tuple) -> tuple:
        n, term, total = state
        term = term * (x / (a + n))
        return n + 1, jnp.where(term > _PRECISION * total, term, 0), total + term

    total = _until_exact(body, (jnp.ones((), a.dtype), jnp.ones_like(a), jnp.ones_like(a)))[2]
    return _power_over_gamma(a, x) * total


def _above(a: Any, x: Any) -> Any:
    """``Q`` by the continued fraction 8.9.2, contracted, by Lentz's method."""

    def body(state: tuple) -> tuple:
        n, _, value, c, d = state
        numerator, denominator = n * (a - n), x + 2 * n + 1 - a
        d = 1 / (denominator + numerator * d)
        c = denominator + numerator / c
        change = c * d - 1
        rounding = 4e-16
        return n + 1, jnp.where(jnp.abs(change) > rounding, change, 0), value * c * d, c, d

    first = x + 1 - a
    start = jnp.ones((), a.dtype), jnp.ones_like(a), first, first, jnp.zeros_like(a)
    return _power_over_gamma(a, x) * a / _until_exact(body, start)[2]


def _zeta_less_one(n: int) -> float:
    """The sum of ``k ** -n`` from ``k = 2``, by the formula of Euler and Maclaurin."""
    last = 200
    tail = last ** (1 - n) / (n - 1) + last**-n / 2 + n * last ** (-n - 1) / 12
    tail -= n * (n + 1) * (n + 2) * last ** (-n - 3) / 720
    return sum(k**-n for k in range(2, last)) + tail


def _log_gamma_near_one(a: Any) -> Any:
    """``log(gamma(1 + a))`` for `a` up to 1.25, by 5.7.3."""
    series = [0.0, 1 - np.euler_gamma, *((-1) ** n * _zeta_less_one(n) / n for n in range(2, 66))]
    return power_series(a, series) - jnp.log1p(a)


def _small(a: Any, x: Any) -> Any:
    """``Q`` by the power series 8.7.1 of ``P``, without its first term."""
    exponent = a * jnp.log(x) - _log_gamma_near_one(a)
    total, term = jnp.zeros_like(a), jnp.ones_like(a)
    for n in range(1, 24):
        term = term * (-x / n)
        total = total + term * (a / (a + n))
    return -jnp.expm1(exponent) - jnp.exp(exponent) * total


def _lower_and_upper(a: Any, x: Any) -> tuple[Any, Any]:
    """Both functions of finite positive numbers."""
    near = (a >= _LARGE_A) & (jnp.abs(x - a) < _NEAR * a)
    bound = jnp.where(x <= 0.5, -0.4 / jnp.log(jnp.minimum(x, 0.5)), 1.1 * x)
    small = (x <= 1.1) & (a <= bound)
    below = ~near & ~small & ((x < a) | (x <= 1.1))
    above = ~near & ~small & ~below

    def at(region: Any, function: Any, other_a: float, other_x: float) -> Any:
        """Evaluate a function where a mask is true, and on safe numbers elsewhere."""
        return function(jnp.where(region, a, other_a), jnp.where(region, x, other_x))

    lower = jnp.where(near, at(near, _near_diagonal, 30.0, 30.0), at(below, _below, 1.0, 1e-9))
    upper = jnp.where(small, at(small, _small, 0.5, 0.5), at(above, _above, 1.0, 2.0))
    is_lower = below | (near & (x < a))
    value = jnp.where(is_lower | near, lower, upper)
    return jnp.where(is_lower, value, 1 - value), jnp.where(is_lower, 1 - value, value)


def _regularized(a: Any, x: Any, upper: bool) -> Any:
    """One of the functions of any real numbers, in double precision."""
    y, b = (array.astype(jnp.float64) for array in jnp.broadcast_arrays(x, a))
    regular = (b > 0) & (y > 0) & jnp.isfinite(b) & jnp.isfinite(y)
    pair = _lower_and_upper(jnp.where(regular, b, 1), jnp.where(regular, y, 1))
    at_zero, at_infinity = (1.0, 0.0) if upper else (0.0, 1.0)
    edge = jnp.where((y == 0) | jnp.isinf(b), at_zero, at_infinity)
    undefined = ~(b >= 0) | ~(y >= 0) | ((b == 0) & (y == 0)) | (jnp.isinf(b) & jnp.isinf(y))
    value = jnp.where(regular, pair[upper], jnp.where(undefined, jnp.nan, edge))
    return value.astype(jnp.result_type(a, x))


def lower(a: Any, x: Any) -> Any:
    """``P(a, x)``."""
    return _regularized(a, x, False)


def upper(a: Any, x: Any) -> Any:
    """``Q(a, x)``."""
    return _regularized(a, x, True)


def density(a: Any, x: Any) -> Any:
    """The derivative of `lower` in `x`: ``x ** (a - 1) * exp(-x) / gamma(a)``."""
    y, b = (array.astype(jnp.float64) for array in jnp.broadcast_arrays(x, a))
    regular = (b > 0) & (y > 0) & jnp.isfinite(b) & jnp.isfinite(y)
    safe_b, safe_y = jnp.where(regular, b, 1), jnp.where(regular, y, 1)
    value = _power_over_gamma(safe_b, safe_y) * (safe_b / safe_y)
    at_zero = jnp.where(b < 1, jnp.inf, jnp.where(b == 1, 1.0, 0.0))
    edge = jnp.where((y == 0) & (b > 0), at_zero, 0)
    undefined = ~(b >= 0) | ~(y >= 0)
    value = jnp.where(regular, value, jnp.where(undefined, jnp.nan, edge))
    return value.astype(jnp.result_type(a, x))
