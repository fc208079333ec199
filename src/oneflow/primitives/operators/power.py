"""Powers, whose derivatives of any order are powers: finite also where the base is 0."""

from __future__ import annotations

import math

import jax
import jax.numpy as jnp
from jax import lax

from oneflow.primitives.operators import exponential
from oneflow.primitives.operators.elementwise import conjugate, elementwise, mul
from oneflow.primitives.operators.rounding import round_once
from oneflow.primitives.registry import COMPUTED, primitive
from oneflow.primitives.traits import Precision

# The bits of exponents that every power looks at; a larger one is rare.
_BITS = 6


def _wrapped_power(x, y):
    """``x ** y`` modulo the integers of the dtype, for exponents of any size.

    `jnp.power` looks at the last six bits alone.
    """

    def step(carry):
        base, exponent, product = carry
        product = jnp.where(exponent & 1 == 1, product * base, product)
        return base * base, exponent >> 1, product

    carry = x, y, jnp.ones(jnp.broadcast_shapes(x.shape, y.shape), x.dtype)
    for _ in range(_BITS):
        carry = step(carry)
    return lax.while_loop(lambda carry: jnp.any(carry[1] != 0), step, carry)[2]


def _integer_power(x, y):
    # Negative exponents give 0, except of 1 and -1, as in PyTorch.
    positive = _wrapped_power(x, jnp.maximum(y, 0))
    parity_sign = jnp.where(y % 2 == 0, 1, -1)
    inverse = jnp.where(x == 1, 1, jnp.where(x == -1, parity_sign, 0)).astype(x.dtype)
    return jnp.where(y < 0, inverse, positive)


def _pow(x, y):
    if jnp.issubdtype(x.dtype, jnp.signedinteger):
        return _integer_power(x, y)
    if jnp.issubdtype(jnp.result_type(x, y), jnp.unsignedinteger):
        return _wrapped_power(x, y)
    if not jnp.issubdtype(jnp.result_type(x, y), jnp.complexfloating):
        return x**y
    return exponential.complex_power(x, y)


def _falling_factorial(y, order: int):
    """``y (y - 1) ... (y - order + 1)``."""
    return math.prod([y - n for n in range(1, order)], start=y)


def _derivative(x, y, order: int):
    """The derivative of ``x ** y`` in `x`; 0 where it has no term left, whatever `x` is."""
    factor = _falling_factorial(y, order)
    zero = factor == 0
    return jnp.where(zero, 0, factor * jnp.power(x, jnp.where(zero, order, y) - order))


def _pow_x_gradient(cotangent, x, y, *, order: int = 1):
    def slope(cotangent, x, y):
        return cotangent * jnp.conj(_derivative(x, y, order))

    return round_once(slope)(cotangent, x, y)


def _in_exponent(x, y, order: int):
    """The derivative of `_derivative` in the exponent; 0 where that has no term left."""
    factor, change = jax.jvp(lambda y: _falling_factorial(y, order), (y,), (jnp.ones_like(y),))
    zero = factor == 0
    exponent = jnp.where(zero, order, y) - order
    power = jnp.power(x, exponent)
    return jnp.where(zero, 0, change * power + factor * _power_times_log(x, exponent, power))


def _power_times_log(x, y, power):
    """``x ** y * log(x)``, 0 where x = 0 and y >= 0, for which the logarithm has no value."""
    zero = (x == 0) & (y.real >= 0 if jnp.iscomplexobj(y) else y >= 0)
    return power * jnp.log(jnp.where(zero, 1, x))


def _pow_x_y_gradient(cotangent, x, y, *, order: int):
    """The gradient of `_pow_x_gradient` in the exponent."""

    def slope(cotangent, x, y):
        return cotangent * jnp.conj(_in_exponent(x, y, order))

    return round_once(slope)(cotangent, x, y)


def _pow_y_gradient(g, x, y, out):
    return g * jnp.conj(_power_times_log(x, y, out))


pow_ = elementwise("pow", _pow, "x y", scalar=None, precision=Precision.FULL_OFF_CPU)
_pow_x = primitive(
    "pow_x_gradient", _pow_x_gradient, elementwise=True, scalar=COMPUTED, linear=("cotangent",)
)
_pow_x_y = primitive(
    "pow_x_y_gradient", _pow_x_y_gradient, elementwise=True, scalar=COMPUTED, linear=("cotangent",)
)
_pow_y = elementwise("pow_y_gradient", _pow_y_gradient, "g x y out", linear=("g",))
pow_.gradient(x=lambda g, x, y: _pow_x(g, x, y), y=lambda g, x, y, out: _pow_y(g, x, y, out))
_pow_x.gradient(
    cotangent=lambda g, x, y, order: conjugate(_pow_x(conjugate(g), x, y, order=order)),
    x=lambda g, cotangent, x, y, order: _pow_x(mul(conjugate(g), cotangent), x, y, order=order + 1),
    y=lambda g, cotangent, x, y, order: _pow_x_y(mul(conjugate(g), cotangent), x, y, order=order),
)
