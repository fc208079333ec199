"""Functions of circles and hyperbolas."""

from __future__ import annotations

import math
from collections.abc import Callable

import jax.numpy as jnp
import numpy as np
from jax import lax

from oneflow.primitives.operators import complex_special_values as special_values, exponential
from oneflow.primitives.operators.elementwise import (
    abs_,
    add,
    cube,
    div,
    elementwise,
    mul,
    neg,
    sqrt,
    sub,
    unary,
)
from oneflow.primitives.operators.rounding import round_once
from oneflow.primitives.traits import Precision

# --- sine and cosine; on the CPU, where XLA computes them one by one, not in vectors: those of
# single precision in double precision; if numbers are too large for that, the whole array by XLA

# pi / 2 in parts of 33 bits: an integer below 2^20 times a part is exact in double precision.
_HALF_PI = (1.57079632673412561417, 6.07710050630396597660e-11, 2.02226624879595063154e-21)
_MAX_REDUCED = 2.0**20
# Coefficients of x^3, x^5, x^7 and of x^4, x^6, x^8 for |x| <= pi / 4.
_SIN = (-1.6666654611e-1, 8.3321608736e-3, -1.9515295891e-4)
_COSINE = (4.166664568298827e-2, -1.388731625493765e-3, 2.443315711809948e-5)


def _sin_shifted(x, half_pi_count: int):
    """The sine of ``x + half_pi_count * pi / 2``."""
    wide = x.astype(jnp.float64)
    rotations = jnp.round(wide * (2 / np.pi))
    rest = wide
    for part in _HALF_PI:
        rest = rest - rotations * part
    square = rest * rest
    a, b, c = _SIN
    sin_value = rest + rest * square * (a + square * (b + square * c))
    a, b, c = _COSINE
    cosine = 1 - 0.5 * square + square * square * (a + square * (b + square * c))
    index = rotations.astype(jnp.int32) + half_pi_count
    value = jnp.where(index & 1 == 1, cosine, sin_value).astype(x.dtype)
    return jnp.where(index & 2 == 2, -value, value)


def _sin_or_cos_on_cpu(half_pi_count: int, exact: Callable) -> Callable:
    def compute(x):
        if x.dtype != jnp.float32:
            return exact(x)
        in_range = jnp.all(jnp.abs(x) < _MAX_REDUCED)
        return lax.cond(in_range, lambda x: _sin_shifted(x, half_pi_count), exact, x)

    return compute


sin = unary("sin", jnp.sin, special_values=special_values.sin, cpu=_sin_or_cos_on_cpu(0, jnp.sin))
cos = unary("cos", jnp.cos, special_values=special_values.cos, cpu=_sin_or_cos_on_cpu(1, jnp.cos))
_sin_gradient = elementwise(
    "sin_gradient", lambda g, x: g * jnp.conj(jnp.cos(x)), "cotangent x", linear=("cotangent",)
)
_cos_gradient = elementwise(
    "cos_gradient", lambda g, x: g * jnp.conj(-jnp.sin(x)), "cotangent x", linear=("cotangent",)
)
sin.gradient(x=lambda g, x: _sin_gradient(g, x))
cos.gradient(x=lambda g, x: _cos_gradient(g, x))
_sin_gradient.lowering("cpu")(round_once(lambda g, x: g * jnp.conj(cos.lowerings["cpu"](x))))
_cos_gradient.lowering("cpu")(round_once(lambda g, x: -g * jnp.conj(sin.lowerings["cpu"](x))))

# --- the others

