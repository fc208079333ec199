"""Functions of two numbers beyond arithmetic."""

from __future__ import annotations

from typing import Any

from oneflow.base.dtype import Category, float32, float64
from oneflow.functional import return_types
from oneflow.functional.elementwise.arithmetic import binary, computed_dtype, power
from oneflow.functional.registry import function
from oneflow.primitives.operators import elementwise as p, integers, special as s, trigonometry
from oneflow.primitives.registry import Primitive
from oneflow.tensor.call import call
from oneflow.tensor.operands import (
    cast_to,
    promote_operands,
    require_one_tensor,
    require_tensor,
    require_tensors,
)
from oneflow.tensor.tensor import Tensor


def floating_pair(primitive: Primitive, x: Any, y: Any) -> Tensor:
    """Apply a function of two floats: integers and bools become floats first."""
    return call(primitive, *promote_operands((x, y), floating=True))


def integer_pair(primitive: Primitive, x: Any, y: Any) -> Tensor:
    """Apply a function of two integers.

    Raises:
        NotImplementedError: they are floats or bools.
    """
    x, y = promote_operands((x, y))
    dtype = computed_dtype(x if isinstance(x, Tensor) else y)
    if dtype.category is not Category.INTEGER:
        raise NotImplementedError(f"{primitive.name}() is not implemented for {dtype!r}")
    return call(primitive, x, y)


@function(inplace=True, aliases=("arctan2",))
def atan2(input: Tensor, other: Tensor) -> Tensor:
    """Angle of the point ``(other, input)`` with the first axis, in (-pi, pi].

    Example:
        >>> import oneflow as flow
        >>> flow.atan2(flow.tensor([1.0, -1.0]), flow.tensor([1.0, 0.0]))
        tensor([ 0.7854, -1.5708], dtype=oneflow.float32)
    """
    require_tensors("atan2", input, other)
    return floating_pair(trigonometry.atan2, input, other)


@function(inplace=True)
def hypot(input: Tensor, other: Tensor) -> Tensor:
    """``sqrt(input**2 + other**2)``, without overflow.

    Example:
        >>> import oneflow as flow
        >>> flow.hypot(flow.tensor([3.0]), flow.tensor([4.0]))
        tensor([5.], dtype=oneflow.float32)
    """
    require_tensors("hypot", input, other)
    return floating_pair(trigonometry.hypot, input, other)


@function()
def logaddexp(x: Tensor, y: Tensor) -> Tensor:
    """``log(exp(x) + exp(y))``, without overflow.

    Example:
        >>> import oneflow as flow
        >>> flow.logaddexp(flow.tensor([0.0, 100.0]), flow.tensor([0.0, 100.0]))
        tensor([  0.6931, 100.6931], dtype=oneflow.float32)
    """
    require_tensors("logaddexp", x, y)
    return floating_pair(s.logaddexp, x, y)


@function()
def logaddexp2(input: Tensor, other: Tensor) -> Tensor:
    """``log2(2**input + 2**other)``, without overflow.

    Example:
        >>> import oneflow as flow
        >>> flow.logaddexp2(flow.tensor([0.0, 100.0]), flow.tensor([0.0, 100.0]))
        tensor([  1., 101.], dtype=oneflow.float32)
    """
    require_tensors("logaddexp2", input, other)
    return floating_pair(s.logaddexp2, input, other)


@function(inplace=True, also=("special.xlogy", "xlogy_"))
def xlogy(input: Tensor, other: Tensor | float) -> Tensor:
    """``input * log(other)``, and 0 where `input` is 0.

    Example:
        >>> import oneflow as flow
        >>> flow.xlogy(flow.tensor([0.0, 2.0]), flow.tensor([0.0, 1.0]))
        tensor([0., 0.], dtype=oneflow.float32)
    """
    require_one_tensor("xlogy", input, other)
    return floating_pair(s.xlogy, input, other)


