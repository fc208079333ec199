"""Bessel functions and their relatives, by quadrature and asymptotic series.

Their integrals are of smooth functions that are periodic or decay like a normal distribution. There
the trapezoidal rule with a few dozen points is exact to rounding (L. N. Trefethen, J. A. C.
Weideman: The Exponentially Convergent Trapezoidal Rule, SIAM Review 56, 2014). Equation numbers are
those of https://dlmf.nist.gov. Everything is computed in double precision and rounded once.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from oneflow.primitives.operators.elementwise import unary
from oneflow.primitives.operators.rounding import hidden
from oneflow.primitives.registry import Primitive


def _special(name: str, impl: Callable, slope: Callable | None = None) -> Primitive:
    """Define a function of one number by its derivative, or by its implementation's derivative."""
    return unary(name, in_double(impl), in_double(slope or _derivative(impl)), real_only=True)


def in_double(impl: Callable) -> Callable:
    """A function of one number, computed in double precision and rounded once."""
    return lambda x: hidden(impl(x.astype(jnp.float64)).astype(x.dtype))


def _derivative(impl: Callable) -> Callable:
    return lambda x: jax.jvp(impl, (x,), (jnp.ones_like(x),))[1]


def _weighted(weights: Any, nodes: Any, function: Callable) -> Any:
    """The sum of a function at nodes, each with its weight."""
    return sum(float(w) * function(float(node)) for w, node in zip(weights, nodes, strict=True))


def power_series(x: Any, coefficients: Any) -> Any:
    """The sum of coefficients times powers of `x`, the constant first."""
    total = jnp.zeros_like(x)
    for coefficient in coefficients[::-1]:
        total = total * x + float(coefficient)
    return total


# --- of the first and second kind

# Up to here by quadrature, which takes more points the further it goes; then by 10.17.3.
_NEAR = 20.0
# A quarter of a period, the others being the same.
_POINTS = 28
_ANGLES = (np.arange(_POINTS) + 0.5) * np.pi / (2 * _POINTS)
_SIN = np.sin(_ANGLES)
_EVEN = np.full(_POINTS, 1 / _POINTS)
# Weights that turn values of a function into the sum of (-1)^k / k times its Fourier coefficient
# 2k.
_ORDERS = np.arange(1, _POINTS)
_NEUMANN = _EVEN * ((-1.0) ** _ORDERS / _ORDERS * np.cos(2 * np.outer(_ANGLES, _ORDERS))).sum(1)


def _near(order: int, x: Any, weights: Any) -> Any:
    """The mean over angles of ``cos(x sin)`` or of ``sin(x sin) sin``, 10.9.1, with weights."""
    if order == 0:
        return _weighted(weights, _SIN, lambda sin: jnp.cos(x * sin))
    return _weighted(weights * _SIN, _SIN, lambda sin: jnp.sin(x * sin))


def _hankel_coefficients(order: float) -> np.ndarray:
    """The first 28 coefficients of 10.17.1."""
    coefficients = [1.0]
    for k in range(1, 28):
        coefficients.append(coefficients[-1] * (4 * order**2 - (2 * k - 1) ** 2) / (8 * k))
    return np.array(coefficients)


def _asymptotic(order: int, x: Any) -> tuple[Any, Any]:
    """The functions of the first and second kind by 10.17.3 and 10.17.4."""
    coefficients = _hankel_coefficients(order)
    signs = (-1.0) ** np.arange(14)
    inverse = 1 / x
    even = power_series(inverse**2, coefficients[::2] * signs)
    odd = inverse * power_series(inverse**2, coefficients[1::2] * signs)
    angle = x - (order / 2 + 0.25) * math.pi
    size = jnp.sqrt(2 / (math.pi * x))
    sin, cos = jnp.sin(angle), jnp.cos(angle)
    return size * (cos * even - sin * odd), size * (sin * even + cos * odd)


def _split(x: Any, bound: float) -> tuple[Any, Any, Any]:
    """Return where `x` is at most `bound`, and `x` as those below and above may see it."""
    below = x <= bound
    return below, jnp.where(below, x, bound), jnp.where(below, bound, x)


