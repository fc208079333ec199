"""Complex functions at infinite and NaN parts, for which XLA's have other values than C's.

Annex G of the C standard, which NumPy and PyTorch follow, says what they are there; so does the
interpreter, which uses NumPy. Everywhere else the functions are XLA's. The builder `unary` takes
one of these functions as `special_values`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import lax


class ComplexParts(NamedTuple):
    """The real and imaginary part of an array."""

    real: jnp.ndarray
    imag: jnp.ndarray

    def has_inf(self) -> jnp.ndarray:
        """Return where a part is infinite."""
        return jnp.isinf(self.real) | jnp.isinf(self.imag)

    def is_special(self) -> jnp.ndarray:
        """Return where a part is infinite or NaN, or the number is real."""
        is_finite = jnp.isfinite(self.real) & jnp.isfinite(self.imag)
        return ~is_finite | (self.imag == 0)

    def times_i(self) -> ComplexParts:
        """Return the product with the imaginary unit."""
        return ComplexParts(-self.imag, self.real)

    def over_i(self) -> ComplexParts:
        """Return the quotient by the imaginary unit."""
        return ComplexParts(self.imag, -self.real)


Function = Callable[[ComplexParts, ComplexParts], ComplexParts]
"""Takes the argument and XLA's value of the function; returns its value."""


def _where(condition: jnp.ndarray, special: ComplexParts, other: ComplexParts) -> ComplexParts:
    return ComplexParts(
        jnp.where(condition, special.real, other.real),
        jnp.where(condition, special.imag, other.imag),
    )


def _scaled_direction(length: jnp.ndarray, angle: jnp.ndarray) -> ComplexParts:
    """Return ``length * exp(i * angle)``, where infinity times 0 does not occur."""
    return ComplexParts(length * jnp.cos(angle), length * jnp.sin(angle))


def exp(x: ComplexParts, value: ComplexParts) -> ComplexParts:
    """Exponential."""
    a, b = x
    nan, zero = jnp.full_like(a, np.nan), jnp.zeros_like(a)
    special = _scaled_direction(jnp.exp(a), b)
    imag_not_finite = ~jnp.isfinite(b)
    special = _where(imag_not_finite & (a == np.inf), ComplexParts(a, nan), special)
    special = _where(
        imag_not_finite & (a == -np.inf), ComplexParts(zero, jnp.copysign(zero, b)), special
    )
    special = _where(b == 0, ComplexParts(jnp.exp(a), b), special)
    return _where(x.is_special(), special, value)


def expm1(x: ComplexParts, value: ComplexParts) -> ComplexParts:
    """Exponential less 1 by the plain formula, as in PyTorch; C has no such function."""
    a, b = x
    sin_half = jnp.sin(b / 2)
    special = ComplexParts(
        jnp.expm1(a) * jnp.cos(b) - 2 * sin_half * sin_half, jnp.exp(a) * jnp.sin(b)
    )
    return _where(x.is_special(), special, value)


def reciprocal(x: ComplexParts, value: ComplexParts) -> ComplexParts:
    """Reciprocal with PyTorch's values: NaN unless one part is finite, also for 0 in one part."""
    a, b = x
    nan = jnp.full_like(a, np.nan)
    is_zero = (a == 0) & (b == 0)
    value = _where(is_zero, ComplexParts(jnp.full_like(a, np.inf), nan), value)
    return _where(~jnp.isfinite(a) & ~jnp.isfinite(b), ComplexParts(nan, nan), value)


def sigmoid(x: ComplexParts, value: ComplexParts) -> ComplexParts:
    """Logistic function, ``1 / (1 + exp(-x))``."""
    negative = ComplexParts(-x.real, -x.imag)
    power = exp(negative, value)
    c, d = 1 + power.real, power.imag
    square = c * c + d * d
    is_inf = jnp.isinf(c) | jnp.isinf(d)
    zero = jnp.zeros_like(c)
    quotient = _where(is_inf, ComplexParts(zero, zero), ComplexParts(c / square, 0 - d / square))
    special = reciprocal(ComplexParts(c, d), quotient)
    return _where(~(jnp.isfinite(x.real) & jnp.isfinite(x.imag)), special, value)


def exp2(x: ComplexParts, value: ComplexParts) -> ComplexParts:
    """Exponential to the base 2."""
    scaled = ComplexParts(
        x.real * np.log(2).astype(x.real.dtype), x.imag * np.log(2).astype(x.real.dtype)
    )
    special = exp(scaled, value)
    return _where(x.is_special(), special, value)


