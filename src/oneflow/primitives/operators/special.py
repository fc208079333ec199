"""Special functions, and further functions of two numbers."""

from __future__ import annotations

import math

import jax.numpy as jnp
import numpy as np
from jax import lax

from oneflow.primitives.operators import (
    bessel,
    incomplete_gamma,
    loops,
    scipy_functions as jsp,
)
from oneflow.primitives.operators.elementwise import (
    add,
    div,
    elementwise,
    exact,
    gradient_where,
    keep_if,
    log,
    mul,
    ne,
    neg,
    piecewise_constant,
    sub,
    unary,
    zeros_like,
)
from oneflow.primitives.operators.rounding import quotient
from oneflow.primitives.operators.without_derivative import undefined_gradient
from oneflow.primitives.registry import primitive
from oneflow.primitives.traits import Precision

_HALF_PI_ROOT = math.sqrt(math.pi) / 2

# --- error function, logarithms, gamma

erfc = unary("erfc", lax.erfc, lambda x: -jnp.exp(-x * x) / _HALF_PI_ROOT, real_only=True)


def _erfinv(x):
    """XLA's: half of its digits are right near 1; in double precision one step further."""
    y = lax.erf_inv(x)
    if x.dtype != jnp.float64:
        return y
    size, target = jnp.abs(y), jnp.abs(x)
    miss = jnp.where(target > 0.5, (1 - target) - lax.erfc(size), lax.erf(size) - target)
    step = miss * _HALF_PI_ROOT * jnp.exp(size * size)
    return jnp.where(target < 1, jnp.copysign(size - step / (1 + size * step), x), y)


erfinv = unary(
    "erfinv",
    _erfinv,
    lambda out: _HALF_PI_ROOT * jnp.exp(out * out),
    of_out=True,
    writable="out",
    precision=Precision.FULL_OFF_CPU,
)


def _digamma(x):
    return jnp.where(x == 0, -jnp.copysign(jnp.full_like(x, jnp.inf), x), lax.digamma(x))


# Higher derivatives of the cotangent are infinite everywhere: this number's factorial is.
_MAX_ORDER = 170


def _cotangent_slope(x, n: int):
    """The `n`-th derivative of ``pi cot(pi x)``, by the polynomial in the cotangent that it is."""
    # The sine and cosine of less than half a turn, so that poles are found exactly.
    theta = math.pi * (x - jnp.round(x))
    if n > _MAX_ORDER:
        return jnp.copysign(jnp.inf, theta if n % 2 == 0 else -jnp.abs(theta))
    cotangent = jnp.cos(theta) / jnp.sin(theta)
    slope = np.polynomial.Polynomial([0.0, 1.0])
    for _ in range(n):
        slope = slope.deriv() * np.polynomial.Polynomial([-1.0, 0.0, -1.0])
    total = jnp.zeros_like(x)
    for coefficient in slope.coef[::-1]:
        total = total * cotangent + coefficient
    return math.pi ** (n + 1) * total


def _polygamma(x, *, n: int):
    """Below 0, where the series does not hold, by reflection; infinite at the poles."""
    wide = x.astype(jnp.float32) if x.dtype.itemsize < 4 else x
    sign = 1 if n % 2 == 0 else -1
    below = wide <= 0
    is_singular = below & (wide == jnp.floor(wide)) & jnp.isfinite(wide)
    upper = jsp.polygamma(n, jnp.where(below, 1 - wide, wide))
    mirrored = 0 if n > _MAX_ORDER else sign * upper
    reflection = mirrored - _cotangent_slope(jnp.where(below & ~is_singular, wide, 0.25), n)
    value = jnp.where(is_singular, -sign * jnp.inf, jnp.where(below, reflection, upper))
    value = jnp.where(wide == jnp.inf, 0, value)
    return value.astype(x.dtype)


# In single precision XLA's loses the digits near 1 and 2, where it is 0.
lgamma = unary(
    "lgamma",
    bessel.in_double(lax.lgamma),
    _digamma,
    curvature=lambda x: polygamma(x, n=1),
    real_only=True,
)
digamma = elementwise("digamma", _digamma, real_only=True)
digamma.gradient(x=lambda g, x: mul(g, polygamma(x, n=1)))
polygamma = primitive("polygamma", _polygamma, elementwise=True)
polygamma.gradient(x=lambda g, x, n: mul(g, polygamma(x, n=n + 1)))


def _logit(x):
    return jnp.log(x / (1 - x))


logit = unary(
    "logit",
    _logit,
    lambda x: jnp.where((x < 0) | (x > 1), jnp.nan, 1 / (x * (1 - x))),
    real_only=True,
)


