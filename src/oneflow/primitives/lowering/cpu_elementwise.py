"""Functions of single precision numbers on the CPU that XLA computes one by one, not in vectors.

They are computed in double precision, where a few plain steps are exact enough; if numbers are too
large for that, XLA's own functions are used for the whole array.
"""

from __future__ import annotations

from collections.abc import Callable

import jax.numpy as jnp
import numpy as np
from jax import lax

from oneflow.primitives.operators import elementwise as e
from oneflow.primitives.operators.rounding import round_once
from oneflow.primitives.registry import PRIMITIVES, Primitive

# --- remainders


def _fast_remainder(x, y):
    """Exact for quotients below 2^29: double precision holds quotient times divisor."""
    wide, divisor = x.astype(jnp.float64), y.astype(jnp.float64)
    truncated = jnp.trunc(wide / divisor)
    # 0 times an infinite divisor would be NaN.
    rest = wide - jnp.where(truncated == 0, 0, truncated * divisor)
    # The quotient was rounded up to an integer.
    rest = jnp.where(rest * wide < 0, rest + jnp.copysign(divisor, wide), rest)
    return jnp.where(rest == 0, jnp.copysign(0, x), rest.astype(x.dtype))


def _rest(x, y):
    x, y = jnp.broadcast_arrays(x, y)
    in_range = jnp.all(jnp.abs(x).astype(jnp.float64) < 2.0**29 * jnp.abs(y).astype(jnp.float64))
    return lax.cond(in_range, _fast_remainder, lax.rem, x, y)


def _lower_division(primitive: Primitive, result: Callable) -> None:
    def compute(x, y):
        if not jnp.issubdtype(x.dtype, jnp.floating) or x.dtype.itemsize > 4:
            return primitive.impl(x, y)
        return result(x, y, _rest(x, y))

    primitive.lowering("cpu")(round_once(compute))


_lower_division(e.fmod, lambda x, y, rest: rest)
_lower_division(e.remainder, lambda x, y, rest: e.floor_remainder(rest, y))
_lower_division(e.floor_divide, e.floor_quotient)

# --- sine and cosine

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


def _lower_sin_cos(name: str, half_pi_count: int, exact: Callable) -> None:
    def compute(x):
        if x.dtype != jnp.float32:
            return exact(x)
        in_range = jnp.all(jnp.abs(x) < _MAX_REDUCED)
        return lax.cond(in_range, lambda x: _sin_shifted(x, half_pi_count), exact, x)

    PRIMITIVES[name].lowering("cpu")(round_once(compute))


_lower_sin_cos("sin", 0, jnp.sin)
_lower_sin_cos("cos", 1, jnp.cos)
# Gradients, the derivative of the sine being the cosine.
PRIMITIVES["sin_gradient"].lowering("cpu")(
    round_once(lambda g, x: g * jnp.conj(e.cos.lowerings["cpu"](x)))
)
PRIMITIVES["cos_gradient"].lowering("cpu")(
    round_once(lambda g, x: -g * jnp.conj(e.sin.lowerings["cpu"](x)))
)
