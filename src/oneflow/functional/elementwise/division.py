"""Division, with and without rounding."""

from __future__ import annotations

from typing import Any

from oneflow.base.dtype import Category
from oneflow.base.limits import require_range
from oneflow.functional.elementwise.arithmetic import computed_dtype
from oneflow.functional.registry import function
from oneflow.primitives.operators import division as p
from oneflow.primitives.operators.elementwise import div as quotient
from oneflow.primitives.registry import Primitive
from oneflow.tensor.call import call
from oneflow.tensor.operands import (
    call_without_promotion,
    promote_factor,
    promote_operands,
    require_one_tensor,
    require_tensor,
    same_dtype,
)
from oneflow.tensor.tensor import Tensor

# The primitives of integers that are divided by a tensor; they check for 0 when the program runs.
_CHECKED = {
    p.floor_divide: p.integer_floor_divide,
    p.trunc_divide: p.integer_trunc_divide,
    p.remainder: p.integer_remainder,
    p.fmod: p.integer_fmod,
}
_ROUNDING_MODES = {"floor": p.floor_divide, "trunc": p.trunc_divide}


def divide(x: Any, y: Any) -> Tensor:
    """``x / y``: integers divide as floats."""
    if isinstance(x, Tensor) and x._value.spec.dtype.category >= Category.FLOAT:
        result = call_without_promotion(quotient, x, y)
        if result is not None:
            return result
    return call(quotient, *promote_factor(x, y, floating=True))


def divide_rounding(primitive: Primitive, x: Any, y: Any) -> Tensor:
    """A division with rounding or its remainder, of real numbers.

    Raises:
        RuntimeError: integers are divided by 0.
        NotImplementedError: the operands are bool or complex.
    """
    if not (isinstance(x, Tensor) and same_dtype(x, y)):
        is_quotient = primitive in _ROUNDING_MODES.values()
        x, y = promote_factor(x, y) if is_quotient else promote_operands((x, y))
    dtype = computed_dtype(x if isinstance(x, Tensor) else y)
    if dtype.category is Category.FLOAT:
        return call(primitive, x, y)
    if dtype.category is not Category.INTEGER:
        raise NotImplementedError(f"{primitive.name}() is not implemented for {dtype!r}")
    if isinstance(y, Tensor):
        return call(_CHECKED[primitive], x, y)
    if y == 0 and x.numel():
        raise RuntimeError("ZeroDivisionError: integers divided by 0")
    require_range(y, y, dtype)
    return call(primitive, x, y)


@function(inplace=True, aliases=("divide", "true_divide"), also=("_C.div", "div_"))
def div(input: Tensor, other: Tensor | float, *, rounding_mode: str | None = None) -> Tensor:
    """``input / other``, broadcast; integers divide to floats unless the quotient is rounded.

    Args:
        input: tensor or number.
        other: tensor or number.
        rounding_mode: None, ``"floor"`` (as Python's ``//``) or ``"trunc"`` (towards zero, as C).

    Returns:
        Tensor of the broadcast shape.

    Raises:
        RuntimeError: `rounding_mode` is something else, or integers are divided by 0.

    Example:
        >>> import oneflow as flow
        >>> flow.div(flow.tensor([-7, 7]), 2, rounding_mode="trunc")
        tensor([-3,  3], dtype=oneflow.int64)
    """
    if rounding_mode is None:
        return divide(input, other)
    if rounding_mode not in _ROUNDING_MODES:
        raise RuntimeError(
            "div expected rounding_mode to be one of None, 'trunc', or 'floor' "
            f"but found {rounding_mode!r}"
        )
    return divide_rounding(_ROUNDING_MODES[rounding_mode], input, other)


@function(inplace=True)
def floor_divide(input: Tensor, other: Tensor | float) -> Tensor:
    """``input // other``: the quotient rounded down, broadcast.

    Returns:
        Tensor of the broadcast shape and the promoted dtype.

    Raises:
        RuntimeError: integers are divided by 0.

    Example:
        >>> import oneflow as flow
        >>> flow.floor_divide(flow.tensor([-7, 7]), 2)
        tensor([-4,  3], dtype=oneflow.int64)
    """
    return divide_rounding(p.floor_divide, input, other)


@function(inplace=True)
def remainder(input: Tensor, other: Tensor | float) -> Tensor:
    """``input % other``: the remainder of floor division, with the sign of `other`.

    Returns:
        Tensor of the broadcast shape and the promoted dtype.

    Raises:
        RuntimeError: integers are divided by 0.

    Example:
        >>> import oneflow as flow
        >>> flow.remainder(flow.tensor([-7.0, 7.0]), 3)
        tensor([2., 1.], dtype=oneflow.float32)
    """
    require_one_tensor("remainder", input, other)
    return divide_rounding(p.remainder, input, other)


@function(inplace=True)
def fmod(input: Tensor, other: Tensor | float) -> Tensor:
    """The remainder of `input` after division rounded towards 0, with the sign of `input`.

    Returns:
        Tensor of the broadcast shape and the promoted dtype.

    Raises:
        RuntimeError: integers are divided by 0.

    Example:
        >>> import oneflow as flow
        >>> flow.fmod(flow.tensor([-7.0, 7.0]), 3)
        tensor([-1.,  1.], dtype=oneflow.float32)
    """
    require_tensor(input, "fmod")
    return divide_rounding(p.fmod, input, other)
