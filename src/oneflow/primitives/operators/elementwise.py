"""Elementwise primitives: arithmetic, comparison, logic, and the common functions of one number.

Operands broadcast as in NumPy and must have one dtype (promotion happens above). Rules give the
gradient of the broadcast operand; whoever calls them sums it to the operand's shape.

A backward pass costs time for each instruction that it records, so most gradients here are one
instruction: a primitive of their own, whose gradient in turn is derived from its implementation.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from oneflow.base.device import DEVICE_TYPES
from oneflow.base.dtype import HALF_DTYPES, DType, float32
from oneflow.primitives.operators import complex_special_values as special_values, exponential
from oneflow.primitives.operators.complex_special_values import ComplexParts, Function, completed
from oneflow.primitives.operators.lax_functions import is_true
from oneflow.primitives.operators.rounding import quotient, round_once, truncated
from oneflow.primitives.registry import COMPUTED, Primitive, primitive
from oneflow.primitives.sharding.linearity import converted
from oneflow.primitives.traits import Precision, ViewRule


def elementwise(name: str, impl: Callable, operands: str = "x", **options: Any) -> Primitive:
    """Define an elementwise primitive; an ordinary one is this line and its gradient."""
    options.setdefault("scalar", COMPUTED)
    return exact(name, round_once(impl), operands, **options)


def exact(name: str, impl: Callable, operands: str = "x", **options: Any) -> Primitive:
    """Define an elementwise primitive that rounds nothing: it chooses, compares or changes bits."""
    return primitive(name, impl, operands=operands, elementwise=True, **options)


def without_gradient(name: str, impl: Callable, operands: str = "x", **options: Any) -> Primitive:
    """Define one that rounds nothing and whose results never require grad."""
    return exact(name, impl, operands, differentiable=False, **options)


def unary(
    name: str,
    impl: Callable,
    slope: Callable | None = None,
    *,
    of_out: bool = False,
    is_inverse: bool = False,
    curvature: Callable | None = None,
    writable: str = "",
    special_values: Function | None = None,
    cpu: Callable | None = None,
    **options: Any,
) -> Primitive:
    """Define a function of one number by its derivative.

    Args:
        name: the primitive's name.
        impl: the function.
        slope: its derivative; None derives it from the function.
        of_out: the derivative is a function of the result, not of the operand, and that is what the
            backward pass keeps.
        is_inverse: `slope` is 1 over the derivative, which is infinite where it is 0.
        curvature: the second derivative of the operand, written with primitives, where deriving it
            from `slope` gives a wrong or inexact one.
        writable: the same as for a gradient rule.
        special_values: the function's values at complex infinities and NaNs, one of
            `complex_special_values`; None if XLA's are right.
        cpu: the function on the CPU, where XLA's is slow.
        options: what else the primitive declares.
    """
    op = elementwise(name, impl, **options)
    for platform in DEVICE_TYPES:
        form = round_once(cpu) if cpu is not None and platform == "cpu" else op.impl
        if special_values is not None:
            form = completed(form, special_values)
        if form is not op.impl:
            op.lowering(platform)(form)
    if slope is None:
        return op
    combine = quotient if is_inverse else operator.mul
    backward = elementwise(
        f"{name}_gradient",
        lambda cotangent, a: combine(cotangent, jnp.conj(slope(a))),
        "cotangent out" if of_out else "cotangent x",
        linear=("cotangent",),
    )
    if curvature is not None:
        backward.gradient(
            cotangent=lambda g, x: conjugate(backward(conjugate(g), x)),
            x=lambda g, cotangent, x: mul(mul(conjugate(g), cotangent), conjugate(curvature(x))),
        )
    if of_out:
        return op.gradient(x=lambda g, out: backward(g, out), writable=writable)
    return op.gradient(x=lambda g, x: backward(g, x), writable=writable)


def piecewise_constant(name: str, impl: Callable, operands: str = "x") -> Primitive:
    """Define a piecewise constant function: it requires grad, and the gradient is zero."""
    op = elementwise(name, impl, operands)
    rules: dict[str, Any] = {operand: lambda g: zeros_like(g) for operand in operands.split()}
    return op.gradient(**rules)


def _cast(x, *, dtype: DType):
    if jnp.issubdtype(x.dtype, jnp.complexfloating) and not dtype.is_complex:
        x = x != 0 if dtype.numpy.kind == "b" else x.real
    if jnp.issubdtype(x.dtype, jnp.floating) and dtype.numpy.kind in "iu":
        if dtype.itemsize < 4:
            x = truncated(x, jnp.int32)  # Larger numbers wrap around, as in PyTorch.
        elif dtype.numpy.kind == "i":
            return truncated(x, dtype.numpy)
    return x.astype(dtype.numpy)


cast = primitive("cast", _cast, elementwise=True, linear=converted)
cast.gradient(x=lambda g, x_spec: cast(g, dtype=x_spec.dtype))


def wide_value(x):
    """The same as `lax_functions.wide`, for a value."""
    return cast(x, dtype=float32) if x.spec.dtype in HALF_DTYPES else x


conj = exact(
    "conj",
    jnp.conj,
    linear=("x",),
    view=ViewRule(lambda base, new: conj(new), lambda layout: layout),
)
conj.gradient(x=lambda g: conj(g))


def conjugate(x):
    """The conjugate of a complex value; a real value or number itself, without an instruction."""
    spec = getattr(x, "spec", None)
    return conj(x) if spec is not None and spec.dtype.is_complex else x


zeros_like = without_gradient("zeros_like", jnp.zeros_like, linear=("x",))
ones_like = without_gradient("ones_like", jnp.ones_like)

# --- arithmetic

# Numbers in sums, powers and remainders take the type of the tensor, as in PyTorch; all others are
# rounded once, with the result.
add = elementwise("add", jnp.add, "x y", linear=("x y",), scalar=None)
add.gradient(x=lambda g: g, y=lambda g: g)

sub = elementwise("sub", jnp.subtract, "x y", linear=("x y",), scalar=None)
sub.gradient(x=lambda g: g, y=lambda g: neg(g))

mul = elementwise("mul", jnp.multiply, "x y", linear=("x", "y"))
mul.gradient(x=lambda g, y: mul(g, conjugate(y)), y=lambda g, x: mul(g, conjugate(x)))

div = elementwise("div", quotient, "x y", linear=("x",))
_div_y_gradient = elementwise(
    "div_y_gradient",
    lambda g, x, y: -g * jnp.conj(quotient(quotient(x, y), y)),
    "g x y",
    linear=("g", "x"),
)
div.gradient(
    x=lambda g, y: div(g, conjugate(y)),
    y=lambda g, x, y: _div_y_gradient(g, x, y),
    writable=lambda operation: "y" if operation.is_scalar[0] else "",
)

neg = exact("neg", jnp.negative, linear=("x",))
neg.gradient(x=lambda g: neg(g))

# x + a * y in one instruction: `add(..., alpha=)` and every optimizer's inner loop.
add_scaled = elementwise(
    "add_scaled", lambda x, y, a: x + a * y, "x y a", linear=("x y", "x a"), scalar=None
)
add_scaled.gradient(
    x=lambda g: g, y=lambda g, a: mul(g, conjugate(a)), a=lambda g, y: mul(g, conjugate(y))
)

# x + a * y * z and x + a * y / z
add_product = elementwise(
    "add_product", lambda x, y, z, a: x + a * y * z, "x y z a", linear=("x y", "x z", "x a")
)
add_quotient = elementwise(
    "add_quotient", lambda x, y, z, a: x + quotient(a * y, z), "x y z a", linear=("x y", "x a")
)
add_product.gradient(
    x=lambda g: g,
    y=lambda g, z, a: mul(mul(g, conjugate(a)), conjugate(z)),
    z=lambda g, y, a: mul(mul(g, conjugate(a)), conjugate(y)),
    a=lambda g, y, z: mul(mul(g, conjugate(y)), conjugate(z)),
)
add_quotient.gradient(
    x=lambda g: g,
    y=lambda g, z, a: div(mul(g, conjugate(a)), conjugate(z)),
    z=lambda g, y, z, a: _div_y_gradient(mul(g, conjugate(a)), y, z),
    a=lambda g, y, z: mul(g, conjugate(div(y, z))),
)


def interpolate(x, y, weight):
    """``x + weight * (y - x)``, from the nearer end, so that weight 1 gives exactly `y`."""
    near = jnp.abs(weight) < 0.5
    return jnp.where(near, x + weight * (y - x), y - (y - x) * (1 - weight))


lerp = elementwise("lerp", interpolate, "x y weight", linear=("x y",))
lerp.gradient(
    x=lambda g, weight: sub(g, mul(g, conjugate(weight))),
    y=lambda g, weight: mul(g, conjugate(weight)),
    weight=lambda g, x, y: mul(g, conjugate(sub(y, x))),
)


# --- larger and smaller: NaN wins; where both are equal the gradient is shared


def _larger_gradient(g, x, y):
    return jnp.where(x < y, 0, jnp.where(x == y, g / 2, g)).astype(g.dtype)


def _smaller_gradient(g, x, y):
    return jnp.where(x > y, 0, jnp.where(x == y, g / 2, g)).astype(g.dtype)


_larger = elementwise("maximum_gradient", _larger_gradient, "g x y", linear=("g",))
_smaller = elementwise("minimum_gradient", _smaller_gradient, "g x y", linear=("g",))
maximum = exact("maximum", jnp.maximum, "x y")
maximum.gradient(x=lambda g, x, y: _larger(g, x, y), y=lambda g, x, y: _larger(g, y, x))
minimum = exact("minimum", jnp.minimum, "x y")
minimum.gradient(x=lambda g, x, y: _smaller(g, x, y), y=lambda g, x, y: _smaller(g, y, x))

# `fmax` and `fmin` prefer a number to NaN; a tie is x's.
fmax = exact("fmax", jnp.fmax, "x y")
fmax.gradient(
    x=lambda g, x, y: keep_if(g, logical_or(ge(x, y), isnan(y))),
    y=lambda g, x, y: drop_if(g, logical_or(ge(x, y), isnan(y))),
)
fmin = exact("fmin", jnp.fmin, "x y")
fmin.gradient(
    x=lambda g, x, y: keep_if(g, logical_or(le(x, y), isnan(y))),
    y=lambda g, x, y: drop_if(g, logical_or(le(x, y), isnan(y))),
)

# --- comparison and logic

eq = without_gradient("eq", jnp.equal, "x y")
ne = without_gradient("ne", jnp.not_equal, "x y")
lt = without_gradient("lt", jnp.less, "x y", real_only=True)
le = without_gradient("le", jnp.less_equal, "x y", real_only=True)
gt = without_gradient("gt", jnp.greater, "x y", real_only=True)
ge = without_gradient("ge", jnp.greater_equal, "x y", real_only=True)


def _isclose(x, y, absolute, relative, *, equal_nan: bool):
    """In the operands' dtype; integers compare in float64."""
    if not jnp.issubdtype(x.dtype, jnp.inexact):
        x, y = x.astype(jnp.float64), y.astype(jnp.float64)
    close = jnp.abs(x - y) <= absolute + jnp.abs(relative * y)
    close = (x == y) | (close & jnp.isfinite(y) & jnp.isfinite(x))
    return close | (jnp.isnan(x) & jnp.isnan(y)) if equal_nan else close


