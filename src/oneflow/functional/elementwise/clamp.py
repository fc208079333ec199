"""Choosing between elements: by size, by limits, by a condition."""

from __future__ import annotations

from typing import Any, cast, overload

from oneflow.base import dtype as dt
from oneflow.base.dtype import Category
from oneflow.base.keyword_aliases import keyword_aliases
from oneflow.functional.elementwise.arithmetic import binary, ordering, require_order
from oneflow.functional.index.search import nonzero
from oneflow.functional.registry import function
from oneflow.primitives.operators import elementwise as p
from oneflow.tensor.call import call
from oneflow.tensor.methods import attach_method
from oneflow.tensor.operands import (
    as_element_of,
    as_mask,
    as_operand,
    promote_operands,
    require_tensor,
    require_tensors,
)
from oneflow.tensor.tensor import Tensor
from oneflow.tensor.transfer import import_array


@function()
def maximum(input: Tensor, other: Tensor) -> Tensor:
    """The larger of two elements, broadcast; NaN where either is NaN.

    Returns:
        Tensor of the broadcast shape and the promoted dtype.

    Example:
        >>> import oneflow as flow
        >>> flow.maximum(flow.tensor([1.0, 5.0]), flow.tensor([3.0, 4.0]))
        tensor([3., 5.], dtype=oneflow.float32)
    """
    require_tensors("maximum", input, other)
    return ordering(p.maximum, input, other)


@function()
def minimum(input: Tensor, other: Tensor) -> Tensor:
    """The smaller of two elements, broadcast; NaN where either is NaN.

    Returns:
        Tensor of the broadcast shape and the promoted dtype.

    Example:
        >>> import oneflow as flow
        >>> flow.minimum(flow.tensor([1.0, 5.0]), flow.tensor([3.0, 4.0]))
        tensor([1., 4.], dtype=oneflow.float32)
    """
    require_tensors("minimum", input, other)
    return ordering(p.minimum, input, other)


@function()
def fmax(input: Tensor, other: Tensor) -> Tensor:
    """The larger of two elements, broadcast; a number is preferred to NaN.

    Returns:
        Tensor of the broadcast shape and the promoted dtype.

    Example:
        >>> import oneflow as flow
        >>> flow.fmax(flow.tensor([1.0, float("nan")]), flow.tensor([3.0, 4.0]))
        tensor([3., 4.], dtype=oneflow.float32)
    """
    require_tensors("fmax", input, other)
    return ordering(p.fmax, input, other)


@function()
def fmin(input: Tensor, other: Tensor) -> Tensor:
    """The smaller of two elements, broadcast; a number is preferred to NaN.

    Returns:
        Tensor of the broadcast shape and the promoted dtype.

    Example:
        >>> import oneflow as flow
        >>> flow.fmin(flow.tensor([1.0, float("nan")]), flow.tensor([3.0, 4.0]))
        tensor([1., 4.], dtype=oneflow.float32)
    """
    require_tensors("fmin", input, other)
    return ordering(p.fmin, input, other)


@function(inplace=True, aliases=("clip",), also=("clamp_", "clip_"))
def clamp(
    input: Tensor, min: Tensor | float | None = None, max: Tensor | float | None = None
) -> Tensor:
    """Every element limited to ``[min, max]``; NaN stays NaN.

    Args:
        input: tensor.
        min: lower limit, number or tensor that broadcasts; None: no limit.
        max: upper limit, likewise. The result is `max` where it is below `min`.

    Returns:
        Tensor of the broadcast shape and the promoted dtype.

    Raises:
        RuntimeError: neither limit is given, or a number is out of the range of integers.

    Example:
        >>> import oneflow as flow
        >>> flow.clamp(flow.tensor([-2.0, 0.5, 3.0]), -1, 1)
        tensor([-1.0000,  0.5000,  1.0000], dtype=oneflow.float32)
    """
    require_tensor(input, "clamp")
    if min is None and max is None:
        raise RuntimeError("clamp: At least one of 'min' or 'max' must not be None")
    if min is None or max is None:
        primitive, limit = (p.clamp_max, max) if min is None else (p.clamp_min, min)
        require_order("clamp", input, limit)
        input, limit = promote_operands((input, limit))
        return binary(primitive, input, as_element_of(input, limit))
    require_order("clamp", input, min, max)
    input, low, high = promote_operands((input, min, max))
    if input._value.spec.dtype.category < Category.FLOAT:
        low, high = as_element_of(input, low), as_element_of(input, high)
    return call(p.clamp, input, low, high)


