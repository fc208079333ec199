"""Exponentials and logarithms for dtypes where XLA's own are off by tens of roundings.

XLA multiplies by the logarithm of the base before the exponential or after the logarithm, so that
``exp2(10)`` is not 1024 and ``log10(1000)`` not 3. These split off the power of two first.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
from jax import lax

from oneflow.primitives.operators.rounding import hidden, quotient

# log10(2) as a number of few bits, of which products with exponents are exact, and the rest.
_LOG10_OF_2 = (0.301025390625, 4.605038981195213738894724493e-6)


def _real_only(complex_too: Callable) -> Callable[[Callable], Callable]:
    """Decorator: `complex_too` computes complex numbers."""

    def choose(impl: Callable) -> Callable:
        return lambda x: complex_too(x) if jnp.iscomplexobj(x) else impl(x)

    return choose


def _two_to(exponent: Any) -> Any:
    """The power of two with a whole exponent in the range of normal numbers, from its bits."""
    info = jnp.finfo(exponent.dtype)
    int_dtype = jnp.int32 if info.bits == 32 else jnp.int64
    bits = (exponent.astype(int_dtype) + (info.maxexp - 1)) << info.nmant
    return lax.bitcast_convert_type(bits, exponent.dtype)


@_real_only(jnp.exp2)
def exp2(x):
    """``2 ** x``, exact where `x` is whole."""
    # There are two factors, since 2 ** whole may be no normal number though the result is one.
    limit = 1.5 * jnp.finfo(x.dtype).maxexp
    bounded = jnp.clip(x, -limit, limit)
    int_dtype = jnp.round(bounded)
    part = jnp.floor(int_dtype * 0.5)
    return jnp.exp((bounded - int_dtype) * math.log(2)) * _two_to(part) * _two_to(int_dtype - part)


def _scaled_log(x: Any, of_two: tuple[float, float], scale: float) -> Any:
    """The logarithm of `x` to a base.

    Args:
        x: an array of real numbers.
        of_two: the logarithm of 2 in two parts.
        scale: the logarithm of e.
    """
    mantissa, exponent = jnp.frexp(x)
    small = mantissa < math.sqrt(0.5)
    mantissa = jnp.where(small, mantissa * 2, mantissa)
    exponent = jnp.where(small, exponent - 1, exponent).astype(x.dtype)
    high, low = of_two
    return exponent * high + (exponent * low + jnp.log(mantissa) * scale)


@_real_only(jnp.log2)
def log2(x):
    """The logarithm to the base 2, exact for powers of two."""
    return _scaled_log(x, (1.0, 0.0), 1 / math.log(2))


@_real_only(jnp.log10)
def log10(x):
    """The logarithm to the base 10, exact for powers of ten."""
    return _scaled_log(x, _LOG10_OF_2, 1 / math.log(10))


def _complex_log1p(z):
    """XLA's; where it would lose a small real part, half the logarithm of ``|1 + z|`` squared."""
    x, y = jnp.real(z), jnp.imag(z)
    near = jnp.abs(z) < 0.5
    less_one = jnp.where(near, x * (2 + x) + y * y, 0)
    # If the square less 1 is too small for a number, the logarithm is `x`.
    real = jnp.where(less_one == 0, x, 0.5 * log1p(less_one))
    return jnp.where(near, lax.complex(real, jnp.arctan2(y, x + 1)), jnp.log1p(z))


@_real_only(_complex_log1p)
def log1p(x):
    """``log(1 + x)``."""
    if x.dtype != jnp.float64:
        return jnp.log1p(x)
    # The logarithm of the rounded sum, scaled by what the rounding changed (Kahan).
    total = hidden(1 + x)
    change = total - 1
    regular = (change != 0) & jnp.isfinite(total)
    scaled = jnp.log(total) * quotient(x, jnp.where(regular, change, 1))
    return jnp.where(regular, scaled, jnp.where(x == -jnp.inf, jnp.nan, x))


@_real_only(jnp.arctanh)
def atanh(x):
    """The inverse hyperbolic tangent."""
    size = jnp.abs(x)
    return jnp.copysign(0.5 * log1p(quotient(2 * size, 1 - size)), x)


@_real_only(jnp.sinh)
def sinh(x):
    """The hyperbolic sine."""
    # XLA's is exact below 1; above it adds log(1/2) to an exponent, which rounds that.
    size = jnp.abs(x)
    half_exp = hidden(jnp.exp(size * 0.5))
    large = half_exp * (0.5 * half_exp) - quotient(quotient(0.5, half_exp), half_exp)
    return jnp.where(size < 1, jnp.sinh(x), jnp.copysign(large, x))


@_real_only(jnp.cosh)
def cosh(x):
    """The hyperbolic cosine."""
    half_exp = hidden(jnp.exp(jnp.abs(x) * 0.5))
    return half_exp * (0.5 * half_exp) + quotient(quotient(0.5, half_exp), half_exp)


def complex_power(x: Any, y: Any) -> Any:
    """Return ``x ** y``; at least one of the two is complex.

    XLA multiplies a power of the magnitude by an exponential, of which one may be infinite though
    the product is not. And it takes the logarithm, which 0 does not have.
    """
    real, imag = jnp.real(y), jnp.imag(y)
    scale, angle = jnp.log(jnp.abs(x)), jnp.angle(x)
    exponent = real * scale - imag * angle
    power = x**y
    product = jnp.exp(lax.complex(exponent, real * angle + imag * scale))
    is_infinite = jnp.isfinite(exponent) & ~jnp.isfinite(power)
    power = jnp.where(is_infinite, product.astype(power.dtype), power)
    lowest = math.log(jnp.finfo(exponent.dtype).smallest_subnormal)
    return jnp.where((exponent < lowest) | ((x == 0) & (real > 0)), 0, power)