isclose = primitive(
    "isclose",
    _isclose,
    elementwise=True,
    differentiable=False,
    scalar={"absolute": "float64", "relative": "float64"},
)
logical_and = without_gradient("logical_and", lambda x, y: is_true(x) & is_true(y), "x y")
logical_or = without_gradient("logical_or", lambda x, y: is_true(x) | is_true(y), "x y")
logical_xor = without_gradient("logical_xor", lambda x, y: is_true(x) ^ is_true(y), "x y")
logical_not = without_gradient("logical_not", lambda x: ~is_true(x))
isnan = without_gradient("isnan", jnp.isnan)
isinf = without_gradient("isinf", jnp.isinf)
isfinite = without_gradient("isfinite", jnp.isfinite)
isposinf = without_gradient("isposinf", lambda x: x == jnp.inf, real_only=True)
isneginf = without_gradient("isneginf", lambda x: x == -jnp.inf, real_only=True)
signbit = without_gradient("signbit", jnp.signbit)

# --- choosing

where = exact("where", jnp.where, "condition x y", linear=("x y",))
keep_if = exact(
    "keep_if",
    lambda x, condition: jnp.where(condition, x, jnp.zeros((), x.dtype)),
    "x condition",
    linear=("x",),
)
drop_if = exact(
    "drop_if",
    lambda x, condition: jnp.where(condition, jnp.zeros((), x.dtype), x),
    "x condition",
    linear=("x",),
)
keep_if.gradient(x=lambda g, condition: keep_if(g, condition), condition=None)
drop_if.gradient(x=lambda g, condition: drop_if(g, condition), condition=None)
where.gradient(
    condition=None,
    x=lambda g, condition: keep_if(g, condition),
    y=lambda g, condition: drop_if(g, condition),
)


