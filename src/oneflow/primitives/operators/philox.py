"""Philox 4x32-10: random words as a function of a counter and a key.

Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as easy as 1, 2, 3" (SC 2011). It is one of
JAX's primitives, so that tracing a draw takes one step for its 150 operations; it is traced when
something is compiled. The interpreter has a rule for it.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Iterable, Iterator
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


@functools.partial(jax.jit, static_argnums=1)
def _multiply_wide(x: jax.Array, factor: int) -> tuple[jax.Array, jax.Array]:
    """High and low word of the 64-bit product of 32-bit words; a program has it once."""
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


def _xor(*words: jax.Array) -> jax.Array:
    return functools.reduce(operator.xor, words)


def _rounds(counter: Iterable, keys: Iterable, multiply: Callable, xor: Callable = _xor) -> tuple:
    """The words that the rounds make of a counter's."""
    c0, c1, c2, c3 = counter
    for k0, k1 in keys:
        high0, low0 = multiply(c0, FACTORS[0])
        high1, low1 = multiply(c2, FACTORS[1])
        c0, c1, c2, c3 = xor(high1, c1, k0), low1, xor(high0, c3, k1), low0
    return c0, c1, c2, c3


def _mixed(counter: tuple, keys: Iterable[tuple[jax.Array, jax.Array]]) -> RandomBits:
    """The random words, in operations of JAX's."""
    shape = jnp.broadcast_shapes(*(word.shape for word in counter))
    return _rounds([jnp.broadcast_to(word, shape) for word in counter], keys, _multiply_wide)


def _multiply_present(x: jax.Array | None, factor: int) -> tuple:
    """As `_multiply_wide`; None remains None."""
    return (None, None) if x is None else _multiply_wide(x, factor)


def _mixed_in_two_stages(counter: tuple, key: tuple[jax.Array, jax.Array]) -> RandomBits:
    """As `_mixed`, of one key for all elements: what does not depend on them is an array first.

    In the first stage None stands for words of elements, and in the second one for the others.
    """
    common: list[jax.Array] = []

    def store_common(*words: jax.Array | None) -> jax.Array | None:
        result = _xor(*(word for word in words if word is not None))
        if None not in words:
            return result
        common.append(result)
        return None

    common_counter = [None if word.ndim else word for word in counter]
    _rounds(common_counter, _round_keys(*key), _multiply_present, store_common)
    array = jnp.stack(common)
    parts = iter([array[index] for index in range(len(common))])

    def add_common(*words: jax.Array | None) -> jax.Array | None:
        varying = [word for word in words if word is not None]
        return _xor(*varying, next(parts)) if varying else None

    varying = [word if word.ndim else None for word in counter]
    return _rounds(varying, [(None, None)] * ROUNDS, _multiply_present, add_common)


@in_x64
def _random_bits(c0: Any, c1: Any, c2: Any, c3: Any, k0: Any, k1: Any) -> RandomBits:
    return _mixed((c0, c1, c2, c3), _round_keys(k0, k1))


@in_x64
def _random_bits_on_gpu(c0: Any, c1: Any, c2: Any, c3: Any, k0: Any, k1: Any) -> RandomBits:
    """The same words; XLA makes a kernel of each that all elements have in common on GPUs."""
    counter = (c0, c1, c2, c3)
    if k0.ndim or k1.ndim or not any(word.ndim for word in counter):
        return _mixed(counter, _round_keys(k0, k1))
    return _mixed_in_two_stages(counter, (k0, k1))


@in_x64
def _random_bits_on_tpu(c0: Any, c1: Any, c2: Any, c3: Any, k0: Any, k1: Any) -> RandomBits:
    """The same words; a TPU computes what all elements have in common word by word, but a key."""
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
_register_lowering(_random_bits_on_gpu, "cuda")
_register_lowering(_random_bits_on_tpu, "tpu")


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
