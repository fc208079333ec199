"""Type promotion: PyTorch's rules.

Operands fall into three priorities: tensors with dimensions, 0-dim tensors, Python numbers. A lower
priority changes the result's dtype only if its category (bool < integer < float < complex) is
higher.
"""

from __future__ import annotations

import functools
from typing import Any, cast

import numpy as np

from oneflow.base import dtype as dt
from oneflow.base.device import CPU, Device
from oneflow.base.dtype import Category, DType, complex_dtype, get_default_dtype
from oneflow.base.placement import Placement
from oneflow.primitives.operators.elementwise import cast as cast_primitive
from oneflow.tensor.call import call
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
    low, high = sorted((type1, type2), key=lambda dtype: (dtype.category, dtype.itemsize))
    if low is high or low.category is Category.BOOL:
        return high
    if high.is_complex:
        return complex_dtype(dt.float64) if low is dt.float64 else high
    if high.is_floating_point:
        mixed_halves = low.is_floating_point and low.itemsize == high.itemsize
        return dt.float32 if mixed_halves else high
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
        known = groups[priority]
        groups[priority] = dtype if known is None else promote_types(known, dtype)
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


def as_operand(value: Any, device: Device | Placement = CPU) -> Any:
    """A tensor or Python number as is; NumPy scalars, complex numbers and arrays converted.

    Args:
        value: an operand as given by a user.
        device: where a tensor is made; on a placement, whole on every device.

    Raises:
        TypeError: it is neither a tensor nor a number.
    """
    if isinstance(value, Tensor) or type(value) in (bool, int, float):
        return value
    if isinstance(value, np.generic):
        return as_operand(value.item(), device)
    if hasattr(value, "dtype") or isinstance(value, complex):
        return Tensor._import(value, None, device)
    for number in (bool, int, float):
        if isinstance(value, number):
            return number(value)
    raise TypeError(f"expected a Tensor or a number, got {type(value).__name__}")


def cast_to(operand: Any, dtype: DType) -> Any:
    """A tensor cast to `dtype` (itself if it has it); Python numbers are left to the primitive."""
    if isinstance(operand, Tensor) and operand._value.spec.dtype is not dtype:
        return call(cast_primitive, operand, dtype=dtype)
    return operand


def on_one_device(operands: tuple) -> tuple:
    """0-dim CPU tensors moved to the device of the others, as PyTorch allows."""
    devices = {o._value.spec.device for o in operands if isinstance(o, Tensor)}
    if len(devices) < 2:
        return operands
    target = next(
        (o._value.spec.device for o in operands if isinstance(o, Tensor) and o._value.spec.ndim),
        None,
    )
    if target is None:
        return operands
    return tuple(
        o.to(target)
        if isinstance(o, Tensor) and not o._value.spec.ndim and o._value.spec.device is not target
        else o
        for o in operands
    )


def promoted(operands: tuple, floating: bool = False) -> tuple:
    """Operands of one elementwise operation, cast to their common dtype.

    Args:
        operands: tensors and numbers; at least one becomes a tensor.
        floating: integers and bools compute in the default float type.
    """
    if _need_nothing(operands, floating):
        return operands
    device = _common_device(operands)
    operands = on_one_device(tuple(as_operand(operand, device) for operand in operands))
    dtype = result_type(*operands)
    if floating and dtype.category < Category.FLOAT:
        dtype = get_default_dtype()
    if not any(isinstance(operand, Tensor) for operand in operands):
        operands = (Tensor._import(operands[0]), *operands[1:])
    return tuple(cast_to(operand, dtype) for operand in operands)


def _common_device(operands: tuple) -> Device | Placement:
    """Where arrays beside tensors are made: on the placement of a global one, else on the CPU."""
    for operand in operands:
        if isinstance(operand, Tensor):
            device = operand._value.spec.device
            return device if isinstance(device, Placement) else CPU
    return CPU


def _need_nothing(operands: tuple, floating: bool) -> bool:
    """Whether operands are of one dtype and device already: the common case, decided quickly."""
    spec, lowest = None, Category.FLOAT if floating else Category.BOOL
    for operand in operands:
        if isinstance(operand, Tensor):
            theirs = operand._value.spec
            if spec is None:
                spec = theirs
            elif theirs.dtype is not spec.dtype or theirs.device is not spec.device:
                return False
        elif type(operand) is float:
            lowest = Category.FLOAT
        elif type(operand) is not int:
            return False
        elif lowest is Category.BOOL:
            lowest = Category.INTEGER
    return spec is not None and spec.dtype.category >= lowest


def same_dtype(x: Tensor, other: Any) -> bool:
    """Whether two operands need no promotion: the common case, decided without allocating."""
    spec = x._value.spec
    if type(other) is float:
        return spec.dtype.category >= Category.FLOAT
    if type(other) is int:
        return spec.dtype.category >= Category.INTEGER
    if isinstance(other, Tensor):
        theirs = other._value.spec
        return theirs.dtype is spec.dtype and theirs.device is spec.device
    return False


def can_cast(from_: DType, to: DType) -> bool:
    """Whether an in-place operation may put `from_` into `to`: the category must not fall.

    Example:
        >>> import oneflow as flow
        >>> flow.can_cast(flow.float32, flow.int64)
        False
    """
    return from_.category <= to.category
