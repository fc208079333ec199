"""The position of a shard within the whole, for primitives whose values depend on it.

A primitive with the trait `Positional` takes an attribute `shard`. With one it returns that shard
of what it returns without: its operands and the attributes that hold sizes are those of the shard.
Random numbers are the same under any split, because they count elements of the whole.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import jax
from jax import lax


class ShardIndex(NamedTuple):
    """The position of a shard of the first result, or of the operand that the primitive names.

    Attributes:
        global_shape: shape of the whole.
        offsets: global index of the shard's first element along each dimension; numbers or traced
            scalars.
        count: the number of elements of the whole, a traced scalar, where `global_shape` is a bound
            on it: code for a block of elements serves all sizes. None: that of `global_shape`.
    """

    global_shape: tuple[int, ...]
    offsets: tuple[Any, ...]
    count: Any = None

    def is_contiguous(self, shape: tuple[int, ...]) -> bool:
        """Return whether a shard of this shape is a range of the whole: only rows are split.

        XLA makes kernels of the terms of other positions on GPUs and TPUs.
        """
        offsets = self.offsets[1:]
        return shape[1:] == self.global_shape[1:] and all(
            type(offset) is int and not offset for offset in offsets
        )


def global_linear_index(shape: tuple[int, ...], shard: ShardIndex | None, dtype: Any) -> jax.Array:
    """The row-major index in the whole of every element of a shard of the given shape.

    Args:
        shape: shape of the shard.
        shard: its position; None: it is the whole.
        dtype: dtype of the indices.
    """
    if shard is None or shard.is_contiguous(shape):
        number = lax.iota(dtype, math.prod(shape))
        if shard is not None and shape:
            start = lax.convert_element_type(shard.offsets[0], dtype)
            number += start * lax.convert_element_type(math.prod(shape[1:]), dtype)
        return number.reshape(shape)
    number, stride = lax.full(shape, 0, dtype), 1
    for dim in reversed(range(len(shape))):
        number += global_index(dim, shape, shard, dtype) * lax.convert_element_type(stride, dtype)
        stride *= shard.global_shape[dim]
    return number


def global_index(
    dim: int, shape: tuple[int, ...], shard: ShardIndex | None, dtype: Any
) -> jax.Array:
    """The index in the whole along `dim` of every element of a shard of the given shape."""
    index = lax.broadcasted_iota(dtype, shape, dim)
    return index if shard is None else index + lax.convert_element_type(shard.offsets[dim], dtype)
