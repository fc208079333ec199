"""Where a part lies in the whole, for primitives whose values depend on the position.

A primitive with the fact `POSITIONAL` takes an attribute `part`. Given one it returns that part of
what it returns without: its operands and the attributes that hold sizes are those of the part.
Random numbers are the same under any split, because they count elements in the whole.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import jax
from jax import lax

POSITIONAL = {"positional": ""}


def positional_in(operand: str) -> dict[str, str]:
    """The fact that a primitive's values depend on where its part of an operand is."""
    return {"positional": operand}


class Part(NamedTuple):
    """A box of the first result, or of the operand that the primitive names.

    Attributes:
        shape: of the whole.
        starts: where the part begins along each dimension; numbers or traced scalars.
    """

    shape: tuple[int, ...]
    starts: tuple[Any, ...]


def places(shape: tuple[int, ...], part: Part | None, dtype: Any) -> jax.Array:
    """The row-major number in the whole of every element of a part of the given shape.

    Args:
        shape: of the part.
        part: where it is; None: it is the whole.
        dtype: of the numbers.
    """
    if part is None:
        return lax.iota(dtype, math.prod(shape)).reshape(shape)
    number, stride = lax.full(shape, 0, dtype), 1
    for dim in reversed(range(len(shape))):
        number += places_along(dim, shape, part, dtype) * lax.convert_element_type(stride, dtype)
        stride *= part.shape[dim]
    return number


def places_along(dim: int, shape: tuple[int, ...], part: Part | None, dtype: Any) -> jax.Array:
    """The index in the whole along `dim` of every element of a part of the given shape."""
    index = lax.broadcasted_iota(dtype, shape, dim)
    return index if part is None else index + lax.convert_element_type(part.starts[dim], dtype)
