"""Division with rounding and its remainders: the sign rules of Python (floor) and of C (trunc)."""

from __future__ import annotations

from collections.abc import Callable

import jax.numpy as jnp
from jax import lax

from oneflow.primitives.operators.elementwise import (
    elementwise,
    mul,
    neg,
    piecewise_constant,
    without_gradient,
)
from oneflow.primitives.operators.rounding import quotient, round_once
from oneflow.primitives.registry import Primitive


def _is_integer(x) -> bool:
    return jnp.issubdtype(x.dtype, jnp.integer)


def _rest(x, y):
    """The remainder of division rounded towards 0."""
    return lax.rem(*jnp.broadcast_arrays(x, y))


def _floor_remainder(rest, y):
    """The remainder of division rounded down, from the remainder of division rounded towards 0."""
    return jnp.where((rest != 0) & ((rest < 0) != (y < 0)), rest + y, rest)


def _floor_quotient(x, y, rest):
    """``x // y`` of floats: ``x`` without the remainder is divided, so that 1 // 0.1 is 9."""
    integral = quotient(x - rest, y)
    integral = jnp.where((rest != 0) & ((rest < 0) != (y < 0)), integral - 1, integral)
    nearest = jnp.floor(integral)
    nearest = jnp.where(integral - nearest > 0.5, nearest + 1, nearest)
    ratio = quotient(x, y)
    nearest = jnp.where(integral == 0, jnp.copysign(jnp.zeros_like(integral), ratio), nearest)
    return jnp.where(y == 0, ratio, nearest)


def _remainder(x, y):
    return jnp.remainder(x, y) if _is_integer(x) else _floor_remainder(_rest(x, y), y)


def _floor_divide(x, y):
    return jnp.floor_divide(x, y) if _is_integer(x) else _floor_quotient(x, y, _rest(x, y))


def _trunc_divide(x, y):
    return lax.div(*jnp.broadcast_arrays(x, y)) if _is_integer(x) else jnp.trunc(quotient(x, y))


def _integer_division(name: str, impl: Callable) -> Primitive:
    """Define a division of integers, where a divisor of 0 is an error."""

    def has_zero_divisor(x, y):
        return jnp.any(jnp.broadcast_arrays(x, y)[1] == 0), jnp.zeros((), jnp.int64)

    def error(value, attributes, in_specs):
        return RuntimeError("ZeroDivisionError: integers divided by 0")

    return without_gradient(name, impl, "x y").checked(has_zero_divisor, error)


remainder = elementwise("remainder", _remainder, "x y", scalar=None)
remainder.gradient(x=lambda g: g, y=lambda g, x, y: neg(mul(g, floor_divide(x, y))))
fmod = elementwise("fmod", _rest, "x y", scalar=None)
fmod.gradient(x=lambda g: g, y=lambda g, x, y: neg(mul(g, trunc_divide(x, y))))
floor_divide = piecewise_constant("floor_divide", _floor_divide, "x y")
trunc_divide = piecewise_constant("trunc_divide", _trunc_divide, "x y")

integer_remainder = _integer_division("integer_remainder", _remainder)
integer_fmod = _integer_division("integer_fmod", _rest)
integer_floor_divide = _integer_division("integer_floor_divide", _floor_divide)
integer_trunc_divide = _integer_division("integer_trunc_divide", _trunc_divide)

# --- on the CPU, where XLA computes remainders one by one, not in vectors: those of single
# precision in double precision; if quotients are too large for that, the whole array by XLA


def _fast_rest(x, y):
    """Exact for quotients below 2^29: double precision holds quotient times divisor."""
    wide, divisor = x.astype(jnp.float64), y.astype(jnp.float64)
    truncated = jnp.trunc(wide / divisor)
    # 0 times an infinite divisor would be NaN.
    rest = wide - jnp.where(truncated == 0, 0, truncated * divisor)
    # The quotient was rounded up to an integer.
    rest = jnp.where(rest * wide < 0, rest + jnp.copysign(divisor, wide), rest)
    return jnp.where(rest == 0, jnp.copysign(0, x), rest.astype(x.dtype))


def _rest_on_cpu(x, y):
    x, y = jnp.broadcast_arrays(x, y)
    in_range = jnp.all(jnp.abs(x).astype(jnp.float64) < 2.0**29 * jnp.abs(y).astype(jnp.float64))
    return lax.cond(in_range, _fast_rest, lax.rem, x, y)


def _lower(division: Primitive, result: Callable) -> None:
    """Lower a division for the CPU, whose result is a function of ``(x, y, remainder)``."""

    def compute(x, y):
        if not jnp.issubdtype(x.dtype, jnp.floating) or x.dtype.itemsize > 4:
            return division.impl(x, y)
        return result(x, y, _rest_on_cpu(x, y))

    division.lowering("cpu")(round_once(compute))


_lower(fmod, lambda x, y, rest: rest)
_lower(remainder, lambda x, y, rest: _floor_remainder(rest, y))
_lower(floor_divide, _floor_quotient)
