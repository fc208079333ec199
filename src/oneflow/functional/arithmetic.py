"""Arithmetic on two operands."""

from __future__ import annotations

from typing import Any

from oneflow.functional.registry import function
from oneflow.primitives import elementwise as p
from oneflow.primitives.registry import Primitive
from oneflow.tensor.call import call
from oneflow.tensor.promotion import promoted, same_dtype
from oneflow.tensor.tensor import Tensor


def binary(primitive: Primitive, x: Any, y: Any) -> Tensor:
    """Apply an elementwise primitive of two operands after promotion."""
    if isinstance(x, Tensor) and same_dtype(x, y):
        return call(primitive, x, y)
    return call(primitive, *promoted((x, y)))


@function(inplace=True)
def add(input: Tensor, other: Tensor | float, *, alpha: float = 1) -> Tensor:
    """``input + alpha * other``, broadcast.

    Args:
        input: tensor or number.
        other: tensor or number.
        alpha: factor of `other`.

    Returns:
        Tensor of the broadcast shape and the promoted dtype.

    Example:
        >>> import oneflow as flow
        >>> flow.add(flow.tensor([1.0, 2.0]), 10, alpha=2)
        tensor([21., 22.], dtype=oneflow.float32)
    """
    if alpha == 1:
        return binary(p.add, input, other)
    x, y = promoted((input, other))
    return call(p.add_scaled, x, y, alpha)


@function(inplace=True, aliases=("multiply",))
def mul(input: Tensor, other: Tensor | float) -> Tensor:
    """``input * other``, broadcast.

    Returns:
        Tensor of the broadcast shape and the promoted dtype.

    Example:
        >>> import oneflow as flow
        >>> flow.mul(flow.tensor([1.0, 2.0]), 3)
        tensor([3., 6.], dtype=oneflow.float32)
    """
    return binary(p.mul, input, other)
