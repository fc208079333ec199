"""Philox 4x32-10: random words as a function of a counter and a key.

Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as easy as 1, 2, 3" (SC 2011). It is one of
JAX's primitives, so that tracing a draw takes one step for its 150 operations; it is traced when
something is compiled. The interpreter has a rule for it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
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


def _round_keys(k0: jax.Array, k1: jax.Array) -> Iterator[tuple[jax.Array, jax.Array]]:
    """The two words of the key in each round."""
    for _ in range(ROUNDS):
        yield k0, k1
        k0, k1 = k0 + _u32(KEY_STEPS[0]), k1 + _u32(KEY_STEPS[1])


def _round_keys_at_once(k0: jax.Array, k1: jax.Array) -> Iterator[tuple[jax.Array, jax.Array]]:
    """As `_round_keys`, of one key for all elements: one array of twenty words."""
    if k0.ndim or k1.ndim:
        yield from _round_keys(k0, k1)
        return
    steps = [[step * index % 2**32 for step in KEY_STEPS] for index in range(ROUNDS)]
    keys = jnp.stack([k0, k1]) + np.array(steps, np.uint32)
    yield from ((keys[index, 0], keys[index, 1]) for index in range(ROUNDS))


def _mixed(counter: tuple, keys: Iterable[tuple[jax.Array, jax.Array]]) -> RandomBits:
    """The random words, in operations of JAX's."""
    shape = jnp.broadcast_shapes(*(word.shape for word in counter))
    c0, c1, c2, c3 = (jnp.broadcast_to(word, shape) for word in counter)
    for k0, k1 in keys:
        high0, low0 = _multiply_wide(c0, FACTORS[0])
        high1, low1 = _multiply_wide(c2, FACTORS[1])
        c0, c1, c2, c3 = high1 ^ c1 ^ k0, low1, high0 ^ c3 ^ k1, low0
    return c0, c1, c2, c3


@in_x64
def _random_bits(c0: Any, c1: Any, c2: Any, c3: Any, k0: Any, k1: Any) -> RandomBits:
    return _mixed((c0, c1, c2, c3), _round_keys(k0, k1))


@in_x64
def _random_bits_off_cpu(c0: Any, c1: Any, c2: Any, c3: Any, k0: Any, k1: Any) -> RandomBits:
    """The same words; XLA makes a kernel of each word of a key that is a scalar off the CPU."""
    return _mixed((c0, c1, c2, c3), _round_keys_at_once(k0, k1))


def _result_types(*operands: Any) -> list[Any]:
    """Four arrays like the largest operand, to which the others are broadcast."""
    return [max(operands, key=lambda operand: len(operand.shape))] * 4


_philox: Any = type(lax.add_p)("philox4x32")
_philox.multiple_results = True
_philox.def_abstract_eval(_result_types)
_philox.def_impl(jax.jit(_random_bits))


def _register_lowering(function: Any, platform: str | None = None) -> None:
    """Lower it to a call: a program has its 150 operations once, and not in every draw."""
    rule = mlir.lower_fun(function, multiple_results=True)
    mlir.register_lowering(_philox, rule, platform=platform, inline=False)


_register_lowering(_random_bits)
_register_lowering(_random_bits_off_cpu, "cuda")
_register_lowering(_random_bits_off_cpu, "tpu")


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