@function(inplace=True, also=("clamp_min_",))
def clamp_min(input: Tensor, min: Tensor | float) -> Tensor:
    """Every element at least `min`.

    Example:
        >>> import oneflow as flow
        >>> flow.clamp_min(flow.tensor([-2.0, 3.0]), 0)
        tensor([0., 3.], dtype=oneflow.float32)
    """
    return clamp(input, min)


@function(inplace=True, also=("clamp_max_",))
def clamp_max(input: Tensor, max: Tensor | float) -> Tensor:
    """Every element at most `max`.

    Example:
        >>> import oneflow as flow
        >>> flow.clamp_max(flow.tensor([-2.0, 3.0]), 0)
        tensor([-2.,  0.], dtype=oneflow.float32)
    """
    return clamp(input, None, max)


@overload
def where(condition: Tensor) -> tuple[Tensor, ...]: ...
@overload
def where(condition: Tensor, x: Any, y: Any) -> Tensor: ...
@function(method=False)
def where(condition: Tensor, x: Any = None, y: Any = None) -> Any:
    """`x` where `condition` holds, `y` elsewhere, broadcast.

    Args:
        condition: bool tensor, or one of integers, of which all but 0 are true.
        x: tensor or number.
        y: tensor or number.

    Returns:
        Tensor of the broadcast shape and the promoted dtype of `x` and `y`. With the
        condition alone: the indices where it holds, one tensor per dimension.

    Raises:
        RuntimeError: `condition` is neither bool nor integer, or a number is out of the range of
            integers.

    Example:
        >>> import oneflow as flow
        >>> x = flow.tensor([-1.0, 2.0])
        >>> flow.where(x > 0, x, 0.0)
        tensor([0., 2.], dtype=oneflow.float32)
    """
    require_tensor(condition, "where")
    if x is None and y is None:
        return nonzero(condition, as_tuple=True)
    condition = as_mask(
        condition, "where expected condition to be a boolean tensor, but got one with dtype"
    )
    if not isinstance(x, Tensor) and not isinstance(y, Tensor):
        x = import_array(as_operand(x), None, condition.device)
    x, y = promote_operands((x, y))
    tensor = x if isinstance(x, Tensor) else y
    return call(p.where, condition, as_element_of(tensor, x), as_element_of(tensor, y))


@overload
def _where_method(self: Tensor) -> tuple[Tensor, ...]: ...
@overload
def _where_method(self: Tensor, x: Any, y: Any) -> Tensor: ...
@keyword_aliases(condition="x", other="y")
def _where_method(self: Tensor, x: Any = None, y: Any = None) -> Any:
    """`where` with this tensor as the condition, as in OneFlow, or as the first choice.

    The latter, PyTorch's ``self.where(condition, other)``, is meant if `x` is bool, or this tensor
    cannot be a condition.

    Example:
        >>> import oneflow as flow
        >>> flow.tensor([1.0, 2.0]).where(flow.tensor([True, False]), flow.zeros(2))
        tensor([1., 0.], dtype=oneflow.float32)
    """
    masks = (dt.bool_,) if self.dtype is dt.bool_ else (dt.bool_, dt.uint8)
    takes_mask = isinstance(x, Tensor) and x.dtype in masks
    is_mask = self.dtype.category in (dt.Category.BOOL, dt.Category.INTEGER)
    return where(self, x, y) if is_mask and not takes_mask else where(cast(Tensor, x), self, y)


attach_method("where", _where_method)
