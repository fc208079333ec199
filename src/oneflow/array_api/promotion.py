"""Dtypes of results by the standard: arrays count alike, whatever their number of dimensions."""

from __future__ import annotations

import functools
from typing import Any

from oneflow.base.dtype import DType
from oneflow.functional.creation.factory_functions import full, zeros
from oneflow.tensor import promotion
from oneflow.tensor.operands import cast_to
from oneflow.tensor.tensor import Tensor


def result_type(*arrays_and_dtypes: Tensor | DType | complex) -> DType:
    """Return the dtype that an operation on these arrays, dtypes and numbers has.

    Raises:
        ValueError: there is no array or dtype among them.

    Example:
        >>> import oneflow as flow
        >>> xp = flow.array_api
        >>> xp.result_type(xp.ones(2, dtype=xp.float32), xp.asarray(1.0, dtype=xp.float64))
        oneflow.float64
    """
    dtypes = [
        operand.dtype if isinstance(operand, Tensor) else operand
        for operand in arrays_and_dtypes
        if isinstance(operand, Tensor | DType)
    ]
    numbers = [operand for operand in arrays_and_dtypes if not isinstance(operand, Tensor | DType)]
    if not dtypes:
        raise ValueError(f"result_type(): expected an array or a dtype, got {numbers}")
    # A number takes the dtype that it takes beside any array with dimensions.
    dtype = functools.reduce(promotion.promote_types, dtypes)
    return promotion.result_type(zeros(1, dtype=dtype), *numbers) if numbers else dtype


def promoted(*operands: Tensor | complex) -> list[Tensor]:
    """Return arrays and numbers as arrays of their common dtype, on one device.

    Raises:
        TypeError: there is no array among them, or something else.
    """
    arrays = [operand for operand in operands if isinstance(operand, Tensor)]
    if not arrays:
        raise TypeError(f"expected at least one array, got {list(map(type, operands))}")
    dtype = result_type(*operands)
    return [_as_array(operand, dtype, arrays[0]) for operand in operands]


def _as_array(operand: Any, dtype: DType, like: Tensor) -> Tensor:
    if isinstance(operand, Tensor):
        return cast_to(operand, dtype)
    if not isinstance(operand, bool | int | float | complex):
        raise TypeError(f"expected an array or a number, got {type(operand).__name__}")
    return full((), operand, dtype=dtype, device=like.device)
