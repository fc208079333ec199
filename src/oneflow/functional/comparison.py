"""Comparisons, and choosing by them."""

from __future__ import annotations

from typing import Any

from oneflow.base.dtype import Category
from oneflow.functional.arithmetic import binary
from oneflow.functional.registry import function
from oneflow.functional.searching import nonzero
from oneflow.functional.unary import require_tensor
from oneflow.primitives import elementwise as p
from oneflow.tensor.call import call
from oneflow.tensor.methods import attach
from oneflow.tensor.promotion import promoted
from oneflow.tensor.tensor import Tensor


@function(inplace=True, aliases=("equal_to",))
def eq(input: Tensor, other: Tensor | float) -> Tensor:
    """``input == other`` for each element, broadcast.

    Returns:
        Bool tensor.

    Example:
        >>> import oneflow as flow
        >>> flow.eq(flow.tensor([1.0, 2.0]), 2)
        tensor([False,  True], dtype=oneflow.bool)
    """
    return binary(p.eq, input, other)


@function(inplace=True, aliases=("not_equal",))
def ne(input: Tensor, other: Tensor | float) -> Tensor:
    """``input != other`` for each element, broadcast.

    Returns:
        Bool tensor.

    Example:
        >>> import oneflow as flow
        >>> flow.ne(flow.tensor([1.0, 2.0]), 2)
        tensor([ True, False], dtype=oneflow.bool)
    """
    return binary(p.ne, input, other)


@function(inplace=True, aliases=("less",))
def lt(input: Tensor, other: Tensor | float) -> Tensor:
    """``input < other`` for each element, broadcast.

    Returns:
        Bool tensor.

    Example:
        >>> import oneflow as flow
        >>> flow.lt(flow.tensor([1.0, 2.0]), 2)
        tensor([ True, False], dtype=oneflow.bool)
    """
    return binary(p.lt, input, other)


@function(inplace=True, aliases=("less_equal",))
def le(input: Tensor, other: Tensor | float) -> Tensor:
    """``input <= other`` for each element, broadcast.

    Returns:
        Bool tensor.

    Example:
        >>> import oneflow as flow
        >>> flow.le(flow.tensor([1.0, 3.0]), 2)
        tensor([ True, False], dtype=oneflow.bool)
    """
    return binary(p.le, input, other)


@function(inplace=True, aliases=("greater",))
def gt(input: Tensor, other: Tensor | float) -> Tensor:
    """``input > other`` for each element, broadcast.

    Returns:
        Bool tensor.

    Example:
        >>> import oneflow as flow
        >>> flow.gt(flow.tensor([1.0, 3.0]), 2)
        tensor([False,  True], dtype=oneflow.bool)
    """
    return binary(p.gt, input, other)


@function(inplace=True, aliases=("greater_equal",))
def ge(input: Tensor, other: Tensor | float) -> Tensor:
    """``input >= other`` for each element, broadcast.

    Returns:
        Bool tensor.

    Example:
        >>> import oneflow as flow
        >>> flow.ge(flow.tensor([1.0, 3.0]), 2)
        tensor([False,  True], dtype=oneflow.bool)
    """
    return binary(p.ge, input, other)


@function(inplace=True, aliases=("clip",))
def clamp(
    input: Tensor, min: Tensor | float | None = None, max: Tensor | float | None = None
) -> Tensor:
    """Every element limited to ``[min, max]``; NaN stays NaN.

    Args:
        input: tensor.
        min: lower limit, number or tensor that broadcasts; None: no limit.
        max: upper limit, likewise. Where it is below `min`, the result is `max`.

    Returns:
        Tensor of the broadcast shape and the promoted dtype.

    Raises:
        RuntimeError: neither limit is given.

    Example:
        >>> import oneflow as flow
        >>> flow.clamp(flow.tensor([-2.0, 0.5, 3.0]), -1, 1)
        tensor([-1.0000,  0.5000,  1.0000], dtype=oneflow.float32)
    """
    require_tensor(input, "clamp")
    if min is None and max is None:
        raise RuntimeError("clamp: At least one of 'min' or 'max' must not be None")
    if max is None:
        return binary(p.clamp_min, input, min)
    if min is None:
        return binary(p.clamp_max, input, max)
    return call(p.clamp, *promoted((input, min, max)))


@function(method=False)
def where(condition: Tensor, input: Any = None, other: Any = None) -> Any:
    """`input` where `condition` holds, `other` elsewhere, broadcast; given `condition` alone, where it holds.

    Args:
        condition: bool tensor.
        input: tensor or number.
        other: tensor or number.

    Returns:
        Tensor of the broadcast shape and the promoted dtype of `input` and `other`; for `condition` alone
        ``condition.nonzero(as_tuple=True)``.

    Raises:
        RuntimeError: `condition` is not bool.

    Example:
        >>> import oneflow as flow
        >>> x = flow.tensor([-1.0, 2.0])
        >>> flow.where(x > 0, x, 0.0)
        tensor([0., 2.], dtype=oneflow.float32)
    """
    require_tensor(condition, "where")
    if input is None and other is None:
        return nonzero(condition, as_tuple=True)
    dtype = condition._value.spec.dtype
    if dtype.category is not Category.BOOL:
        raise RuntimeError(
            f"where expected condition to be a boolean tensor, but got a tensor with dtype {dtype!r}"
        )
    x, y = promoted((input, other))
    return call(p.where, condition, x, y)


attach("where", lambda self, condition, other: where(condition, self, other))
