"""Functions of whole numbers: their bits and their divisors."""

from __future__ import annotations

import jax.numpy as jnp
from jax import lax

from oneflow.primitives.operators.elementwise import without_gradient

bitwise_and = without_gradient("bitwise_and", jnp.bitwise_and, "x y")
bitwise_or = without_gradient("bitwise_or", jnp.bitwise_or, "x y")
bitwise_xor = without_gradient("bitwise_xor", jnp.bitwise_xor, "x y")
bitwise_not = without_gradient("bitwise_not", jnp.bitwise_not)


def _shift_left(x, y):
    # Nothing is left of a number that is shifted by its width or more.
    return jnp.where(y.astype(jnp.uint64) < 8 * x.dtype.itemsize, jnp.left_shift(x, y), 0)


def _shift_right(x, y):
    last = jnp.asarray(8 * x.dtype.itemsize - 1, y.dtype)
    too_large = y.astype(jnp.uint64) > last.astype(jnp.uint64)
    shifted = jnp.right_shift(x, jnp.where(too_large, last, y))
    # All bits of a signed integer are then the sign.
    return (
        jnp.where(too_large, 0, shifted)
        if jnp.issubdtype(x.dtype, jnp.unsignedinteger)
        else shifted
    )


shift_left = without_gradient("shift_left", _shift_left, "x y")
shift_right = without_gradient("shift_right", _shift_right, "x y")


def _gcd(x, y):
    """Euclid's algorithm.

    `jax.numpy.gcd` never ends where the smallest integer of a type is an operand: this has no
    positive counterpart.
    """

    def step(pair):
        x, y = pair
        is_done = y == 0
        return jnp.where(is_done, x, y), jnp.where(is_done, y, lax.rem(x, jnp.where(is_done, 1, y)))

    pair = jnp.broadcast_arrays(jnp.abs(y), jnp.abs(x))
    return lax.while_loop(lambda pair: jnp.any(pair[1] != 0), step, tuple(pair))[0]


def _lcm(x, y):
    x, y = jnp.broadcast_arrays(x, y)
    divisor = _gcd(x, y)
    return jnp.abs(lax.div(x, jnp.where(divisor == 0, 1, divisor)) * y)


gcd = without_gradient("gcd", _gcd, "x y")
lcm = without_gradient("lcm", _lcm, "x y")
