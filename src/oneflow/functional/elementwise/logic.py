"""Truth values, bits, and tests of single numbers."""

from __future__ import annotations

from typing import Any

from oneflow.base.dtype import Category, DType
from oneflow.functional.elementwise.arithmetic import computed_dtype
from oneflow.functional.registry import function
from oneflow.primitives.operators import elementwise as p, integers
from oneflow.primitives.operators.complex import imag_part
from oneflow.primitives.registry import Primitive
from oneflow.tensor.call import call
from oneflow.tensor.operands import promote_operands, require_one_tensor, require_tensor, same_dtype
from oneflow.tensor.tensor import Tensor


def bitwise(primitive: Primitive, x: Any, y: Any) -> Tensor:
    """Apply a function of the bits of two integers or bools.

    Raises:
        NotImplementedError: an operand holds floats.
    """
    if not (isinstance(x, Tensor) and same_dtype(x, y)):
        require_one_tensor(primitive.name, x, y)
        x, y = promote_operands((x, y))
    dtype = computed_dtype(x if isinstance(x, Tensor) else y)
    _require_bits(primitive.name, dtype)
    return call(primitive, x, y)


def _require_bits(name: str, dtype: DType) -> None:
    if dtype.category > Category.INTEGER:
        raise NotImplementedError(f"{name}() takes integers and bools, got {dtype!r}")


def logical(primitive: Primitive, x: Any, y: Any) -> Tensor:
    """Apply a function of two truth values; every number but 0 is true."""
    return call(primitive, *promote_operands((x, y)))


@function(inplace=True)
def logical_and(input: Tensor, other: Tensor | int) -> Tensor:
    """Logical AND, element by element; every number but 0 is true.

    Returns:
        Bool tensor, of the broadcast shape.

    Example:
        >>> import oneflow as flow
        >>> flow.logical_and(flow.tensor([True, True]), flow.tensor([True, False]))
        tensor([ True, False], dtype=oneflow.bool)
    """
    return logical(p.logical_and, input, other)


@function(inplace=True)
def logical_or(input: Tensor, other: Tensor | int) -> Tensor:
    """Logical OR, element by element; every number but 0 is true.

    Returns:
        Bool tensor, of the broadcast shape.

    Example:
        >>> import oneflow as flow
        >>> flow.logical_or(flow.tensor([True, True]), flow.tensor([True, False]))
        tensor([True, True], dtype=oneflow.bool)
    """
    return logical(p.logical_or, input, other)


@function(inplace=True)
def logical_xor(input: Tensor, other: Tensor | int) -> Tensor:
    """Logical XOR, element by element; every number but 0 is true.

    Returns:
        Bool tensor, of the broadcast shape.

    Example:
        >>> import oneflow as flow
        >>> flow.logical_xor(flow.tensor([True, True]), flow.tensor([True, False]))
        tensor([False,  True], dtype=oneflow.bool)
    """
    return logical(p.logical_xor, input, other)


@function(inplace=True)
def logical_not(input: Tensor) -> Tensor:
    """Logical NOT of each element; of numbers only 0 is false.

    Returns:
        Bool tensor.

    Example:
        >>> import oneflow as flow
        >>> flow.logical_not(flow.tensor([0, 5]))
        tensor([ True, False], dtype=oneflow.bool)
    """
    require_tensor(input, "logical_not")
    return call(p.logical_not, input)


@function(inplace=True)
def bitwise_and(input: Tensor, other: Tensor | int) -> Tensor:
    """Bits set in both; of bools, logical and.

    Returns:
        Tensor of the promoted dtype, of the broadcast shape.

    Raises:
        NotImplementedError: an operand holds floats.

    Example:
        >>> import oneflow as flow
        >>> flow.bitwise_and(flow.tensor([6, 5]), 3)
        tensor([2, 1], dtype=oneflow.int64)
    """
    return bitwise(integers.bitwise_and, input, other)


@function(inplace=True)
def bitwise_or(input: Tensor, other: Tensor | int) -> Tensor:
    """Bits set in either; of bools, logical or.

    Returns:
        Tensor of the promoted dtype, of the broadcast shape.

    Raises:
        NotImplementedError: an operand holds floats.

    Example:
        >>> import oneflow as flow
        >>> flow.bitwise_or(flow.tensor([6, 5]), 3)
        tensor([7, 7], dtype=oneflow.int64)
    """
    return bitwise(integers.bitwise_or, input, other)


@function(inplace=True)
def bitwise_xor(input: Tensor, other: Tensor | int) -> Tensor:
    """Bits set in exactly one; of bools, exclusive or.

    Returns:
        Tensor of the promoted dtype, of the broadcast shape.

    Raises:
        NotImplementedError: an operand holds floats.

    Example:
        >>> import oneflow as flow
        >>> flow.bitwise_xor(flow.tensor([6, 5]), 3)
        tensor([5, 6], dtype=oneflow.int64)
    """
    return bitwise(integers.bitwise_xor, input, other)