def _j(order: int, x: Any) -> Any:
    below, near, large = _split(jnp.abs(x), _NEAR)
    value = jnp.where(below, _near(order, near, _EVEN), _asymptotic(order, large)[0])
    return jnp.where(x < 0, -value, value) if order else value


def _y(order: int, x: Any) -> Any:
    """The function of the second kind by 10.8.3 and, for order 1, by its derivative."""
    below, near, large = _split(x, _NEAR)
    positive = jnp.where(near > 0, near, 1)
    log_term = jnp.log(positive / 2) + np.euler_gamma
    value = log_term * _near(order, positive, _EVEN) - 2 * _near(order, positive, _NEUMANN)
    if order == 1:
        value = value - _near(0, positive, _EVEN) / positive
    value = jnp.where(near > 0, 2 / math.pi * value, jnp.where(near < 0, jnp.nan, -jnp.inf))
    return jnp.where(below, value, _asymptotic(order, large)[1])


def _over(value: Any, x: Any, at_zero: float) -> Any:
    return jnp.where(x == 0, at_zero, value / jnp.where(x == 0, 1, x))


bessel_j0 = _special("bessel_j0", lambda x: _j(0, x), lambda x: -_j(1, x))
bessel_j1 = _special("bessel_j1", lambda x: _j(1, x), lambda x: _j(0, x) - _over(_j(1, x), x, 0.5))
bessel_y0 = _special("bessel_y0", lambda x: _y(0, x), lambda x: -_y(1, x))
bessel_y1 = _special(
    "bessel_y1", lambda x: _y(1, x), lambda x: _y(0, x) - _over(_y(1, x), x, -math.inf)
)


def _spherical_j0(x: Any) -> Any:
    """``sin(x) / x``; by its series where its derivative would cancel."""
    small = jnp.abs(x) < 0.5
    series = power_series(
        jnp.where(small, x, 0) ** 2,
        np.array([(-1) ** k / math.factorial(2 * k + 1) for k in range(9)]),
    )
    large = jnp.where(small | jnp.isinf(x), 1, x)
    return jnp.where(small, series, jnp.where(jnp.isinf(x), 0, jnp.sin(large) / large))


spherical_bessel_j0 = _special("spherical_bessel_j0", _spherical_j0)

# --- modified, of the second kind

# Nodes and weights of the integral of exp(-u^2) times an even function.
_STEP = 0.3
_NODES = np.arange(22) * _STEP
_WEIGHTS = np.where(_NODES == 0, 1, 2) * _STEP * np.exp(-(_NODES**2))
_HARMONIC_NUMBERS = np.concatenate([[0], np.cumsum(1 / np.arange(1, 16))])
_FACTORIAL = np.cumprod(np.concatenate([[1.0], np.arange(1.0, 17)]))


def _k_near(order: int, x: Any) -> Any:
    """The modified function of the second kind by 10.31.1 and 10.31.2; `x` is at most 2."""
    square, log_term = x * x / 4, jnp.log(x / 2)
    digamma = _HARMONIC_NUMBERS - np.euler_gamma
    if order == 0:
        terms = 1 / _FACTORIAL[:-1] ** 2
        return power_series(square, digamma * terms) - log_term * power_series(square, terms)
    terms = 1 / (_FACTORIAL[:-1] * _FACTORIAL[1:])
    pairs = 2 * digamma + 1 / np.arange(1, 17)
    half = x / 2
    linear_term = log_term * power_series(square, terms) - power_series(square, pairs * terms) / 2
    return 1 / x + half * linear_term


def _k_asymptotic(order: int, x: Any) -> Any:
    """``exp(x)`` times it, by 10.32.9 with ``sinh(t / 2) = u / sqrt(2 x)``."""

    def function(u: float) -> Any:
        part = u * u / x
        return (1 + part if order else 1) / jnp.sqrt(1 + part / 2)

    return _weighted(_WEIGHTS, _NODES, function) / jnp.sqrt(2 * x)


def _k(order: int, x: Any, scaled: bool) -> Any:
    below, near, large = _split(x, 2.0)
    positive = jnp.where(near > 0, near, 1)
    value = _k_near(order, positive)
    value = value * jnp.exp(positive) if scaled else value
    value = jnp.where(near > 0, value, jnp.where(near < 0, jnp.nan, jnp.inf))
    above = _k_asymptotic(order, large)
    return jnp.where(below, value, above if scaled else above * jnp.exp(-large))


