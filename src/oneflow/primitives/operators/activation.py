"""Activation functions.

Their gradients keep the input and nothing else, unless a rule says otherwise.

The side of a kink on which a point lies decides its gradient; the comparisons below are PyTorch's.
"""

from __future__ import annotations

import math

import jax.numpy as jnp
from jax import lax

from oneflow.primitives.operators import kinks
from oneflow.primitives.operators.elementwise import (
    elementwise,
    exact,
    gradient_where,
    gt,
    mul,
    where,
    zeros_like,
)
from oneflow.primitives.operators.rounding import quotient
from oneflow.primitives.traits import Precision


def _gelu(x):
    return 0.5 * x * (1 + lax.erf(x * math.sqrt(0.5)))


def _gelu_tanh(x):
    return 0.5 * x * (1 + jnp.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x * x * x)))


def _gelu_gradient(g, x):
    # This is not erf(x), which the forward pass computes and XLA would keep all that time.
    below = 0.5 * (1 - lax.erf(x * -math.sqrt(0.5)))
    density = jnp.exp(-0.5 * x * x) * (1 / math.sqrt(2 * math.pi))
    return g * (below + x * density)


gelu = elementwise("gelu", _gelu)
gelu_gradient = elementwise("gelu_gradient", _gelu_gradient, "g x", linear=("g",))
gelu.gradient(x=lambda g, x: gelu_gradient(g, x))
gelu_tanh = elementwise("gelu_tanh", _gelu_tanh)
quick_gelu = elementwise("quick_gelu", lambda x: x * lax.logistic(1.702 * x))
silu = elementwise("silu", lambda x: x * lax.logistic(x))


def _softplus(x, beta, threshold):
    scaled = x * beta
    linear = scaled > threshold
    return jnp.where(linear, x, quotient(jnp.logaddexp(jnp.where(linear, 0, scaled), 0), beta))


def _softplus_gradient(g, x, beta, threshold):
    scaled = x * beta
    return jnp.where(scaled > threshold, g, g * lax.logistic(scaled))


softplus = elementwise("softplus", _softplus, "x beta threshold", precision=Precision.FULL_OFF_CPU)
# As a formula of its own it holds for a `beta` that is 0 or infinite, too.
_softplus_x = elementwise(
    "softplus_gradient",
    _softplus_gradient,
    "g x beta threshold",
    linear=("g",),
    precision=Precision.FULL_OFF_CPU,
)
softplus.gradient(
    x=lambda g, x, beta, threshold: _softplus_x(g, x, beta, threshold), beta=None, threshold=None
)
# Above 20 the logarithm no longer changes a number of single precision.
mish = elementwise("mish", lambda x: x * jnp.tanh(_softplus(x, 1.0, 20.0)))


def _log_sigmoid(x):
    return -jnp.logaddexp(-x, jnp.zeros((), x.dtype))


log_sigmoid = elementwise("log_sigmoid", _log_sigmoid, precision=Precision.FULL_OFF_CPU)


def _elu(x, alpha, scale, input_scale):
    positive = ~(x <= 0)
    negative = alpha * jnp.expm1(jnp.where(positive, 0, x) * input_scale)
    # At 0 the value is 0, whatever the numbers are.
    return scale * jnp.where(positive | (x == 0), x, negative)


def _elu_gradient(g, x, alpha, scale, input_scale):
    """At 0 the slope is the left side's, and the slope's own slope is 0."""
    exponent = jnp.where(x < 0, x, 0) * input_scale
    negative = alpha * input_scale * jnp.exp(exponent)
    return g * (scale * jnp.where(x <= 0, negative, 1))


# elu, celu and selu are this one with different numbers.
elu = elementwise("elu", _elu, "x alpha scale input_scale")
_elu_x = elementwise("elu_gradient", _elu_gradient, "g x alpha scale input_scale", linear=("g",))
elu.gradient(
    x=lambda g, x, alpha, scale, input_scale: _elu_x(g, x, alpha, scale, input_scale),
    alpha=None,
    scale=None,
    input_scale=None,
)


def _leaky_relu(x, slope):
    positive = x > 0
    # A slope that is infinite or NaN has no part in the gradient of positive numbers.
    return jnp.where(positive, x, jnp.where(positive, 0, x) * slope)


leaky_relu = elementwise("leaky_relu", _leaky_relu, "x slope")


def _prelu(x, weight):
    positive = x > 0
    # An infinite x has no part in the weight's gradient, nor an infinite weight in the slope of x.
    return jnp.where(positive, x, jnp.where(positive, 0, x) * jnp.where(positive, 0, weight))


prelu = elementwise("prelu", _prelu, "x weight")
square_relu = elementwise("square_relu", lambda x: jnp.square(jnp.maximum(x, 0)))
square_relu.gradient(
    x=lambda g, x: where(gt(x, 0), mul(g, mul(x, 2.0)), zeros_like(g)),
)
threshold = exact(
    "threshold",
    lambda x, limit, value: jnp.where(x <= limit, value, x),
    "x limit value",
    real_only=True,
)
hardtanh = exact(
    "hardtanh",
    lambda x, low, high: kinks.at_most(kinks.at_least(x, low), high),
    "x low high",
)
_hardtanh_gradient = gradient_where(
    "hardtanh_gradient", lambda out, low, high: ~((out <= low) | (out >= high)), "out low high"
)
# The gradient needs only the output, so that the input need not be kept (relu6 after convolution).
hardtanh.gradient(
    x=lambda g, out, low, high: _hardtanh_gradient(g, out, low, high),
    writable="out",
    zero_second_gradients=True,
)
hardshrink = exact(
    "hardshrink", lambda x, limit: jnp.where((x >= -limit) & (x <= limit), 0, x), "x limit"
)
softshrink = elementwise(
    "softshrink",
    lambda x, limit: jnp.where(
        (x >= -limit) & (x <= limit), x * 0, jnp.where(x < -limit, x + limit, x - limit)
    ),
    "x limit",
)
tanhshrink = elementwise("tanhshrink", lambda x: x - jnp.tanh(x))


def _softsign(x):
    return x / (1 + kinks.absolute(x))


softsign = elementwise("softsign", _softsign)


def _hardsigmoid(x):
    return jnp.where(x <= -3, 0, jnp.where(x >= 3, 1, quotient(x, 6) + 0.5))


hardsigmoid = elementwise("hardsigmoid", _hardsigmoid)
_hardsigmoid_gradient = gradient_where("hardsigmoid_gradient", lambda x: (x > -3) & (x < 3), "x")
hardsigmoid.gradient(x=lambda g, x: mul(_hardsigmoid_gradient(g, x), 1 / 6))


def _hardswish(x):
    return jnp.where(x < -3, 0 * x, jnp.where(x < 3, quotient(x * (x + 3), 6), x))


def _hardswish_slope(x):
    return jnp.where(x <= -3, 0, jnp.where(x < 3, quotient(x, 3) + 0.5, 1))


hardswish = elementwise("hardswish", _hardswish)
hardswish_slope = elementwise("hardswish_slope", _hardswish_slope)
hardswish.gradient(x=lambda g, x: mul(g, hardswish_slope(x)))