def _limited(x, eps):
    """`x` between `eps` and ``1 - eps``; as it is if `eps` is NaN."""
    return jnp.where(x < eps, eps, jnp.where(x > 1 - eps, 1 - eps, x))


logit_clamped = elementwise(
    "logit_clamped", lambda x, eps: _logit(_limited(x, eps)), "x eps", real_only=True
)


def _logit_clamped_gradient(g, x, eps):
    is_clamped = (eps >= 0) & ((x < eps) | (x > 1 - eps))
    is_undefined = (eps < 0) & ((x < 0) | (x > 1))
    inside = jnp.where(is_clamped, 0.5, x)  # the slope's slope at a clamped 0 is infinite
    slope = jnp.where(is_undefined, jnp.nan, 1 / (inside * (1 - inside)))
    return jnp.where(is_clamped, 0, g * slope).astype(g.dtype)


_logit_gradient = elementwise(
    "logit_clamped_gradient", _logit_clamped_gradient, "g x eps", linear=("g",)
)
logit_clamped.gradient(x=lambda g, x, eps: _logit_gradient(g, x, eps), eps=None)


def complex_logaddexp(x, y):
    """The number with the larger real part plus a correction, as in PyTorch."""
    x_is_larger = x.real >= y.real
    large, small = jnp.where(x_is_larger, x, y), jnp.where(x_is_larger, y, x)
    infinite = jnp.isinf(large.real) & (large.real == small.real)
    correction = jnp.log1p(jnp.exp(jnp.where(infinite, 0, small - large)))
    # The sum for two logarithms of zero, and for two infinite ones.
    total = jnp.exp(jnp.where(infinite, large, 0)) + jnp.exp(jnp.where(infinite, small, 0))
    limit = jnp.where(large.real < 0, small, jnp.log(total))
    return jnp.where(infinite, limit, large + correction)


logaddexp = elementwise(
    "logaddexp",
    lambda x, y: (complex_logaddexp if jnp.iscomplexobj(x) else jnp.logaddexp)(x, y),
    "x y",
)
_share_of_sum = elementwise(
    "logaddexp_gradient",
    lambda g, x, y: g * jnp.conj(lax.logistic(x - y)),
    "g x y",
    linear=("g",),
)
logaddexp.gradient(
    x=lambda g, x, y: _share_of_sum(g, x, y), y=lambda g, x, y: _share_of_sum(g, y, x)
)
logaddexp2 = elementwise("logaddexp2", jnp.logaddexp2, "x y", real_only=True)
_share_of_sum2 = elementwise(
    "logaddexp2_gradient",
    lambda g, x, y: g * lax.logistic((x - y) * math.log(2)),
    "g x y",
    linear=("g",),
)
logaddexp2.gradient(
    x=lambda g, x, y: _share_of_sum2(g, x, y), y=lambda g, x, y: _share_of_sum2(g, y, x)
)


def _unless(is_zero, function, x):
    """A function of `x`; 0 where a condition holds, whatever it is there."""
    return jnp.where(is_zero, 0, function(jnp.where(is_zero, 1, x)))


xlogy = elementwise(
    "xlogy",
    lambda x, y: jnp.where((x == 0) & ~jnp.isnan(y), 0, x * jnp.log(y)).astype(x.dtype),
    "x y",
    real_only=True,
)
_xlogy_x = elementwise(
    "xlogy_x_gradient",
    lambda g, x, y: g * _unless((x == 0) & (y <= 0), jnp.log, y),
    "g x y",
    linear=("g",),
)
xlogy.gradient(x=lambda g, x, y: _xlogy_x(g, x, y), y=lambda g, x, y: mul(g, div(x, y)))
xlog1py = elementwise(
    "xlog1py",
    lambda x, y: jnp.where((x == 0) & ~jnp.isnan(y), 0, x * jnp.log1p(y)).astype(x.dtype),
    "x y",
    real_only=True,
)
_xlog1py_x = elementwise(
    "xlog1py_x_gradient",
    lambda g, x, y: g * _unless((x == 0) & (y <= -1), jnp.log1p, y),
    "g x y",
    linear=("g",),
)
_xlog1py_y = elementwise(
    "xlog1py_y_gradient", lambda g, x, y: g * x / (y + 1), "g x y", linear=("g", "x")
)
xlog1py.gradient(x=lambda g, x, y: _xlog1py_x(g, x, y), y=lambda g, x, y: _xlog1py_y(g, x, y))
entr = unary("entr", jsp.entr, lambda x: -jnp.log(x) - 1)