def _k_slope(order: int, x: Any, scaled: bool) -> Any:
    """The slope of the modified function of the second kind by 10.29.2 and 10.29.3."""
    other = _k(1 - order, x, scaled)
    value = _k(order, x, scaled)
    slope = -other - _over(value, x, math.inf) if order else -other
    return slope + value if scaled else slope


def _modified(name: str, order: int, scaled: bool) -> Primitive:
    return _special(name, lambda x: _k(order, x, scaled), lambda x: _k_slope(order, x, scaled))


modified_bessel_k0 = _modified("modified_bessel_k0", 0, False)
modified_bessel_k1 = _modified("modified_bessel_k1", 1, False)
scaled_modified_bessel_k0 = _modified("scaled_modified_bessel_k0", 0, True)
scaled_modified_bessel_k1 = _modified("scaled_modified_bessel_k1", 1, True)

# --- Airy's function

_LEFT, _RIGHT = -9.0, 2.0


def _airy_middle(x: Any) -> Any:
    """The integral 9.5.4 along the rays at 60 degrees, by Gauss and Legendre."""
    # On [0, 7.5], beyond which the integrand is 0 to rounding.
    nodes, weights = np.polynomial.legendre.leggauss(56)

    def function(r: float) -> Any:
        sin_term = jnp.sin(math.pi / 3 - math.sqrt(3) / 2 * r * x)
        return jnp.exp(-(r**3) / 3 - r / 2 * x) * sin_term

    return _weighted(3.75 * weights, 3.75 * nodes + 3.75, function) / math.pi


def _airy_right(x: Any) -> Any:
    """The integral 9.5.8 shifted to the saddle: ``exp(-sqrt(x) t^2) cos(t^3 / 3)``."""
    nodes = np.arange(27) * 0.25
    weights = np.where(nodes == 0, 0.5, 1) * 0.25 * np.exp(-(nodes**2))
    root = jnp.sqrt(x)
    cube_scale = 1 / (3 * root * jnp.sqrt(root))
    total = _weighted(weights, nodes, lambda u: jnp.cos(u**3 * cube_scale))
    return jnp.exp(-2 / 3 * x * root) / (math.pi * jnp.sqrt(root)) * total


def _airy_left(x: Any) -> Any:
    """The expansion 9.7.9; `x` is minus the operand."""
    root = jnp.sqrt(x)
    zeta = 2 / 3 * x * root
    # 9.7.2 is 10.17.1 of order 1/3 but for its signs.
    coefficients = np.abs(_hankel_coefficients(1 / 3)) * np.tile([1, 1, -1, -1], 7)
    inverse = 1 / zeta
    even = power_series(inverse**2, coefficients[::2])
    odd = inverse * power_series(inverse**2, coefficients[1::2])
    angle = zeta - math.pi / 4
    return (jnp.cos(angle) * even + jnp.sin(angle) * odd) / (math.sqrt(math.pi) * jnp.sqrt(root))


def _airy(x: Any) -> Any:
    middle = _airy_middle(jnp.where((x < _LEFT) | (x > _RIGHT), 0, x))
    right = _airy_right(jnp.where(x > _RIGHT, x, _RIGHT))
    left = _airy_left(jnp.where(x < _LEFT, -x, -_LEFT))
    return jnp.where(x > _RIGHT, right, jnp.where(x < _LEFT, left, middle))


airy_ai = _special("airy_ai", _airy)

# --- the scaled error function


def scaled_erfc(x: Any) -> Any:
    """``exp(x^2) erfc(x)``: from 2 on by 7.7.2; below 0 by reflection."""
    below, near, large = _split(jnp.abs(x), 2.0)
    inverse = 1 / large
    total = _weighted(_WEIGHTS, _NODES, lambda u: 1 / (1 + (u * inverse) ** 2))
    value = jnp.where(below, jnp.exp(near * near) * lax.erfc(near), inverse / math.pi * total)
    return jnp.where(x < 0, 2 * jnp.exp(jnp.minimum(x, 0) ** 2) - value, value)


erfcx = _special("erfcx", scaled_erfc)