tan = unary(
    "tan",
    jnp.tan,
    lambda out: 1 + out * out,
    of_out=True,
    special_values=special_values.tan,
    precision=Precision.FULL_OFF_CPU,
)
asin = unary(
    "asin",
    jnp.arcsin,
    lambda x: 1 / jnp.sqrt(1 - x * x),
    special_values=special_values.asin,
    precision=Precision.FULL_OFF_CPU,
)
acos = unary(
    "acos",
    jnp.arccos,
    lambda x: -1 / jnp.sqrt(1 - x * x),
    special_values=special_values.acos,
    precision=Precision.FULL_OFF_CPU,
)
atan = unary(
    "atan",
    jnp.arctan,
    lambda x: 1 + x * x,
    is_inverse=True,
    special_values=special_values.atan,
)
sinh = unary(
    "sinh",
    exponential.sinh,
    exponential.cosh,
    special_values=special_values.sinh,
    precision=Precision.FULL_OFF_CPU,
)
cosh = unary(
    "cosh",
    exponential.cosh,
    exponential.sinh,
    special_values=special_values.cosh,
    precision=Precision.FULL_OFF_CPU,
)
asinh = unary(
    "asinh",
    jnp.arcsinh,
    lambda x: 1 / jnp.sqrt(x * x + 1),
    special_values=special_values.asinh,
)


def _acosh_root(x):
    """The root of ``x ** 2 - 1``; of complex numbers on the branch of `acosh`."""
    if jnp.iscomplexobj(x):
        return jnp.sqrt(x - 1) * jnp.sqrt(x + 1)
    magnitude = jnp.abs(x)  # with it the product is +0 at -1, too
    return jnp.sqrt((magnitude - 1) * (magnitude + 1))


def _acosh_curvature(x):
    """The second derivative; of real numbers also below -1, where the slope is a number, too."""
    if x.spec.dtype.is_complex:
        root = mul(sqrt(sub(x, 1.0)), sqrt(add(x, 1.0)))
    else:
        root = sqrt(mul(sub(abs_(x), 1.0), add(abs_(x), 1.0)))
    return neg(div(x, cube(root)))


acosh = unary(
    "acosh",
    jnp.arccosh,
    _acosh_root,
    is_inverse=True,
    curvature=_acosh_curvature,
    special_values=special_values.acosh,
)
atanh = unary(
    "atanh",
    exponential.atanh,
    lambda x: 1 - x * x,
    is_inverse=True,
    special_values=special_values.atanh,
)


# Coefficients of sinc's slope in (pi x)^2, highest power first; enough for a double below 1.
_SINC_SLOPE = [(-1) ** k * 2 * k / math.factorial(2 * k + 1) for k in range(10, 0, -1)]


def _sinc_slope(x):
    """Near 0 by its series: the difference of cosine and quotient would lose all digits."""
    angle = math.pi * x
    is_near = jnp.abs(angle) < 1
    near = jnp.where(is_near, angle, 0)
    safe_angle = jnp.where(is_near, 1, angle)
    series, square = jnp.zeros_like(near), jnp.square(near)
    for coefficient in _SINC_SLOPE:
        series = series * square + coefficient
    return math.pi * jnp.where(
        is_near,
        near * series,
        (jnp.cos(safe_angle) - jnp.sin(safe_angle) / safe_angle) / safe_angle,
    )


def _sinc(x):
    """``sin(pi x) / (pi x)``; not a number at infinity, as in PyTorch."""
    angle = jnp.pi * x
    return jnp.where(x == 0, 1, jnp.sin(angle) / jnp.where(x == 0, 1, angle))


sinc = unary("sinc", _sinc, _sinc_slope)

atan2 = elementwise("atan2", jnp.arctan2, "x y", real_only=True)


def _by_square(number, x, y):
    """``number / (x * x + y * y)``, and 0 at the origin, where there is no slope."""
    square = x * x + y * y
    return jnp.where(square == 0, 0, number / jnp.where(square == 0, 1, square))


_atan2_x = elementwise(
    "atan2_x_gradient", lambda g, x, y: _by_square(g * y, x, y), "g x y", linear=("g",)
)
_atan2_y = elementwise(
    "atan2_y_gradient", lambda g, x, y: _by_square(-g * x, x, y), "g x y", linear=("g",)
)
atan2.gradient(x=lambda g, x, y: _atan2_x(g, x, y), y=lambda g, x, y: _atan2_y(g, x, y))

hypot = elementwise("hypot", jnp.hypot, "x y")
hypot.gradient(x=lambda g, x, out: mul(g, div(x, out)), y=lambda g, y, out: mul(g, div(y, out)))