@function(inplace=True)
def copysign(input: Tensor, other: Tensor | float) -> Tensor:
    """The size of `input` with the sign of `other`.

    Example:
        >>> import oneflow as flow
        >>> flow.copysign(flow.tensor([1.0, -2.0]), -0.0)
        tensor([-1., -2.], dtype=oneflow.float32)
    """
    require_tensor(input, "copysign")
    return floating_pair(s.copysign, input, other)


@function(inplace=True)
def nextafter(input: Tensor, other: Tensor) -> Tensor:
    """The next number from `input` towards `other`.

    Example:
        >>> import oneflow as flow
        >>> flow.nextafter(flow.tensor([1.0]), flow.tensor([2.0])) - 1
        tensor([1.1921e-07], dtype=oneflow.float32)
    """
    require_tensors("nextafter", input, other)
    return floating_pair(s.nextafter, input, other)


@function(inplace=True, keyword_aliases={"values": "other"})
def heaviside(input: Tensor, other: Tensor) -> Tensor:
    """0 below 0, 1 above 0, and `other` at 0.

    Raises:
        RuntimeError: the dtypes differ.

    Example:
        >>> import oneflow as flow
        >>> flow.heaviside(flow.tensor([-1.0, 0.0, 2.0]), flow.tensor([0.5]))
        tensor([0.0000, 0.5000, 1.0000], dtype=oneflow.float32)
    """
    require_tensors("heaviside", input, other)
    if input.dtype is not other.dtype:
        raise RuntimeError(
            f"heaviside: `other` must have the dtype of `input`, {input.dtype}, got {other.dtype}"
        )
    return binary(s.heaviside, input, other)


@function(inplace=True, also=("gcd_",))
def gcd(input: Tensor, other: Tensor) -> Tensor:
    """Greatest common divisor of integers.

    Example:
        >>> import oneflow as flow
        >>> flow.gcd(flow.tensor([12, 18]), flow.tensor([8, 27]))
        tensor([4, 9], dtype=oneflow.int64)
    """
    require_tensors("gcd", input, other)
    return integer_pair(integers.gcd, input, other)


@function(inplace=True, also=("lcm_",))
def lcm(input: Tensor, other: Tensor) -> Tensor:
    """Least common multiple of integers.

    Example:
        >>> import oneflow as flow
        >>> flow.lcm(flow.tensor([4, 6]), flow.tensor([6, 8]))
        tensor([12, 24], dtype=oneflow.int64)
    """
    require_tensors("lcm", input, other)
    return integer_pair(integers.lcm, input, other)


@function(inplace=True, also=("ldexp_",))
def ldexp(input: Tensor, other: Tensor) -> Tensor:
    """``input * 2 ** other``.

    Example:
        >>> import oneflow as flow
        >>> flow.ldexp(flow.tensor([1.0]), flow.tensor([3]))
        tensor([8.], dtype=oneflow.float32)
    """
    require_tensors("ldexp", input, other)
    if not input.dtype.is_floating_point or other.dtype.category > Category.INTEGER:
        return binary(p.mul, input, power(2.0, other))
    # Powers of two are exact, and those that float16 does not hold may give numbers that it holds.
    wide = cast_to(input, float64 if input.dtype is float64 else float32)
    return cast_to(binary(p.mul, wide, power(2.0, cast_to(other, wide.dtype))), input.dtype)


@function()
def frexp(input: Tensor) -> return_types.frexp:
    """Mantissa in [0.5, 1) and whole exponent: ``input = mantissa * 2 ** exponent``.

    Returns:
        ``(mantissa, exponent)``, the exponent int32.

    Example:
        >>> import oneflow as flow
        >>> flow.frexp(flow.tensor([6.0])).exponent
        tensor([3], dtype=oneflow.int32)
    """
    require_tensor(input, "frexp")
    if not input._value.spec.dtype.is_floating_point:
        raise RuntimeError(f"frexp() only supports floating-point dtypes, got {input.dtype!r}")
    return return_types.frexp(*call(s.frexp, input))
