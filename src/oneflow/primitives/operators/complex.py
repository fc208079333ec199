"""Complex numbers and their parts."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from jax import lax

from oneflow.primitives.operators.elementwise import (
    direction_of,
    elementwise,
    exact,
    piecewise_constant,
    zeros_like,
)
from oneflow.primitives.operators.rounding import quotient

complex_ = exact(
    "complex", lambda re, im: lax.complex(*jnp.broadcast_arrays(re, im)), "re im", linear=("re im",)
)
real_part = exact("real_part", jnp.real, linear=("x",))
imag_part = exact("imag_part", jnp.imag, linear=("x",))
complex_.gradient(re=lambda g: real_part(g), im=lambda g: imag_part(g))
real_part.gradient(x=lambda g: complex_(g, zeros_like(g)))
imag_part.gradient(x=lambda g: complex_(zeros_like(g), g))

# `sign` of complex numbers, which is not piecewise constant.
direction = elementwise("direction", direction_of)
# The angle of a real number is 0 or pi.
angle = elementwise("angle", jnp.angle)


def _angle_gradient(g, x):
    """Across the number, and 0 at 0."""
    square = x.real * x.real + x.imag * x.imag
    scaled = jnp.where(square == 0, 0, quotient(g, jnp.where(square == 0, 1, square)))
    return lax.complex(-x.imag * scaled, x.real * scaled)


_angle_x = elementwise("angle_gradient", _angle_gradient, "g x", linear=("g",))
angle.gradient(x=lambda g, x: _angle_x(g, x))
angle_of_real = piecewise_constant(
    "angle_of_real",
    lambda x: jnp.where(
        jnp.isnan(x), x, jnp.where(x < 0, np.asarray(np.pi, x.dtype), jnp.zeros((), x.dtype))
    ),
)
polar = elementwise(
    "polar",
    lambda r, angle: lax.complex(r * jnp.cos(angle), r * jnp.sin(angle)),
    "r angle",
    linear=("r",),
)
