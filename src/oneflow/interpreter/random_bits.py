"""The rule of Philox, see `oneflow.primitives.operators.philox`."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from oneflow.interpreter.rules import rule, shape_of
from oneflow.primitives.operators.philox import FACTORS, KEY_STEPS, ROUNDS

# Elements that are computed together: their words stay in a core's cache.
_BLOCK = 1 << 14
# Blocks whose words are stored, which takes 5 MB; and those of one draw, of which all could be.
_MAX_STORED, _MAX_STORED_OF_DRAW = 16, 8
_SHIFT, _LOWER = np.uint64(32), np.uint64(0xFFFFFFFF)


@rule("philox4x32")
def _philox(equation: Any) -> Callable:
    shape = shape_of(equation.outvars[0])

    def draw(*xs: Any) -> list[np.ndarray]:
        flat = [
            np.broadcast_to(operand, shape).reshape(-1) if operand.ndim else operand
            for operand in xs
        ]
        results = [np.empty(shape, np.uint32) for _ in range(4)]
        targets = [result.reshape(-1) for result in results]
        size = targets[0].size
        compute = _stored_bits if size <= _MAX_STORED_OF_DRAW * _BLOCK else _random_bits
        for start in range(0, size, _BLOCK):
            block = slice(start, start + _BLOCK)
            bits = compute(*[operand[block] if operand.ndim else operand for operand in flat])
            for target, part in zip(targets, bits, strict=True):
                target[block] = part
        return results

    return draw


def _stored_bits(*operands: np.ndarray) -> tuple[Any, Any, Any, Any]:
    """As `_random_bits`, once for equal operands: a dropout's gradient draws what it has drawn."""
    return _bits_of(*[(operand.tobytes(), operand.ndim) for operand in operands])


@functools.lru_cache(maxsize=_MAX_STORED)
def _bits_of(*contents: tuple[bytes, int]) -> tuple[Any, Any, Any, Any]:
    """The words for operands of which the bytes and the number of dimensions are given."""
    words = [np.frombuffer(content, np.uint32) for content, _ in contents]
    return _random_bits(
        *[word if ndim else word[0] for word, (_, ndim) in zip(words, contents, strict=True)]
    )


def _random_bits(*words: Any) -> tuple[Any, ...]:
    """Four words of each element; operands without dimensions apply to all elements.

    Words are held in 64 bits, in which their products fit: to convert them in each round takes a
    quarter more time.
    """
    factors, steps = ([np.uint64(word) for word in pair] for pair in (FACTORS, KEY_STEPS))
    c0, c1, c2, c3, k0, k1 = (word.astype(np.uint64) for word in words)
    for _ in range(ROUNDS):
        product0, product1 = c0 * factors[0], c2 * factors[1]
        c0, c2 = product1 >> _SHIFT, product0 >> _SHIFT
        c0 ^= c1
        c2 ^= c3
        c0 ^= k0
        c2 ^= k1
        # The lower words still have the higher ones above them.
        c0 &= _LOWER
        c2 &= _LOWER
        c1, c3 = product1, product0
        k0, k1 = (k0 + steps[0]) & _LOWER, (k1 + steps[1]) & _LOWER
    return tuple([word.astype(np.uint32) for word in (c0, c1, c2, c3)])
