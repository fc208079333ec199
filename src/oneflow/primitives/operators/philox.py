"""Philox 4x32-10: random words as a function of a counter and a key.

Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as easy as 1, 2, 3" (SC 2011). It is one of
JAX's primitives, so that tracing a draw takes one step for its 150 operations; it is traced when
something is compiled. The interpreter has a rule for it.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jax import lax
from jax.interpreters import batching, mlir

from oneflow.base.x64 import in_x64

ROUNDS = 10
FACTORS = (0xD2511F53, 0xCD9E8D57)
KEY_STEPS = (0x9E3779B9, 0xBB67AE85)
_u32, _u64 = jnp.uint32, jnp.uint64

RandomBits = tuple[jax.Array, jax.Array, jax.Array, jax.Array]


def _multiply_wide(x: jax.Array, factor: int) -> tuple[jax.Array, jax.Array]:
    """High and low word of the 64-bit product of 32-bit words."""
    product = x.astype(_u64) * _u64(factor)
    return (product >> _u64(32)).astype(_u32), product.astype(_u32)


@in_x64
def _random_bits(c0: Any, c1: Any, c2: Any, c3: Any, k0: Any, k1: Any) -> RandomBits:
    """The random words, in operations of JAX's."""
    shape = jnp.broadcast_shapes(*(each.shape for each in (c0, c1, c2, c3)))
    c0, c1, c2, c3 = (jnp.broadcast_to(each, shape) for each in (c0, c1, c2, c3))
    for _ in range(ROUNDS):
        high0, low0 = _multiply_wide(c0, FACTORS[0])
        high1, low1 = _multiply_wide(c2, FACTORS[1])
        c0, c1, c2, c3 = high1 ^ c1 ^ k0, low1, high0 ^ c3 ^ k1, low0
        k0, k1 = k0 + _u32(KEY_STEPS[0]), k1 + _u32(KEY_STEPS[1])
    return c0, c1, c2, c3


def _result_types(*operands: Any) -> list[Any]:
    """Four arrays like the largest operand, to which the others are broadcast."""
    return [max(operands, key=lambda each: len(each.shape))] * 4


_philox: Any = type(lax.add_p)("philox4x32")
_philox.multiple_results = True
_philox.def_abstract_eval(_result_types)
_philox.def_impl(jax.jit(_random_bits))
mlir.register_lowering(_philox, mlir.lower_fun(_random_bits, multiple_results=True))


@in_x64
def _batched(operands: Any, dims: Any) -> tuple[RandomBits, tuple[int, ...]]:
    return jax.vmap(_random_bits, in_axes=tuple(dims))(*operands), (0,) * 4


batching.primitive_batchers[_philox] = _batched


def philox(counter: tuple, key: tuple) -> RandomBits:
    """Four random words from a counter of four words and a key of two.

    Args:
        counter: arrays of 32-bit words of one shape, or without dimensions.
        key: two words without dimensions, or of that shape.
    """
    return tuple(_philox.bind(*counter, *key))