def sinh(x: ComplexParts, value: ComplexParts) -> ComplexParts:
    """Hyperbolic sine."""
    a, b = x
    nan = jnp.full_like(a, np.nan)
    special = ComplexParts(jnp.sinh(a) * jnp.cos(b), jnp.cosh(a) * jnp.sin(b))
    imag_not_finite = ~jnp.isfinite(b)
    special = _where(
        imag_not_finite & ((a == 0) | jnp.isinf(a)),
        ComplexParts(jnp.where(a == 0, a, jnp.abs(a)), nan),
        special,
    )
    special = _where(b == 0, ComplexParts(jnp.sinh(a), b), special)
    value = ComplexParts(jnp.where(a == 0, a * jnp.cos(b), value.real), value.imag)
    return _where(x.is_special(), special, value)


def cosh(x: ComplexParts, value: ComplexParts) -> ComplexParts:
    """Hyperbolic cosine."""
    a, b = x
    nan, zero = jnp.full_like(a, np.nan), jnp.zeros_like(a)
    special = ComplexParts(jnp.cosh(a) * jnp.cos(b), jnp.sinh(a) * jnp.sin(b))
    imag_not_finite = ~jnp.isfinite(b)
    special = _where(imag_not_finite & (a == 0), ComplexParts(nan, zero), special)
    special = _where(imag_not_finite & jnp.isinf(a), ComplexParts(jnp.abs(a), nan), special)
    sign = jnp.where(jnp.isnan(a), b, jnp.copysign(b, a) * jnp.copysign(jnp.ones_like(a), b))
    special = _where(b == 0, ComplexParts(jnp.cosh(a), jnp.copysign(zero, sign)), special)
    value = ComplexParts(value.real, jnp.where(a == 0, a * jnp.sin(b), value.imag))
    return _where(x.is_special(), special, value)


def tanh(x: ComplexParts, value: ComplexParts) -> ComplexParts:
    """Hyperbolic tangent."""
    a, b = x
    nan, zero = jnp.full_like(a, np.nan), jnp.zeros_like(a)
    special = ComplexParts(nan, nan)
    special = _where((a == 0) & ~jnp.isfinite(b), ComplexParts(a, nan), special)
    sin_2b = jnp.where(jnp.isfinite(b), jnp.sin(2 * b), b)
    limit = ComplexParts(jnp.copysign(jnp.ones_like(a), a), jnp.copysign(zero, sin_2b))
    special = _where(jnp.isinf(a), limit, special)
    special = _where(b == 0, ComplexParts(jnp.tanh(a), b), special)
    return _where(x.is_special(), special, value)


def _log_of_base(base: float) -> Function:
    """Return the rule of the logarithm to a base."""

    def function(x: ComplexParts, value: ComplexParts) -> ComplexParts:
        scale = x.real.dtype.type(1 / np.log(base))
        special = ComplexParts(jnp.full_like(x.real, np.inf), jnp.arctan2(x.imag, x.real) * scale)
        return _where(x.has_inf(), special, value)

    return function


log, log2, log10 = map(_log_of_base, (np.e, 2, 10))


def log1p(x: ComplexParts, value: ComplexParts) -> ComplexParts:
    """Logarithm of ``1 + x``, whose real part is exact on the real axis."""
    is_real = (x.imag == 0) & (x.real > -1) & jnp.isfinite(x.real)
    return ComplexParts(jnp.where(is_real, jnp.log1p(x.real), value.real), value.imag)


def sqrt(x: ComplexParts, value: ComplexParts) -> ComplexParts:
    """Square root."""
    a, b = x
    inf, zero = jnp.full_like(a, np.inf), jnp.zeros_like(a)
    nan = jnp.full_like(a, np.nan)
    of_negative = ComplexParts(jnp.where(jnp.isnan(b), nan, zero), jnp.copysign(inf, b))
    of_positive = ComplexParts(inf, jnp.where(jnp.isnan(b), nan, jnp.copysign(zero, b)))
    special = _where(a == -np.inf, of_negative, ComplexParts(nan, nan))
    special = _where(a == np.inf, of_positive, special)
    special = _where(jnp.isinf(b), ComplexParts(inf, b), special)
    is_finite = jnp.isfinite(a) & jnp.isfinite(b)
    of_real = jnp.sqrt(jnp.abs(a))
    value = _where((b == 0) & (a <= 0), ComplexParts(zero, of_real), value)
    value = ComplexParts(value.real, jnp.copysign(value.imag, b))
    return _where(~is_finite, special, value)


