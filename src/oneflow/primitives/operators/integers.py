"""Functions of whole numbers: their bits and their divisors."""

from __future__ import annotations

import jax.numpy as jnp

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
gcd = without_gradient("gcd", jnp.gcd, "x y")
lcm = without_gradient("lcm", jnp.lcm, "x y")
