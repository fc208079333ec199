"""Trigonometric, hyperbolic and special functions, and further functions of two numbers."""

from __future__ import annotations

import math

import jax.numpy as jnp
import jax.scipy.special as jsp
from jax import lax

from oneflow.primitives.elementwise import (
    _gradient_where,
    div,
    elementwise,
    in_single,
    mul,
    step,
    unary,
    without_gradient,
    zeros_like,
)
from oneflow.primitives.registry import primitive

_HALF_PI_ROOT = math.sqrt(math.pi) / 2

# --- circles and hyperbolas

tan = unary("tan", jnp.tan, slope_of_out=lambda out: 1 + out * out)
asin = unary("asin", jnp.arcsin, lambda x: 1 / jnp.sqrt(1 - x * x))
acos = unary("acos", jnp.arccos, lambda x: -1 / jnp.sqrt(1 - x * x))
atan = unary("atan", jnp.arctan, lambda x: 1 / (1 + x * x))
sinh = unary("sinh", jnp.sinh, jnp.cosh)
cosh = unary("cosh", jnp.cosh, jnp.sinh)
asinh = unary("asinh", jnp.arcsinh, lambda x: 1 / jnp.sqrt(x * x + 1))
acosh = unary("acosh", jnp.arccosh, lambda x: 1 / (jnp.sqrt(x - 1) * jnp.sqrt(x + 1)))
atanh = unary("atanh", jnp.arctanh, lambda x: 1 / (1 - x * x))


def _sinc_slope(x):
    turned = jnp.where(x == 0, 1, math.pi * x)
    slope = (jnp.cos(turned) - jnp.sin(turned) / turned) * math.pi / turned
    return jnp.where(x == 0, 0, slope)


def _sinc(x):
    """``sin(pi x) / (pi x)``; not a number at infinity, as in PyTorch."""
    angle = jnp.pi * x
    return jnp.where(x == 0, 1, jnp.sin(angle) / jnp.where(x == 0, 1, angle))


sinc = unary("sinc", in_single(_sinc), _sinc_slope)

atan2 = elementwise("atan2", jnp.arctan2, "x y")


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

# --- error function, logarithms, gamma

erfc = unary("erfc", lax.erfc, lambda x: -jnp.exp(-x * x) / _HALF_PI_ROOT)
erfinv = unary(
    "erfinv",
    lax.erf_inv,
    slope_of_out=lambda out: _HALF_PI_ROOT * jnp.exp(out * out),
    writable="out",
)
lgamma = unary("lgamma", in_single(lax.lgamma), lax.digamma)


def _digamma(x):
    return jnp.where(x == 0, -jnp.copysign(jnp.full_like(x, jnp.inf), x), lax.digamma(x))


def _polygamma(x, *, n: int):
    wide = x.astype(jnp.float32) if x.dtype.itemsize < 4 else x
    return jsp.polygamma(n, wide).astype(x.dtype)


digamma = elementwise("digamma", in_single(_digamma))
digamma.gradient(x=lambda g, x: mul(g, polygamma(x, n=1)))
polygamma = primitive("polygamma", _polygamma, elementwise=True)
polygamma.gradient(x=lambda g, x, n: mul(g, polygamma(x, n=n + 1)))


def _logit(x):
    return jnp.log(x / (1 - x))


logit = unary("logit", in_single(_logit), lambda x: 1 / (x * (1 - x)))
logit_clamped = elementwise(
    "logit_clamped", in_single(lambda x, eps: _logit(jnp.clip(x, eps, 1 - eps))), "x eps"
)
_logit_gradient = elementwise(
    "logit_clamped_gradient",
    lambda g, x, eps: jnp.where((x < eps) | (x > 1 - eps), 0, g / (x * (1 - x))).astype(g.dtype),
    "g x eps",
    linear=("g",),
)
logit_clamped.gradient(x=lambda g, x, eps: _logit_gradient(g, x, eps), eps=None)