def _i1_slope(x):
    return jnp.where(x == 0, 0.5, jsp.i0(x) - jsp.i1(x) / jnp.where(x == 0, 1, x))


def _i2_over_x(x):
    """The modified Bessel function of order 2 over `x`, by its power series up to 1."""
    small = jnp.abs(x) < 1
    square, series = jnp.where(small, x * x / 4, 0), jnp.zeros_like(x)
    for k in range(9, -1, -1):
        series = series * square + 1 / (math.factorial(k) * math.factorial(k + 2))
    large = jnp.where(small, 1, x)
    return jnp.where(small, x / 4 * series, (jsp.i0(large) - 2 * jsp.i1(large) / large) / large)


_i2_by_x = elementwise("i2_over_x", _i2_over_x)
i0 = elementwise("i0", jsp.i0)
i0.gradient(x=lambda g, x: mul(g, i1(x)))
i0e = elementwise("i0e", jsp.i0e)
i1 = unary("i1", jsp.i1, _i1_slope, curvature=lambda x: sub(i1(x), _i2_by_x(x)))


def _scaled_i1_slope(x):
    """The derivative of `i1`, times ``exp(-abs(x))``."""
    return jsp.i0e(x) - jnp.where(x == 0, 0.5, jsp.i1e(x) / jnp.where(x == 0, 1, x))


def _i1e_slope(x):
    """The derivative of ``exp(-abs(x)) * i1(x)``; at 0 it is the derivative of `i1`."""
    return _scaled_i1_slope(x) - jnp.sign(x) * jsp.i1e(x)


def _i1e_curvature(x):
    """The second derivative, which jumps at 0."""
    small = jnp.abs(x) < 1
    large = jnp.where(small, 1, x)
    i2e_by_x = jnp.where(
        small,
        jnp.exp(-jnp.abs(x)) * _i2_over_x(jnp.where(small, x, 0)),
        (jsp.i0e(large) - 2 * jsp.i1e(large) / large) / large,
    )
    return 2 * (jsp.i1e(x) - jnp.sign(x) * _scaled_i1_slope(x)) - i2e_by_x


_i1e_second = elementwise("i1e_curvature", _i1e_curvature)
i1e = unary("i1e", jsp.i1e, _i1e_slope, curvature=lambda x: _i1e_second(x))
ndtr = elementwise("ndtr", jsp.ndtr)
ndtri = unary(
    "ndtri",
    loops.ndtri,
    lambda out: math.sqrt(2 * math.pi) * jnp.exp(out * out / 2),
    of_out=True,
    writable="out",
)


def _log_ndtr(x):
    """From the tail that is small, so that it does not cancel."""
    scaled = x * math.sqrt(0.5)
    below = x < -1
    left = jnp.log(bessel.scaled_erfc(jnp.where(below, -scaled, 1)) / 2) - x * x / 2
    return jnp.where(below, left, jnp.log1p(-lax.erfc(jnp.where(below, 0, scaled)) / 2))


def _log_ndtr_slope(x):
    negative = jnp.where(x < 0, x, 0) * -math.sqrt(0.5)
    positive = jnp.where(x < 0, 0, x)
    density = jnp.exp(-positive * positive / 2) / math.sqrt(2 * math.pi)
    right = density / (1 - lax.erfc(positive * math.sqrt(0.5)) / 2)
    return jnp.where(x < 0, math.sqrt(2 / math.pi) / bessel.scaled_erfc(negative), right)


log_ndtr = unary(
    "log_ndtr",
    bessel.in_double(_log_ndtr),
    bessel.in_double(_log_ndtr_slope),
    real_only=True,
)


def _zeta(x, y):
    """The sum of ``(y + k) ** -x``: of terms below 0, if `x` is whole, and of the others."""
    below = y < 0
    is_integer = y == jnp.floor(y)
    share = jnp.where(below & ~is_integer, -y - jnp.floor(-y), 0.5)
    sign = jnp.where(x % 2 == 0, 1, -1).astype(x.dtype)
    sum_below = sign * (jsp.zeta(x, share) - jsp.zeta(x, jnp.where(below, 1 - y, 1)))
    value = jnp.where(
        below,
        jnp.where(x == jnp.floor(x), sum_below + jsp.zeta(x, 1 - share), jnp.nan),
        jsp.zeta(x, jnp.where(below, 1, y)),
    )
    infinite = (x == 1) | ((y <= 0) & is_integer)
    return jnp.where(x < 1, jnp.nan, jnp.where(infinite, jnp.inf, value))


