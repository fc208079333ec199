"""Kinds, limits and conversions of dtypes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from oneflow.base import limits
from oneflow.base.dtype import DType, dtype_named, real_dtype
from oneflow.functional.shape.stack import broadcast_tensors
from oneflow.tensor import promotion
from oneflow.tensor.tensor import Tensor


class FloatLimits(NamedTuple):
    """Limits of a floating point dtype, or of the parts of a complex one."""

    bits: int
    eps: float
    max: float
    min: float
    smallest_normal: float
    dtype: DType


class IntegerLimits(NamedTuple):
    """Limits of an integer dtype."""

    bits: int
    max: int
    min: int
    dtype: DType


def astype(x: Tensor, dtype: DType, /, *, copy: bool = True, device: Any = None) -> Tensor:
    """Return `x` as `dtype`, in memory of its own if `copy`.

    Raises:
        TypeError: a complex array as a real one; take its `real` or `imag`.

    Example:
        >>> import oneflow as flow
        >>> flow.array_api.astype(flow.tensor([1.5, -1.5]), flow.int32)
        tensor([ 1, -1], dtype=oneflow.int32)
    """
    if x.dtype.is_complex and not dtype.is_complex:
        raise TypeError(f"astype(): {x.dtype!r} has no meaning as {dtype!r}; take `real` or `imag`")
    place = x.device if device is None else device
    return x.to(device=place, dtype=dtype, copy=copy)


def broadcast_arrays(*arrays: Tensor) -> list[Tensor]:
    """Return the arrays, expanded to their common shape.

    Example:
        >>> import oneflow as flow
        >>> [x.shape for x in flow.array_api.broadcast_arrays(flow.ones(2, 1), flow.ones(3))]
        [oneflow.Size([2, 3]), oneflow.Size([2, 3])]
    """
    return list(broadcast_tensors(*arrays)) if arrays else []


def can_cast(from_: DType | Tensor, to: DType, /) -> bool:
    """Return True if promotion leads from one dtype to the other.

    Example:
        >>> import oneflow as flow
        >>> flow.array_api.can_cast(flow.float64, flow.float32)
        False
    """
    dtype = _dtype_of(from_)
    try:
        return promotion.promote_types(dtype, to) is to
    except TypeError:
        # None holds both.
        return False


def finfo(type: DType | Tensor, /) -> FloatLimits:
    """Return the limits of a floating point dtype, or of the parts of a complex one.

    Example:
        >>> import oneflow as flow
        >>> flow.array_api.finfo(flow.complex128).bits
        64
    """
    dtype = real_dtype(_dtype_of(type))
    info = limits.finfo(dtype)
    return FloatLimits(info.bits, info.eps, info.max, info.min, info.smallest_normal, dtype)


def iinfo(type: DType | Tensor, /) -> IntegerLimits:
    """Return the limits of an integer dtype.

    Example:
        >>> import oneflow as flow
        >>> flow.array_api.iinfo(flow.int8).max
        127
    """
    dtype = _dtype_of(type)
    info = limits.iinfo(dtype)
    return IntegerLimits(info.bits, info.max, info.min, dtype)


def isdtype(dtype: DType, kind: DType | str | tuple[DType | str, ...]) -> bool:
    """Return True if `dtype` is of a kind, such as ``"integral"``, or of one of several.

    Raises:
        ValueError: there is no such kind.

    Example:
        >>> import oneflow as flow
        >>> flow.array_api.isdtype(flow.uint8, ("bool", "unsigned integer"))
        True
    """
    if isinstance(kind, tuple):
        return any(isdtype(dtype, one_kind) for one_kind in kind)
    if isinstance(kind, DType):
        return dtype is kind
    if kind not in _KINDS:
        raise ValueError(f"isdtype(): unknown kind {kind!r}; kinds are {', '.join(_KINDS)}")
    return dtype in _KINDS[kind]


def _dtype_of(array_or_dtype: DType | Tensor) -> DType:
    return array_or_dtype.dtype if isinstance(array_or_dtype, Tensor) else array_or_dtype


def _named(names: str) -> tuple[DType, ...]:
    return tuple(map(dtype_named, names.split()))


_BOOL = _named("bool")
_SIGNED = _named("int8 int16 int32 int64")
_UNSIGNED = _named("uint8 uint16 uint32 uint64")
_REAL = _named("float16 bfloat16 float32 float64")
_COMPLEX = _named("complex64 complex128")
_KINDS: dict[str, Sequence[DType]] = {
    "bool": _BOOL,
    "signed integer": _SIGNED,
    "unsigned integer": _UNSIGNED,
    "integral": _SIGNED + _UNSIGNED,
    "real floating": _REAL,
    "complex floating": _COMPLEX,
    "numeric": _SIGNED + _UNSIGNED + _REAL + _COMPLEX,
}
# The dtypes that the standard names, in its order.
STANDARD_DTYPES = _BOOL + _SIGNED + _UNSIGNED + _named("float32 float64") + _COMPLEX