logaddexp = elementwise("logaddexp", in_single(jnp.logaddexp), "x y")
_share_of_sum = elementwise(
    "logaddexp_gradient", lambda g, x, y: g * lax.logistic(x - y), "g x y", linear=("g",)
)
logaddexp.gradient(
    x=lambda g, x, y: _share_of_sum(g, x, y), y=lambda g, x, y: _share_of_sum(g, y, x)
)
logaddexp2 = elementwise("logaddexp2", in_single(jnp.logaddexp2), "x y")
_share_of_sum2 = elementwise(
    "logaddexp2_gradient",
    lambda g, x, y: g * lax.logistic((x - y) * math.log(2)),
    "g x y",
    linear=("g",),
)
logaddexp2.gradient(
    x=lambda g, x, y: _share_of_sum2(g, x, y), y=lambda g, x, y: _share_of_sum2(g, y, x)
)

xlogy = elementwise(
    "xlogy",
    lambda x, y: jnp.where((x == 0) & ~jnp.isnan(y), 0, x * jnp.log(y)).astype(x.dtype),
    "x y",
)
_xlogy_x = elementwise(
    "xlogy_x_gradient",
    lambda g, x, y: jnp.where((x == 0) & (y <= 0), 0, g * jnp.log(y)).astype(g.dtype),
    "g x y",
    linear=("g",),
)
xlogy.gradient(x=lambda g, x, y: _xlogy_x(g, x, y), y=lambda g, x, y: mul(g, div(x, y)))
xlog1py = elementwise(
    "xlog1py",
    lambda x, y: jnp.where((x == 0) & ~jnp.isnan(y), 0, x * jnp.log1p(y)).astype(x.dtype),
    "x y",
)
entr = unary("entr", in_single(jsp.entr), lambda x: jnp.where(x < 0, -jnp.inf, -jnp.log(x) - 1))

i0 = unary("i0", in_single(jsp.i0), jsp.i1)
i0e = elementwise("i0e", in_single(jsp.i0e))
i1 = elementwise("i1", in_single(jsp.i1))
i1e = elementwise("i1e", in_single(jsp.i1e))
ndtr = elementwise("ndtr", in_single(jsp.ndtr))
ndtri = elementwise("ndtri", in_single(jsp.ndtri))
log_ndtr = elementwise("log_ndtr", in_single(jsp.log_ndtr))
zeta = without_gradient("zeta", in_single(jsp.zeta), "x y")
gammainc = elementwise("gammainc", in_single(jsp.gammainc), "x y")
gammaincc = elementwise("gammaincc", in_single(jsp.gammaincc), "x y")

# --- rounding and signs

frac = elementwise("frac", lambda x: x - jnp.trunc(x))
frac.gradient(x=lambda g: g)
# To multiples of 1 / scale, and to multiples of scale.
round_finer = step("round_finer", lambda x, scale: jnp.round(x * scale) / scale, "x scale")
round_coarser = step("round_coarser", lambda x, scale: jnp.round(x / scale) * scale, "x scale")


def _nan_to_num(x, nan, high, low):
    return jnp.where(
        jnp.isnan(x), nan, jnp.where(x == jnp.inf, high, jnp.where(x == -jnp.inf, low, x))
    )


nan_to_num = elementwise("nan_to_num", _nan_to_num, "x nan high low")
_where_finite = _gradient_where("where_finite", jnp.isfinite, "x")
nan_to_num.gradient(x=lambda g, x: _where_finite(g, x))

copysign = elementwise("copysign", jnp.copysign, "x y")
_copysign_gradient = elementwise(
    "copysign_gradient",
    lambda g, x, y: jnp.where(x == 0, 0, g * jnp.sign(x) * jnp.copysign(jnp.ones_like(x), y)),
    "g x y",
    linear=("g",),
)
copysign.gradient(
    x=lambda g, x, y: _copysign_gradient(g, x, y), y=lambda g: zeros_like(g), writable="x y"
)
nextafter = without_gradient("nextafter", jnp.nextafter, "x y")
heaviside = without_gradient(
    "heaviside", lambda x, y: jnp.where(x == 0, y, (x > 0).astype(x.dtype)), "x y"
)
# Mantissa in [0.5, 1) and exponent.
frexp = primitive("frexp", lambda x: jnp.frexp(x), elementwise=True, differentiable=False)