zeta = elementwise("zeta", _zeta, "x y")
zeta.gradient(
    x=undefined_gradient("zeta"), y=lambda g, x, y: mul(g, mul(neg(x), zeta(add(x, 1.0), y)))
)
gammainc = elementwise("gammainc", incomplete_gamma.lower, "x y", real_only=True)
gammaincc = elementwise("gammaincc", incomplete_gamma.upper, "x y", real_only=True)
_gammainc_x = elementwise(
    "gammainc_x_gradient",
    lambda cotangent, x, y: cotangent * lax.igamma_grad_a(*jnp.broadcast_arrays(x, y)),
    "cotangent x y",
    linear=("cotangent",),
)
_gammainc_y = elementwise(
    "gammainc_y_gradient",
    lambda cotangent, x, y: cotangent * incomplete_gamma.density(x, y),
    "cotangent x y",
    linear=("cotangent",),
)


def _raise_second_derivative(g):
    raise NotImplementedError(
        "`special.gammainc` and `special.gammaincc` have no second derivative in their first "
        "argument; detach it, or take its first derivative without `create_graph`"
    )


def _mixed_gradient(g, cotangent, x, y):
    """The gradient of `_gammainc_x` in `y`, which is the gradient of `_gammainc_y` in `x`."""
    return mul(_gammainc_y(mul(g, cotangent), x, y), sub(log(y), digamma(x)))


def _density_gradient(g, cotangent, x, y):
    return mul(_gammainc_y(mul(g, cotangent), x, y), sub(div(sub(x, 1.0), y), 1.0))


_gammainc_x.gradient(
    cotangent=lambda g, x, y: _gammainc_x(g, x, y), x=_raise_second_derivative, y=_mixed_gradient
)
_gammainc_y.gradient(
    cotangent=lambda g, x, y: _gammainc_y(g, x, y), x=_mixed_gradient, y=_density_gradient
)
gammainc.gradient(x=lambda g, x, y: _gammainc_x(g, x, y), y=lambda g, x, y: _gammainc_y(g, x, y))
gammaincc.gradient(
    x=lambda g, x, y: neg(_gammainc_x(g, x, y)), y=lambda g, x, y: neg(_gammainc_y(g, x, y))
)

# --- rounding and signs

frac = elementwise("frac", lambda x: x - jnp.trunc(x))
frac.gradient(x=lambda g: g)
# To multiples of 1 / scale, and to multiples of scale.
round_decimals = piecewise_constant(
    "round_decimals", lambda x, scale: quotient(jnp.round(x * scale), scale), "x scale"
)
round_to_multiple = piecewise_constant(
    "round_to_multiple", lambda x, scale: jnp.round(quotient(x, scale)) * scale, "x scale"
)


def _nan_to_num(x, nan, high, low):
    return jnp.where(
        jnp.isnan(x), nan, jnp.where(x == jnp.inf, high, jnp.where(x == -jnp.inf, low, x))
    )


nan_to_num = exact("nan_to_num", _nan_to_num, "x nan high low")
_where_finite = gradient_where("where_finite", jnp.isfinite, "x")
nan_to_num.gradient(x=lambda g, x: _where_finite(g, x))

copysign = exact("copysign", jnp.copysign, "x y")
_copysign_gradient = elementwise(
    "copysign_gradient",
    lambda g, x, y: jnp.where(x == 0, 0, g * jnp.sign(x) * jnp.copysign(jnp.ones_like(x), y)),
    "g x y",
    linear=("g",),
)
copysign.gradient(
    x=lambda g, x, y: _copysign_gradient(g, x, y), y=lambda g: zeros_like(g), writable="x y"
)
nextafter = exact("nextafter", jnp.nextafter, "x y")
# Next to `x` it moves with `x`.
nextafter.gradient(x=lambda g, x, y: keep_if(g, ne(x, y)), y=lambda g: zeros_like(g))
heaviside = exact(
    "heaviside",
    lambda x, y: jnp.where(x == 0, y, (x > 0).astype(x.dtype)),
    "x y",
    real_only=True,
)
heaviside.gradient(undefined_gradient("heaviside"))
# Mantissa in [0.5, 1) and exponent.
frexp = primitive("frexp", lambda x: jnp.frexp(x), elementwise=True)
_scale_down = elementwise(
    "scale_down", lambda x, exponent: jnp.ldexp(x, -exponent), "x exponent", linear=("x",)
)
_scale_down.gradient(x=lambda g, exponent: _scale_down(g, exponent), exponent=None, writable="x")
frexp.gradient(x=lambda g, out: _scale_down(g[0], out[1]), writable="out")
