"""Elementwise primitives: arithmetic, comparison, logic, and the functions of one number.

Operands broadcast as in NumPy and must have one dtype (promotion happens above). Rules give the gradient of the
broadcast operand; whoever calls them sums it to the operand's shape.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from oneflow.base.dtype import DType
from oneflow.primitives.registry import Primitive, primitive


def elementwise(name: str, impl: Callable, operands: str = "x", **facts: Any) -> Primitive:
    """Define an elementwise primitive; an ordinary one is this line and its gradient."""
    return primitive(name, impl, operands=operands, elementwise=True, **facts)


def _without_gradient(name: str, impl: Callable, operands: str = "x", **facts: Any) -> Primitive:
    return elementwise(name, impl, operands, differentiable=False, **facts)


def _cast(x, *, dtype: DType):
    if jnp.issubdtype(x.dtype, jnp.complexfloating) and not dtype.is_complex:
        x = x.real if dtype.numpy != bool else x != 0
    return x.astype(dtype.numpy)


cast = primitive("cast", _cast, elementwise=True)
cast.gradient(x=lambda g, x_spec: cast(g, dtype=x_spec.dtype))

conj = elementwise("conj", jnp.conj)
conj.gradient(x=lambda g: conj(g))


def _conjugate(x):
    """The conjugate of a complex value; a real value or number itself, without an instruction."""
    return (
        conj(x)
        if getattr(getattr(x, "spec", None), "dtype", None) and x.spec.dtype.is_complex
        else x
    )


add = elementwise("add", jnp.add, "x y")
add.gradient(x=lambda g: g, y=lambda g: g)

sub = elementwise("sub", jnp.subtract, "x y")
sub.gradient(x=lambda g: g, y=lambda g: neg(g))

mul = elementwise("mul", jnp.multiply, "x y")
mul.gradient(x=lambda g, y: mul(g, _conjugate(y)), y=lambda g, x: mul(g, _conjugate(x)))

div = elementwise("div", jnp.true_divide, "x y")
div.gradient(
    x=lambda g, y: div(g, _conjugate(y)),
    y=lambda g, x, y: neg(mul(g, _conjugate(div(div(x, y), y)))),
)

neg = elementwise("neg", jnp.negative)
neg.gradient(x=lambda g: neg(g))

# x + a * y in one instruction: `add(..., alpha=)` and every optimizer's inner loop.
add_scaled = elementwise("add_scaled", lambda x, y, a: x + a * y, "x y a")
add_scaled.gradient(
    x=lambda g: g, y=lambda g, a: mul(g, _conjugate(a)), a=lambda g, y: mul(g, _conjugate(y))
)


def _pow_base_gradient(g, x, y):
    # y * x^(y-1), and 0 where y is 0 whatever x is.
    if not hasattr(y, "spec"):
        return mul(g, _conjugate(mul(pow_(x, y - 1), y))) if y else zeros_like(g)
    slope = _conjugate(mul(y, pow_(x, sub(y, 1))))
    return mul(g, where(eq(y, 0), zeros_like(slope), slope))


def _pow_exponent_gradient(g, x, y, out):
    # x^y * log(x), and 0 where x = 0 and y >= 0.
    slope = mul(out, log(x))
    if not x.spec.dtype.is_complex:
        slope = where(logical_and(eq(x, 0), ge(y, 0)), zeros_like(slope), slope)
    return mul(g, _conjugate(slope))


def _pow(x, y):
    # Whole numbers: negative exponents give 0, except of 1 and -1, as in PyTorch.
    if not jnp.issubdtype(x.dtype, jnp.integer) or not jnp.issubdtype(y.dtype, jnp.signedinteger):
        return jnp.power(x, y)
    positive = jnp.power(x, jnp.maximum(y, 0))
    inverse = jnp.where(x == 1, 1, jnp.where(x == -1, jnp.where(y % 2 == 0, 1, -1), 0)).astype(
        x.dtype
    )
    return jnp.where(y < 0, inverse, positive)


pow_ = elementwise("pow", _pow, "x y")
pow_.gradient(x=_pow_base_gradient, y=_pow_exponent_gradient)

# --- division with rounding: the sign rules of Python (floor) and of C (trunc)


def _remainder(x, y):
    if not jnp.issubdtype(x.dtype, jnp.integer):
        result = lax.rem(*jnp.broadcast_arrays(x, y))
        return jnp.where((result != 0) & ((result < 0) != (y < 0)), result + y, result)
    return jnp.remainder(x, y)


def _floor_divide(x, y):
    if jnp.issubdtype(x.dtype, jnp.integer):
        return jnp.floor_divide(x, y)
    # As Python and PyTorch do: divide what is left after the remainder, so that 1 // 0.1 is 9.
    remainder = lax.rem(*jnp.broadcast_arrays(x, y))
    quotient = (x - remainder) / y
    quotient = jnp.where((remainder != 0) & ((remainder < 0) != (y < 0)), quotient - 1, quotient)
    rounded = jnp.floor(quotient)
    rounded = jnp.where(quotient - rounded > 0.5, rounded + 1, rounded)
    rounded = jnp.where(quotient == 0, jnp.copysign(jnp.zeros_like(quotient), x / y), rounded)
    return jnp.where(y == 0, x / y, rounded)


remainder = elementwise("remainder", _remainder, "x y")
remainder.gradient(x=lambda g: g, y=lambda g, x, y: neg(mul(g, floor_divide(x, y))))

fmod = elementwise("fmod", lambda x, y: lax.rem(*jnp.broadcast_arrays(x, y)), "x y")
fmod.gradient(x=lambda g: g, y=lambda g, x, y: neg(mul(g, trunc(div(x, y)))))

floor_divide = _without_gradient("floor_divide", _floor_divide, "x y")
trunc_divide = _without_gradient(
    "trunc_divide",
    lambda x, y: (
        lax.div(*jnp.broadcast_arrays(x, y))
        if jnp.issubdtype(x.dtype, jnp.integer)
        else jnp.trunc(x / y)
    ),
    "x y",
)

# --- larger and smaller: NaN wins; where both are equal the gradient is shared


def _share(g, chosen, tied):
    half = mul(g, 0.5)
    nothing = zeros_like(g)
    return where(chosen, g, where(tied, half, nothing))


maximum = elementwise("maximum", jnp.maximum, "x y")
maximum.gradient(
    x=lambda g, x, y: _share(g, gt(x, y), eq(x, y)), y=lambda g, x, y: _share(g, gt(y, x), eq(x, y))
)
minimum = elementwise("minimum", jnp.minimum, "x y")
minimum.gradient(
    x=lambda g, x, y: _share(g, lt(x, y), eq(x, y)), y=lambda g, x, y: _share(g, lt(y, x), eq(x, y))
)

# --- comparison and logic

eq = _without_gradient("eq", jnp.equal, "x y")
ne = _without_gradient("ne", jnp.not_equal, "x y")
lt = _without_gradient("lt", jnp.less, "x y")
le = _without_gradient("le", jnp.less_equal, "x y")
gt = _without_gradient("gt", jnp.greater, "x y")
ge = _without_gradient("ge", jnp.greater_equal, "x y")
logical_and = _without_gradient("logical_and", lambda x, y: (x != 0) & (y != 0), "x y")
logical_or = _without_gradient("logical_or", lambda x, y: (x != 0) | (y != 0), "x y")
logical_xor = _without_gradient("logical_xor", lambda x, y: (x != 0) ^ (y != 0), "x y")
logical_not = _without_gradient("logical_not", lambda x: x == 0)
bitwise_and = _without_gradient("bitwise_and", jnp.bitwise_and, "x y")
bitwise_or = _without_gradient("bitwise_or", jnp.bitwise_or, "x y")
bitwise_xor = _without_gradient("bitwise_xor", jnp.bitwise_xor, "x y")
bitwise_not = _without_gradient("bitwise_not", jnp.bitwise_not)
shift_left = _without_gradient("shift_left", jnp.left_shift, "x y")
shift_right = _without_gradient("shift_right", jnp.right_shift, "x y")
isnan = _without_gradient("isnan", jnp.isnan)
isinf = _without_gradient("isinf", jnp.isinf)
isfinite = _without_gradient("isfinite", jnp.isfinite)

where = elementwise("where", jnp.where, "condition x y")
where.gradient(
    x=lambda g, condition: where(condition, g, zeros_like(g)),
    y=lambda g, condition: where(condition, zeros_like(g), g),
)


def _clamp_gradient(g, x, low, high):
    inside = logical_and(ge(x, low), le(x, high))
    return where(inside, g, zeros_like(g))


clamp = elementwise(
    "clamp", lambda x, low, high: jnp.minimum(jnp.maximum(x, low), high), "x low high"
)
clamp.gradient(
    x=_clamp_gradient,
    low=lambda g, x, low, high: where(logical_and(lt(x, low), lt(low, high)), g, zeros_like(g)),
    high=lambda g, x, low, high: where(logical_or(gt(x, high), gt(low, high)), g, zeros_like(g)),
)

clamp_min = elementwise("clamp_min", jnp.maximum, "x low")
clamp_min.gradient(
    x=lambda g, x, low: where(ge(x, low), g, zeros_like(g)),
    low=lambda g, x, low: where(lt(x, low), g, zeros_like(g)),
)
clamp_max = elementwise("clamp_max", jnp.minimum, "x high")
clamp_max.gradient(
    x=lambda g, x, high: where(le(x, high), g, zeros_like(g)),
    high=lambda g, x, high: where(gt(x, high), g, zeros_like(g)),
)

zeros_like = _without_gradient("zeros_like", jnp.zeros_like)
ones_like = _without_gradient("ones_like", jnp.ones_like)

# --- functions of one number

abs_ = elementwise("abs", jnp.abs)
abs_.gradient(x=lambda g, x: mul(g, sign(x)))
sign = elementwise("sign", jnp.sign)
sign.gradient(x=lambda g: zeros_like(g))
square = elementwise("square", lambda x: x * x)
square.gradient(x=lambda g, x: mul(g, mul(_conjugate(x), 2.0)))
sqrt = elementwise("sqrt", jnp.sqrt)
sqrt.gradient(x=lambda g, out: div(g, mul(_conjugate(out), 2.0)))
rsqrt = elementwise("rsqrt", lax.rsqrt)
rsqrt.gradient(x=lambda g, out: mul(g, mul(_conjugate(mul(mul(out, out), out)), -0.5)))
reciprocal = elementwise("reciprocal", lambda x: 1 / x)
reciprocal.gradient(x=lambda g, out: neg(mul(g, _conjugate(mul(out, out)))))
exp = elementwise("exp", jnp.exp)
exp.gradient(x=lambda g, out: mul(g, _conjugate(out)))
exp2 = elementwise("exp2", jnp.exp2)
exp2.gradient(x=lambda g, out: mul(mul(g, _conjugate(out)), math.log(2)))
expm1 = elementwise("expm1", jnp.expm1)
expm1.gradient(x=lambda g, out: mul(g, add(_conjugate(out), 1.0)))
log = elementwise("log", jnp.log)
log.gradient(x=lambda g, x: div(g, _conjugate(x)))
log2 = elementwise("log2", jnp.log2)
log2.gradient(x=lambda g, x: div(g, mul(_conjugate(x), math.log(2))))
log10 = elementwise("log10", jnp.log10)
log10.gradient(x=lambda g, x: div(g, mul(_conjugate(x), math.log(10))))
log1p = elementwise("log1p", jnp.log1p)
log1p.gradient(x=lambda g, x: div(g, add(_conjugate(x), 1.0)))
sin = elementwise("sin", jnp.sin)
sin.gradient(x=lambda g, x: mul(g, _conjugate(cos(x))))
cos = elementwise("cos", jnp.cos)
cos.gradient(x=lambda g, x: neg(mul(g, _conjugate(sin(x)))))
tanh = elementwise("tanh", jnp.tanh)
tanh.gradient(x=lambda g, out: mul(g, _conjugate(sub(1.0, mul(out, out)))))
sigmoid = elementwise("sigmoid", jax.nn.sigmoid)
sigmoid.gradient(x=lambda g, out: mul(g, _conjugate(mul(out, sub(1.0, out)))))
relu = elementwise("relu", lambda x: jnp.maximum(x, jnp.zeros((), x.dtype)))
relu.gradient(x=lambda g, out: where(gt(out, 0), g, zeros_like(g)))
erf = elementwise("erf", lax.erf)
erf.gradient(x=lambda g, x: mul(g, mul(exp(neg(mul(x, x))), 2 / math.sqrt(math.pi))))
erfinv = elementwise("erfinv", lax.erf_inv)
erfinv.gradient(x=lambda g, out: mul(g, mul(exp(mul(out, out)), math.sqrt(math.pi) / 2)))
floor = elementwise("floor", jnp.floor)
floor.gradient(x=lambda g: zeros_like(g))
ceil = elementwise("ceil", jnp.ceil)
ceil.gradient(x=lambda g: zeros_like(g))
trunc = elementwise("trunc", jnp.trunc)
trunc.gradient(x=lambda g: zeros_like(g))
round_ = elementwise("round", jnp.round)
round_.gradient(x=lambda g: zeros_like(g))