def gradient_where(name: str, inside: Callable, operands: str) -> Primitive:
    """`g` where a condition on the other operands holds, else 0."""
    return exact(
        name,
        lambda g, *others: jnp.where(inside(*others), g, jnp.zeros((), g.dtype)),
        f"g {operands}",
        linear=("g",),
    )


_clamp_x = gradient_where("clamp_x", lambda x, a, b: (x >= a) & (x <= b), "x low high")
_clamp_low = gradient_where("clamp_low", lambda x, a, b: (x < a) & (a < b), "x low high")
_clamp_high = gradient_where("clamp_high", lambda x, a, b: (x > b) | (a > b), "x low high")
_at_least = gradient_where("at_least", lambda x, low: x >= low, "x low")
_below = gradient_where("below", lambda x, low: x < low, "x low")
_at_most = gradient_where("at_most", lambda x, high: x <= high, "x high")
_above = gradient_where("above", lambda x, high: x > high, "x high")

clamp = exact("clamp", lambda x, low, high: jnp.minimum(jnp.maximum(x, low), high), "x low high")
clamp.gradient(
    x=lambda g, x, low, high: _clamp_x(g, x, low, high),
    low=lambda g, x, low, high: _clamp_low(g, x, low, high),
    high=lambda g, x, low, high: _clamp_high(g, x, low, high),
)
clamp_min = exact("clamp_min", jnp.maximum, "x low")
clamp_min.gradient(
    x=lambda g, x, low: _at_least(g, x, low), low=lambda g, x, low: _below(g, x, low)
)
clamp_max = exact("clamp_max", jnp.minimum, "x high")
clamp_max.gradient(
    x=lambda g, x, high: _at_most(g, x, high), high=lambda g, x, high: _above(g, x, high)
)

