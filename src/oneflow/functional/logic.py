"""Bits and truth values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from oneflow.base.dtype import Category
from oneflow.functional.registry import function
from oneflow.functional.unary import require_tensor
from oneflow.primitives import elementwise as p
from oneflow.primitives.registry import Primitive
from oneflow.tensor.call import call
from oneflow.tensor.promotion import promoted
from oneflow.tensor.tensor import Tensor


def bitwise(primitive: Primitive) -> Callable[[Any, Any], Tensor]:
    """A function of two whole numbers or bools."""

    def compute(x: Any, y: Any) -> Tensor:
        x, y = promoted((x, y))
        _refuse_floats(primitive, x if isinstance(x, Tensor) else y)
        return call(primitive, x, y)

    return compute


def shift(primitive: Primitive) -> Callable[[Any, Any], Tensor]:
    """A bit shift: bools shift as whole numbers."""

    def compute(x: Any, y: Any) -> Tensor:
        x, y = promoted((x, y))
        _refuse_floats(primitive, x if isinstance(x, Tensor) else y)
        return call(primitive, x, y)

    return compute


def _refuse_floats(primitive: Primitive, x: Tensor) -> None:
    dtype = x._value.spec.dtype
    if dtype.category > Category.INTEGER:
        raise NotImplementedError(
            f"`{primitive.name}` takes whole numbers and bools, got {dtype!r}"
        )


@function(inplace=True)
def bitwise_not(input: Tensor) -> Tensor:
    """Every bit inverted; of bools, logical not.

    Raises:
        TypeError: `input` holds floats.

    Example:
        >>> import oneflow as flow
        >>> flow.bitwise_not(flow.tensor([0, 5]))
        tensor([-1, -6], dtype=oneflow.int64)
    """
    require_tensor(input, "bitwise_not")
    dtype = input._value.spec.dtype
    if dtype.category > Category.INTEGER:
        raise TypeError(
            f"~ (operator.invert) is only implemented on integer and Boolean-type tensors, got {dtype!r}"
        )
    return call(p.bitwise_not, input)
