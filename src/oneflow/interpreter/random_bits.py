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
_SHIFT = np.uint64(32)


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


def _random_bits(c0: Any, c1: Any, c2: Any, c3: Any, k0: Any, k1: Any) -> tuple[Any, Any, Any, Any]:
    """Four words of each element; operands without dimensions apply to all elements."""
    factors = [np.uint64(factor) for factor in FACTORS]
    steps = [np.uint32(key_step) for key_step in KEY_STEPS]
    for _ in range(ROUNDS):
        product0 = c0.astype(np.uint64) * factors[0]
        product1 = c2.astype(np.uint64) * factors[1]
        low0, low1 = product0.astype(np.uint32), product1.astype(np.uint32)
        high0, high1 = (
            (product0 >> _SHIFT).astype(np.uint32),
            (product1 >> _SHIFT).astype(np.uint32),
        )
        c0, c1, c2, c3 = high1 ^ c1 ^ k0, low1, high0 ^ c3 ^ k1, low0
        k0, k1 = k0 + steps[0], k1 + steps[1]
    return c0, c1, c2, c3