# --- functions of one number


def direction_of(x):
    """``x / |x|``, and 0 for 0 and NaN, as in PyTorch."""
    if jnp.iscomplexobj(x):
        zero = x == 0
        safe = jnp.where(zero, 1, x)
        return jnp.where(zero, 0, safe / jnp.abs(safe)).astype(x.dtype)
    if jnp.issubdtype(x.dtype, jnp.floating):
        return (x > 0).astype(x.dtype) - (x < 0).astype(x.dtype)
    return jnp.sign(x) if x.dtype != bool else x


abs_ = elementwise("abs", jnp.abs)
_abs_gradient = elementwise("abs_gradient", lambda g, x: g * direction_of(x), "g x", linear=("g",))
abs_.gradient(x=lambda g, x: _abs_gradient(g, x))


@abs_.lowering(*DEVICE_TYPES)
def _abs_with_inf(x):
    """Infinite where a part is, even if the other is NaN."""
    value = abs_.impl(x)
    return (
        jnp.where(ComplexParts(x.real, x.imag).has_inf(), np.inf, value)
        if jnp.iscomplexobj(x)
        else value
    )


sign = piecewise_constant("sign", direction_of)
floor = piecewise_constant("floor", jnp.floor)
ceil = piecewise_constant("ceil", jnp.ceil)
trunc = piecewise_constant("trunc", jnp.trunc)
round_ = piecewise_constant("round", jnp.round)

