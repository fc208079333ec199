"""Type promotion: PyTorch's rules.

Operands fall into three priorities: tensors with dimensions, 0-dim tensors, Python numbers. A lower
priority changes the result's dtype only if its category (bool < integer < float < complex) is
higher.
"""

from __future__ import annotations

import functools
from typing import Any, cast

from oneflow.base import dtype as dt
from oneflow.base.dtype import Category, DType, complex_dtype, get_default_dtype
from oneflow.tensor.tensor import Tensor

_SIGNED = (dt.int8, dt.int16, dt.int32, dt.int64)


@functools.cache
def promote_types(type1: DType, type2: DType) -> DType:
    """The smallest dtype that both convert to.

    Raises:
        TypeError: uint64 with a signed integer: no integer type holds both.

    Example:
        >>> import oneflow as flow
        >>> flow.promote_types(flow.int32, flow.float16)
        oneflow.float16
    """
    _require_dtypes("promote_types", type1, type2)
    low, high = sorted((type1, type2), key=lambda dtype: (dtype.category, dtype.itemsize))
    if low is high or low.category is Category.BOOL:
        return high
    if high.is_complex:
        return complex_dtype(dt.float64) if low is dt.float64 else high
    if high.is_floating_point:
        is_mixed_half = low.is_floating_point and low.itemsize == high.itemsize
        return dt.float32 if is_mixed_half else high
    if low.is_signed == high.is_signed or (high.is_signed and high.itemsize > low.itemsize):
        return high
    for signed in _SIGNED:
        if signed.itemsize > high.itemsize:
            return signed
    raise TypeError(
        f"no integer dtype holds both {type1!r} and {type2!r}; convert one of them first"
    )


def _number_dtype(kind: type) -> DType:
    if kind is bool:
        return dt.bool_
    if kind is int:
        return dt.int64
    return complex_dtype(get_default_dtype()) if kind is complex else get_default_dtype()


def _combine(higher: DType | None, lower: DType | None) -> DType | None:
    """The dtype of a priority group after a lower group has had its say."""
    if higher is None or lower is None:
        return higher or lower
    if lower.category <= higher.category:
        return higher
    if lower.is_complex and higher.is_floating_point:
        return complex_dtype(higher)
    return promote_types(higher, lower)


@functools.cache
def _result_of(kinds: tuple, default: DType) -> DType:
    groups: list[DType | None] = [None, None, None]
    for priority, dtype in kinds:
        current = groups[priority]
        groups[priority] = dtype if current is None else promote_types(current, dtype)
    # Some operand is in some group.
    return cast("DType", _combine(groups[0], _combine(groups[1], groups[2])))


def _kind(operand: Any) -> tuple[int, DType]:
    if isinstance(operand, Tensor):
        spec = operand._value.spec
        return (0 if spec.ndim else 1), spec.dtype
    return 2, _number_dtype(type(operand))


def result_type(*operands: Any) -> DType:
    """The dtype that an operation on tensors and Python numbers computes in.

    Example:
        >>> import oneflow as flow
        >>> flow.result_type(flow.ones(2, dtype=flow.int32), 1.5)
        oneflow.float32
    """
    return _result_of(tuple(map(_kind, operands)), get_default_dtype())


def can_cast(from_: DType, to: DType) -> bool:
    """Return True if an in-place operation may put `from_` into `to`: the category must not fall.

    Example:
        >>> import oneflow as flow
        >>> flow.can_cast(flow.float32, flow.int64)
        False
    """
    _require_dtypes("can_cast", from_, to)
    return from_.category <= to.category


def _require_dtypes(name: str, *arguments: Any) -> None:
    for position, argument in enumerate(arguments, 1):
        if not isinstance(argument, DType):
            raise TypeError(
                f"{name}(): argument {position} must be a dtype, not {type(argument).__name__}"
            )