@function(inplace=True)
def bitwise_left_shift(input: Tensor, other: Tensor | int) -> Tensor:
    """``input * 2 ** other`` of integers, by moving bits.

    Returns:
        Tensor of the promoted dtype, of the broadcast shape.

    Raises:
        NotImplementedError: an operand holds floats.

    Example:
        >>> import oneflow as flow
        >>> flow.bitwise_left_shift(flow.tensor([1, 5]), 2)
        tensor([ 4, 20], dtype=oneflow.int64)
    """
    return bitwise(integers.shift_left, input, other)


@function(inplace=True)
def bitwise_right_shift(input: Tensor, other: Tensor | int) -> Tensor:
    """``input // 2 ** other`` of integers, by moving bits.

    Returns:
        Tensor of the promoted dtype, of the broadcast shape.

    Raises:
        NotImplementedError: an operand holds floats.

    Example:
        >>> import oneflow as flow
        >>> flow.bitwise_right_shift(flow.tensor([4, -5]), 1)
        tensor([ 2, -3], dtype=oneflow.int64)
    """
    return bitwise(integers.shift_right, input, other)


@function(inplace=True)
def bitwise_not(input: Tensor) -> Tensor:
    """Every bit inverted; of bools, logical not.

    Raises:
        NotImplementedError: `input` holds floats.

    Example:
        >>> import oneflow as flow
        >>> flow.bitwise_not(flow.tensor([0, 5]))
        tensor([-1, -6], dtype=oneflow.int64)
    """
    require_tensor(input, "bitwise_not")
    _require_bits("bitwise_not", input._value.spec.dtype)
    return call(integers.bitwise_not, input)


def tested(primitive: Primitive, x: Tensor) -> Tensor:
    """Apply a test of single numbers."""
    require_tensor(x, primitive.name)
    return call(primitive, x)


@function()
def isnan(input: Tensor) -> Tensor:
    """Test each element for NaN.

    Returns:
        Bool tensor.

    Example:
        >>> import oneflow as flow
        >>> flow.isnan(flow.tensor([1.0, float("nan")]))
        tensor([False,  True], dtype=oneflow.bool)
    """
    return tested(p.isnan, input)


@function()
def isinf(input: Tensor) -> Tensor:
    """Test each element for positive or negative infinity.

    Returns:
        Bool tensor.

    Example:
        >>> import oneflow as flow
        >>> flow.isinf(flow.tensor([1.0, float("inf")]))
        tensor([False,  True], dtype=oneflow.bool)
    """
    return tested(p.isinf, input)


@function()
def isfinite(input: Tensor) -> Tensor:
    """Test each element for being finite: neither infinite nor NaN.

    Returns:
        Bool tensor.

    Example:
        >>> import oneflow as flow
        >>> flow.isfinite(flow.tensor([1.0, float("inf")]))
        tensor([ True, False], dtype=oneflow.bool)
    """
    return tested(p.isfinite, input)


@function()
def isposinf(input: Tensor) -> Tensor:
    """Test each element for positive infinity.

    Returns:
        Bool tensor.

    Example:
        >>> import oneflow as flow
        >>> flow.isposinf(flow.tensor([float("-inf"), float("inf")]))
        tensor([False,  True], dtype=oneflow.bool)
    """
    return tested(p.isposinf, input)


@function()
def isneginf(input: Tensor) -> Tensor:
    """Test each element for negative infinity.

    Returns:
        Bool tensor.

    Example:
        >>> import oneflow as flow
        >>> flow.isneginf(flow.tensor([float("-inf"), float("inf")]))
        tensor([ True, False], dtype=oneflow.bool)
    """
    return tested(p.isneginf, input)


@function()
def signbit(input: Tensor) -> Tensor:
    """Test the sign bit of each element, which is set for -0 too.

    Returns:
        Bool tensor.

    Example:
        >>> import oneflow as flow
        >>> flow.signbit(flow.tensor([1.0, -0.0]))
        tensor([False,  True], dtype=oneflow.bool)
    """
    return tested(p.signbit, input)


@function()
def isreal(input: Tensor) -> Tensor:
    """Test each element for being real: an imaginary part of 0.

    Returns:
        Bool tensor.

    Example:
        >>> import oneflow as flow
        >>> flow.isreal(flow.tensor([1.0 + 0j, 1j]))
        tensor([ True, False], dtype=oneflow.bool)
    """
    require_tensor(input, "isreal")
    if not input._value.spec.dtype.is_complex:
        return call(p.ones_like, call(p.isnan, input))
    return call(p.eq, call(imag_part, input), 0)