def asinh(x: ComplexParts, value: ComplexParts) -> ComplexParts:
    """Inverse hyperbolic sine."""
    a, b = x
    nan = jnp.full_like(a, np.nan)
    special = ComplexParts(nan, nan)
    special = _where(jnp.isnan(a) & (b == 0), ComplexParts(a, b), special)
    of_inf = ComplexParts(jnp.copysign(jnp.full_like(a, np.inf), a), jnp.arctan2(b, jnp.abs(a)))
    special = _where(x.has_inf(), of_inf, special)
    value = ComplexParts(jnp.copysign(value.real, a), jnp.copysign(value.imag, b))
    return _where(~(jnp.isfinite(a) & jnp.isfinite(b)), special, value)


def atanh(x: ComplexParts, value: ComplexParts) -> ComplexParts:
    """Inverse hyperbolic tangent."""
    a, b = x
    nan, zero = jnp.full_like(a, np.nan), jnp.zeros_like(a)
    special = _where((a == 0) & jnp.isnan(b), ComplexParts(a, b), ComplexParts(nan, nan))
    half_pi = jnp.copysign(jnp.full_like(a, np.pi / 2), b)
    of_inf = ComplexParts(jnp.copysign(zero, a), jnp.where(jnp.isnan(b), nan, half_pi))
    special = _where(x.has_inf(), of_inf, special)
    value = ComplexParts(jnp.copysign(value.real, a), jnp.copysign(value.imag, b))
    value = _where((jnp.abs(a) == 1) & (b == 0), ComplexParts(jnp.copysign(np.inf, a), b), value)
    value = _where((jnp.abs(a) < 1) & (b == 0), ComplexParts(jnp.arctanh(a), b), value)
    value = _where(a == 0, ComplexParts(a, jnp.arctan(b)), value)
    return _where(~(jnp.isfinite(a) & jnp.isfinite(b)), special, value)


def acos(x: ComplexParts, value: ComplexParts) -> ComplexParts:
    """Inverse cosine."""
    a, b = x
    nan = jnp.full_like(a, np.nan)
    special = _where(
        (a == 0) & jnp.isnan(b),
        ComplexParts(jnp.full_like(a, np.pi / 2), b),
        ComplexParts(nan, nan),
    )
    of_inf = ComplexParts(jnp.abs(jnp.arctan2(b, a)), -jnp.copysign(jnp.full_like(a, np.inf), b))
    special = _where(x.has_inf(), of_inf, special)
    value = ComplexParts(value.real, -jnp.copysign(value.imag, b))
    return _where(~(jnp.isfinite(a) & jnp.isfinite(b)), special, value)


def acosh(x: ComplexParts, value: ComplexParts) -> ComplexParts:
    """Inverse hyperbolic cosine."""
    a, b = x
    nan = jnp.full_like(a, np.nan)
    half_pi = jnp.full_like(a, np.pi / 2)
    special = _where((a == 0) & jnp.isnan(b), ComplexParts(nan, half_pi), ComplexParts(nan, nan))
    special = _where(
        x.has_inf(), ComplexParts(jnp.full_like(a, np.inf), jnp.arctan2(b, a)), special
    )
    value = ComplexParts(value.real, jnp.copysign(value.imag, b))
    return _where(~(jnp.isfinite(a) & jnp.isfinite(b)), special, value)


def _circular(function: Function) -> Function:
    """Return the rule of a circular function: ``sin(x)`` is ``i * sinh(x / i)``, and so on."""
    return lambda x, value: function(x.over_i(), value.over_i()).times_i()


sin, tan, asin, atan = map(_circular, (sinh, tanh, asinh, atanh))


def cos(x: ComplexParts, value: ComplexParts) -> ComplexParts:
    """Cosine, the hyperbolic one of ``i * x``."""
    return cosh(x.times_i(), value)


def completed(impl: Callable, function: Function) -> Callable:
    """Return an implementation whose complex results have the special values of `function`."""

    def complete(x):
        value = impl(x)
        if not jnp.issubdtype(x.dtype, jnp.complexfloating):
            return value
        return lax.complex(
            *function(ComplexParts(x.real, x.imag), ComplexParts(value.real, value.imag))
        )

    return complete
