"""Arithmetic on two operands."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from oneflow.base.dtype import Category, DType, complex128, float64, get_default_dtype
from oneflow.base.limits import require_range
from oneflow.base.program_name import PYTORCH, program_name
from oneflow.functional.factors_first import is_factor
from oneflow.functional.registry import function
from oneflow.primitives.operators import elementwise as p, power as powers
from oneflow.primitives.registry import Primitive
from oneflow.tensor.call import call
from oneflow.tensor.methods import attach, before_write, write_result
from oneflow.tensor.operands import (
    as_scalar_of,
    call_without_promotion,
    cast_to,
    is_one,
    number_category,
    promote_factor,
    promote_operands,
    require_one_tensor,
    require_tensor,
    same_dtype,
)
from oneflow.tensor.promotion import result_type
from oneflow.tensor.tensor import Tensor


def binary(primitive: Primitive, x: Any, y: Any) -> Tensor:
    """Apply an elementwise primitive of two operands after promotion."""
    if isinstance(x, Tensor) and (result := call_without_promotion(primitive, x, y)) is not None:
        return result
    return call(primitive, *promote_operands((x, y)))


def computed_dtype(operand: Any) -> DType:
    """The dtype an operand computes in: a tensor's own, a number's by its kind."""
    return operand._value.spec.dtype if isinstance(operand, Tensor) else result_type(operand)


def is_bool(operand: Any) -> bool:
    """Return True for a bool tensor or a Python bool."""
    if isinstance(operand, Tensor):
        return operand._value.spec.dtype.category is Category.BOOL
    return isinstance(operand, bool)


def require_order(name: str, *operands: Any) -> None:
    """Refuse to ask which of some complex numbers is larger.

    Raises:
        NotImplementedError: an operand is complex.
    """
    for operand in operands:
        if isinstance(operand, complex | Tensor) and computed_dtype(operand).is_complex:
            raise NotImplementedError(
                f"{name}() is not implemented for {computed_dtype(operand)!r}: complex numbers "
                "have "
                "no order; compare their `abs()` or their parts"
            )


def ordering(primitive: Primitive, x: Any, y: Any) -> Tensor:
    """`binary` of a primitive that asks which of two elements is larger."""
    require_order(primitive.name, x, y)
    return binary(primitive, x, y)


def require_same_operands(name: str, operands: Iterable[Any]) -> None:
    """Refuse to add up tensors of different shapes or dtypes; numbers may be among them.

    Raises:
        RuntimeError: they differ.
    """
    tensors = [operand for operand in operands if isinstance(operand, Tensor)]
    kinds = {(tuple(tensor.shape), tensor.dtype) for tensor in tensors}
    if len(kinds) > 1:
        specs = ", ".join(f"{tensor.dtype!r} of shape {list(tensor.shape)}" for tensor in tensors)
        raise RuntimeError(
            f"{name}(): several tensors must have one shape and one dtype, got {specs}; add two at "
            "a time, which broadcasts"
        )


def _is_factor_of_pytorch(other: Tensor, others: tuple) -> bool:
    """Return True for the second of three operands that PyTorch takes for ``alpha``.

    OneFlow, whose programs write the same call, adds up all three.
    """
    is_old_form = len(others) == 1 and isinstance(others[0], Tensor) and is_factor(other)
    return is_old_form and program_name() == PYTORCH


@function(inplace=True, also=("_C.add",))
def add(input: Tensor, other: Tensor | float, *others: Tensor | float, alpha: float = 1) -> Tensor:
    """``input + alpha * other``, broadcast.

    Args:
        input: tensor or number.
        other: tensor or number.
        others: more tensors or numbers, added as well if `other` is a tensor. Several tensors are
            not broadcast.
        alpha: factor of `other`.

    Returns:
        Tensor of the broadcast shape and the promoted dtype.

    Raises:
        RuntimeError: `alpha` is a float and the operands are integers, or a bool and they are not;
            or three and more tensors have several shapes or dtypes.

    Example:
        >>> import oneflow as flow
        >>> flow.add(flow.tensor([1.0, 2.0]), 10, alpha=2)
        tensor([21., 22.], dtype=oneflow.float32)
    """
    if others and (not isinstance(other, Tensor) or _is_factor_of_pytorch(other, others)):
        raise TypeError("add(): more than two operands need a tensor as the second")
    if any(isinstance(operand, Tensor) for operand in others):
        require_same_operands("add", (input, other, *others))
    is_plain = type(alpha) is int and alpha == 1
    result = binary(p.add, input, other) if is_plain else _scaled_sum(p.add, input, other, alpha)
    for operand in others:
        result = binary(p.add, result, operand)
    return result


def subtract(x: Any, y: Any, alpha: float = 1) -> Tensor:
    """``x - alpha * y`` of two operands, at most one of which is bool."""
    if is_bool(x) and is_bool(y):
        raise RuntimeError(
            "Subtraction, the `-` operator, with two bool tensors is not supported. "
            "Use the `^` or `logical_xor()` operator instead."
        )
    is_plain = type(alpha) is int and alpha == 1
    return binary(p.sub, x, y) if is_plain else _scaled_sum(p.sub, x, y, alpha)


@function(inplace=True, aliases=("subtract",), also=("_C.sub",))
def sub(input: Tensor, other: Tensor | float, *, alpha: float = 1) -> Tensor:
    """``input - alpha * other``, broadcast.

    Returns:
        Tensor of the broadcast shape and the promoted dtype.

    Raises:
        RuntimeError: both are bool; or `alpha` is a float and the operands are integers.

    Example:
        >>> import oneflow as flow
        >>> flow.sub(flow.tensor([1.0, 2.0]), 10, alpha=2)
        tensor([-19., -18.], dtype=oneflow.float32)
    """
    return subtract(input, other, alpha)


def _scaled_sum(primitive: Primitive, x: Any, y: Any, alpha: float) -> Tensor:
    """The sum, or difference, of `x` and ``alpha * y``."""
    x, y = promote_operands((x, y))
    category = max(computed_dtype(x).category, computed_dtype(y).category)
    kind = number_category(alpha)
    if kind is Category.BOOL and category > Category.BOOL:
        raise RuntimeError("Boolean alpha only supported for Boolean results.")
    if kind >= Category.FLOAT and category < Category.FLOAT:
        raise RuntimeError(
            "For integral input tensors, argument alpha must not be a floating point number."
        )
    if is_one(alpha):
        return call(primitive, x, y)
    tensor = x if isinstance(x, Tensor) else y
    if primitive is p.add:
        factor = as_scalar_of(tensor, alpha)
    elif isinstance(alpha, Tensor):  # narrow integers have another negative
        factor = call(p.neg, as_scalar_of(tensor, alpha))
    else:
        factor = as_scalar_of(tensor, -alpha)
    return call(p.add_scaled, x, y, factor)


def multiply(x: Any, y: Any) -> Tensor:
    """``x * y`` for tensors and numbers."""
    if isinstance(x, Tensor) and (result := call_without_promotion(p.mul, x, y)) is not None:
        return result
    return call(p.mul, *promote_factor(x, y))


@function(inplace=True, aliases=("multiply",), also=("_C.mul",))
def mul(input: Tensor, other: Tensor | float) -> Tensor:
    """``input * other``, broadcast.

    Returns:
        Tensor of the broadcast shape and the promoted dtype.

    Example:
        >>> import oneflow as flow
        >>> flow.mul(flow.tensor([1.0, 2.0]), 3)
        tensor([3., 6.], dtype=oneflow.float32)
    """
    return multiply(input, other)


@function(method=False)
def rsub(input: Tensor, other: Tensor | float, *, alpha: float = 1) -> Tensor:
    """``other - alpha * input``, broadcast.

    Example:
        >>> import oneflow as flow
        >>> flow.rsub(flow.tensor([1.0, 2.0]), 10)
        tensor([9., 8.], dtype=oneflow.float32)
    """
    require_tensor(input, "rsub")
    return subtract(other, input, alpha)


def scaled(x: Tensor, factor: float, name: str) -> Tensor:
    """A tensor times a constant float; integers become floats first."""
    require_tensor(x, name)
    if x._value.spec.dtype.category < Category.FLOAT:
        x = cast_to(x, get_default_dtype())
    return call(p.mul, x, factor)


# Powers that have an instruction of their own: much faster than a power known only at run time.
_COMMON_POWERS = {
    2: p.square,
    3: p.cube,
    0.5: p.sqrt,
    -0.5: p.rsqrt,
    -1: p.reciprocal,
}


def power(x: Any, y: Any) -> Tensor:
    """``x ** y`` for tensors and numbers."""
    if not (isinstance(x, Tensor) and same_dtype(x, y)):
        x, y = promote_operands((x, y))
    category = (x if isinstance(x, Tensor) else y)._value.spec.dtype.category
    if category >= Category.FLOAT:
        common = None if isinstance(y, Tensor) else _COMMON_POWERS.get(y)
        return call(powers.pow_, x, y) if common is None else call(common, x)
    if category is Category.BOOL:
        raise NotImplementedError("pow() is not implemented for bool tensors; convert one operand")
    if not isinstance(y, Tensor):
        if y < 0:
            raise RuntimeError("Integers to negative integer powers are not allowed.")
        require_range(y, y, x._value.spec.dtype)
    return call(powers.pow_, x, y)


@function(inplace=True, keyword_aliases={"y": "exponent"})
def pow_(input: Tensor | float, exponent: Tensor | float) -> Tensor:
    """``input ** exponent``, broadcast.

    Returns:
        Tensor of the broadcast shape and the promoted dtype.

    Raises:
        RuntimeError: integers to a negative integer power given as a number.

    Example:
        >>> import oneflow as flow
        >>> flow.pow(flow.tensor([1.0, 2.0, 3.0]), 2)
        tensor([1., 4., 9.], dtype=oneflow.float32)
    """
    require_one_tensor("pow", input, exponent)
    return power(input, exponent)


@function()
def float_power(input: Tensor | float, exponent: Tensor | float) -> Tensor:
    """``input ** exponent`` computed in float64, or complex128 for complex operands.

    Example:
        >>> import oneflow as flow
        >>> flow.float_power(flow.tensor([1, 2]), -1)
        tensor([1.0000, 0.5000], dtype=oneflow.float64)
    """
    require_one_tensor("float_power", input, exponent)
    dtypes = (computed_dtype(input), computed_dtype(exponent))
    wide = complex128 if any(dtype.is_complex for dtype in dtypes) else float64
    # Widen tensors before they meet: numbers are then rounded to their precision, not to a lower.
    x, y = promote_operands((cast_to(input, wide), cast_to(exponent, wide)))
    return power(cast_to(x, wide), cast_to(y, wide))


def float_power_(self: Tensor, exponent: Tensor | float) -> Tensor:
    """In-place version of `float_power`.

    Raises:
        RuntimeError: the tensor has another dtype than the result.

    Example:
        >>> import oneflow as flow
        >>> flow.tensor([2.0, 3.0], dtype=flow.float64).float_power_(2)
        tensor([4., 9.], dtype=oneflow.float64)
    """
    result = float_power(before_write(self), exponent)
    if result.dtype is not self.dtype:
        raise RuntimeError(
            f"the base given to float_power_ has dtype {self.dtype.name} but the operation's "
            f"result requires dtype {result.dtype.name}; convert it first"
        )
    return write_result(self, result, "float_power_")


attach("float_power_", float_power_)


@function(inplace=True)
def addcmul(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: float = 1) -> Tensor:
    """``input + value * tensor1 * tensor2``, broadcast.

    Args:
        input: tensor.
        tensor1: tensor or number.
        tensor2: tensor or number.
        value: factor of the product.

    Example:
        >>> import oneflow as flow
        >>> flow.addcmul(flow.zeros(2), flow.tensor([1.0, 2.0]), flow.tensor([3.0, 4.0]), value=2)
        tensor([ 6., 16.], dtype=oneflow.float32)
    """
    input, tensor1, tensor2 = promote_operands((input, tensor1, tensor2))
    return call(p.add_product, input, tensor1, tensor2, as_scalar_of(input, value))


@function(inplace=True)
def addcdiv(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: float = 1) -> Tensor:
    """``input + value * tensor1 / tensor2``, broadcast.

    Args:
        input: tensor.
        tensor1: tensor or number.
        tensor2: tensor or number.
        value: factor of the quotient.

    Raises:
        RuntimeError: all operands are integers.

    Example:
        >>> import oneflow as flow
        >>> flow.addcdiv(flow.zeros(2), flow.tensor([1.0, 2.0]), flow.tensor([2.0, 4.0]), value=2)
        tensor([1., 1.], dtype=oneflow.float32)
    """
    if max(computed_dtype(operand).category for operand in (tensor1, tensor2)) < Category.FLOAT:
        raise RuntimeError("Integer division with addcdiv is not supported; convert one to a float")
    input, tensor1, tensor2 = promote_operands((input, tensor1, tensor2))
    return call(p.add_quotient, input, tensor1, tensor2, as_scalar_of(input, value))


@function(inplace=True, also=("lerp_",))
def lerp(input: Tensor, end: Tensor, weight: Tensor | float) -> Tensor:
    """``input + weight * (end - input)``, broadcast: from `input` at weight 0 to `end` at weight 1.

    Args:
        input: float tensor.
        end: tensor of the same dtype.
        weight: number, or tensor of the same dtype.

    Raises:
        RuntimeError: the dtypes differ.

    Example:
        >>> import oneflow as flow
        >>> flow.lerp(flow.tensor([0.0, 10.0]), flow.tensor([10.0, 20.0]), 0.5)
        tensor([ 5., 15.], dtype=oneflow.float32)
    """
    require_tensor(input, "lerp")
    if not any(isinstance(operand, Tensor) and operand.ndim for operand in (input, end, weight)):
        input, end, weight = promote_operands((input, end, weight))
    dtype = input._value.spec.dtype
    if isinstance(weight, Tensor) and not weight.ndim:
        weight = as_scalar_of(input, weight)
    for name, other in (("end", end), ("weight", weight)):
        if isinstance(other, Tensor) and other._value.spec.dtype is not dtype:
            raise RuntimeError(
                f"lerp(): expected dtype {dtype!r} for `{name}` but got dtype {other.dtype!r}"
            )
    if dtype.category < Category.FLOAT:
        raise NotImplementedError(f"lerp() is not implemented for {dtype!r}")
    return call(p.lerp, input, end, weight)