square = unary("square", lambda x: x * x, lambda x: 2 * x)
cube = unary("cube", lambda x: x * x * x, lambda x: 3 * (x * x))
# PyTorch's powers of 0.5, -0.5 and -1, which these are too, keep the operand.
sqrt = unary(
    "sqrt",
    jnp.sqrt,
    lambda out: 2 * out,
    of_out=True,
    is_inverse=True,
    writable="out",
    special_values=special_values.sqrt,
)
rsqrt = unary(
    "rsqrt",
    lax.rsqrt,
    lambda out: -0.5 * (out * out * out),
    of_out=True,
    writable="out",
    precision=Precision.FULL_OFF_CPU,
)
reciprocal = unary(
    "reciprocal",
    lambda x: quotient(1, x),
    lambda out: -(out * out),
    of_out=True,
    writable="out",
    special_values=special_values.reciprocal,
    precision=Precision.FULL_OFF_CPU,
)


def _lower_rsqrt(platform: str) -> None:
    """Complex numbers take the reciprocal of the root, both right at special values."""
    root, inverse = sqrt.implementation(platform), reciprocal.implementation(platform)

    @rsqrt.lowering(platform)
    def impl(x):
        return inverse(root(x)) if jnp.iscomplexobj(x) else rsqrt.impl(x)


for _platform in DEVICE_TYPES:
    _lower_rsqrt(_platform)

exp = unary(
    "exp",
    jnp.exp,
    lambda out: out,
    of_out=True,
    special_values=special_values.exp,
    precision=Precision.FULL_OFF_CPU,
)
exp2 = unary(
    "exp2",
    exponential.exp2,
    lambda out: out * math.log(2),
    of_out=True,
    special_values=special_values.exp2,
    precision=Precision.FULL_OFF_CPU,
)
expm1 = unary(
    "expm1",
    jnp.expm1,
    lambda out: out + 1,
    of_out=True,
    special_values=special_values.expm1,
    precision=Precision.FULL_OFF_CPU,
)
log = unary(
    "log",
    jnp.log,
    lambda x: x,
    is_inverse=True,
    special_values=special_values.log,
    precision=Precision.FULL_OFF_CPU,
)
log2 = unary(
    "log2",
    exponential.log2,
    lambda x: x * math.log(2),
    is_inverse=True,
    special_values=special_values.log2,
    precision=Precision.FULL_OFF_CPU,
)
log10 = unary(
    "log10",
    exponential.log10,
    lambda x: x * math.log(10),
    is_inverse=True,
    special_values=special_values.log10,
    precision=Precision.FULL_OFF_CPU,
)
log1p = unary(
    "log1p",
    exponential.log1p,
    lambda x: x + 1,
    is_inverse=True,
    special_values=special_values.log1p,
    precision=Precision.FULL_OFF_CPU,
)
tanh = unary(
    "tanh", jnp.tanh, lambda out: 1 - out * out, of_out=True, special_values=special_values.tanh
)
sigmoid = unary(
    "sigmoid",
    jax.nn.sigmoid,
    lambda out: out * (1 - out),
    of_out=True,
    special_values=special_values.sigmoid,
)
relu = exact("relu", lambda x: lax.max(x, x.dtype.type(0)), real_only=True)
# A gradient passes where a result is NaN.
_relu_gradient = exact(
    "relu_gradient",
    lambda g, out: jnp.where(out <= 0, jnp.zeros((), g.dtype), g),
    "g out",
    linear=("g",),
)
relu.gradient(x=lambda g, out: _relu_gradient(g, out))
erf = unary("erf", lax.erf, lambda x: 2 / math.sqrt(math.pi) * jnp.exp(-x * x), real_only=True)
