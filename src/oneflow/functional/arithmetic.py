"""Arithmetic on two operands."""

from __future__ import annotations

from typing import Any

from oneflow.base.dtype import Category, DType
from oneflow.functional.registry import function
from oneflow.primitives import elementwise as p
from oneflow.primitives.registry import Primitive
from oneflow.tensor.call import call
from oneflow.tensor.promotion import promoted, result_type, same_dtype
from oneflow.tensor.tensor import Tensor


def binary(primitive: Primitive, x: Any, y: Any) -> Tensor:
    """Apply an elementwise primitive of two operands after promotion."""
    if isinstance(x, Tensor) and same_dtype(x, y):
        return call(primitive, x, y)
    return call(primitive, *promoted((x, y)))


def computed_dtype(operand: Any) -> DType:
    """The dtype an operand computes in: a tensor's own, a number's by its kind."""
    return operand._value.spec.dtype if isinstance(operand, Tensor) else result_type(operand)


def is_bool(operand: Any) -> bool:
    """Whether an operand is a bool tensor or a Python bool."""
    if isinstance(operand, Tensor):
        return operand._value.spec.dtype.category is Category.BOOL
    return isinstance(operand, bool)


def quotient_operands(x: Any, y: Any) -> tuple:
    """Operands of a true division: whole numbers divide as floats."""
    if (
        isinstance(x, Tensor)
        and x._value.spec.dtype.category >= Category.FLOAT
        and same_dtype(x, y)
    ):
        return x, y
    return promoted((x, y), floating=True)


@function(inplace=True)
def add(input: Tensor, other: Tensor | float, *, alpha: float = 1) -> Tensor:
    """``input + alpha * other``, broadcast.

    Args:
        input: tensor or number.
        other: tensor or number.
        alpha: factor of `other`.

    Returns:
        Tensor of the broadcast shape and the promoted dtype.

    Raises:
        RuntimeError: `alpha` is a float and the operands are whole numbers.

    Example:
        >>> import oneflow as flow
        >>> flow.add(flow.tensor([1.0, 2.0]), 10, alpha=2)
        tensor([21., 22.], dtype=oneflow.float32)
    """
    if alpha == 1:
        return binary(p.add, input, other)
    return _add_scaled(input, other, alpha)


def subtract(x: Any, y: Any) -> Tensor:
    """``x - y`` for operands of any dtype but bool."""
    if is_bool(x) and is_bool(y):
        raise RuntimeError(
            "Subtraction, the `-` operator, with two bool tensors is not supported. "
            "Use the `^` or `logical_xor()` operator instead."
        )
    return binary(p.sub, x, y)


@function(inplace=True, aliases=("subtract",))
def sub(input: Tensor, other: Tensor | float, *, alpha: float = 1) -> Tensor:
    """``input - alpha * other``, broadcast.

    Returns:
        Tensor of the broadcast shape and the promoted dtype.

    Raises:
        RuntimeError: both are bool; or `alpha` is a float and the operands are whole numbers.

    Example:
        >>> import oneflow as flow
        >>> flow.sub(flow.tensor([1.0, 2.0]), 10, alpha=2)
        tensor([-19., -18.], dtype=oneflow.float32)
    """
    return subtract(input, other) if alpha == 1 else _add_scaled(input, other, -alpha)


def _add_scaled(x: Any, y: Any, alpha: float) -> Tensor:
    x, y = promoted((x, y))
    category = max(computed_dtype(x).category, computed_dtype(y).category)
    if isinstance(alpha, bool) and category > Category.BOOL:
        raise RuntimeError("Boolean alpha only supported for Boolean results.")
    if not isinstance(alpha, int) and category < Category.FLOAT:
        raise RuntimeError(
            "For integral input tensors, argument alpha must not be a floating point number."
        )
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


_ROUNDED = {"floor": p.floor_divide, "trunc": p.trunc_divide}


@function(inplace=True, aliases=("divide", "true_divide"))
def div(input: Tensor, other: Tensor | float, *, rounding_mode: str | None = None) -> Tensor:
    """``input / other``, broadcast; whole numbers divide to floats unless the quotient is rounded.

    Args:
        input: tensor or number.
        other: tensor or number.
        rounding_mode: None, ``"floor"`` (as Python's ``//``) or ``"trunc"`` (towards zero, as C).

    Returns:
        Tensor of the broadcast shape.

    Raises:
        RuntimeError: `rounding_mode` is something else.

    Example:
        >>> import oneflow as flow
        >>> flow.div(flow.tensor([-7, 7]), 2, rounding_mode="trunc")
        tensor([-3,  3], dtype=oneflow.int64)
    """
    if rounding_mode is None:
        return call(p.div, *quotient_operands(input, other))
    if rounding_mode not in _ROUNDED:
        raise RuntimeError(
            f"div expected rounding_mode to be one of None, 'trunc', or 'floor' but found {rounding_mode!r}"
        )
    return binary(_ROUNDED[rounding_mode], input, other)


@function(inplace=True)
def pow_(input: Tensor | float, exponent: Tensor | float) -> Tensor:
    """``input ** exponent``, broadcast.

    Returns:
        Tensor of the broadcast shape and the promoted dtype.

    Raises:
        RuntimeError: whole numbers to a negative whole power given as a number.

    Example:
        >>> import oneflow as flow
        >>> flow.pow(flow.tensor([1.0, 2.0, 3.0]), 2)
        tensor([1., 4., 9.], dtype=oneflow.float32)
    """
    if type(exponent) is int and exponent < 0 and computed_dtype(input).category < Category.FLOAT:
        raise RuntimeError("Integers to negative integer powers are not allowed.")
    return binary(p.pow_, input, exponent)
