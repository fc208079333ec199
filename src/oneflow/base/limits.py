"""Limits of numeric types: `finfo` for floating point numbers, `iinfo` for whole ones."""

from __future__ import annotations

import functools
from typing import Any

import jax.numpy as jnp
import numpy as np

from oneflow.base.dtype import Category, DType, get_default_dtype, real_dtype


class _Limits:
    """Limits of one dtype; those of equal dtypes are equal."""

    __slots__ = ("dtype",)
    dtype: str

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and other.dtype == self.dtype

    def __hash__(self) -> int:
        return hash(self.dtype)


class finfo(_Limits):
    """Limits of a floating point or complex dtype.

    Args:
        dtype: default the default float type.

    Attributes:
        bits: bits per number.
        eps: distance from 1 to the next number.
        max: largest number.
        min: smallest number, ``-max``.
        tiny: smallest positive normal number.
        smallest_normal: the same.
        resolution: approximate decimal resolution.
        dtype: name of the (real) type.

    Raises:
        TypeError: it is not a floating point dtype.

    Example:
        >>> import oneflow as flow
        >>> flow.finfo(flow.float32).eps
        1.1920928955078125e-07
    """

    __slots__ = (
        "bits",
        "eps",
        "max",
        "min",
        "resolution",
        "smallest_normal",
        "tiny",
    )

    def __init__(self, dtype: DType | None = None) -> None:
        float_dtype = real_dtype(get_default_dtype() if dtype is None else dtype)
        if not float_dtype.is_floating_point:
            raise TypeError(
                f"finfo() requires a floating point input type, got {dtype!r}; use iinfo for "
                "integers"
            )
        limits: Any = jnp.finfo(float_dtype.numpy)
        self.dtype, self.bits = float_dtype.name, int(limits.bits)
        self.eps, self.resolution = float(limits.eps), 10.0**-limits.precision
        self.min, self.max = float(limits.min), float(limits.max)
        self.tiny = self.smallest_normal = float(limits.tiny)

    def __repr__(self) -> str:
        return (
            f"finfo(resolution={self.resolution:g}, min={self.min:g}, max={self.max:g}, "
            f"eps={self.eps:g}, smallest_normal={self.smallest_normal:g}, tiny={self.tiny:g}, "
            f"dtype={self.dtype})"
        )


class iinfo(_Limits):
    """Limits of an integer dtype.

    Attributes:
        bits: bits per number.
        max: largest number.
        min: smallest number.
        dtype: name of the type.

    Raises:
        TypeError: it is not an integer dtype.

    Example:
        >>> import oneflow as flow
        >>> flow.iinfo(flow.int8).max
        127
    """

    __slots__ = ("bits", "max", "min")

    def __init__(self, dtype: DType) -> None:
        if dtype.is_floating_point or dtype.is_complex or dtype.name == "bool":
            raise TypeError(f"iinfo() requires an integer input type, got {dtype!r}")
        limits = np.iinfo(dtype.numpy.name)
        self.dtype, self.bits = dtype.name, limits.bits
        self.min, self.max = int(limits.min), int(limits.max)

    def __repr__(self) -> str:
        return f"iinfo(min={self.min}, max={self.max}, dtype={self.dtype})"


@functools.cache
def integer_range(dtype: DType) -> tuple[int, int]:
    """The numbers that an integer type takes: of the unsigned, negative ones wrap around."""
    limits = iinfo(dtype)
    return limits.min if dtype.is_signed else -limits.max, limits.max


def out_of_range_error(number: Any, dtype: DType) -> RuntimeError:
    """PyTorch's error for a number that an integer type cannot hold."""
    low, high = integer_range(dtype)
    return RuntimeError(
        f"value cannot be converted to type {dtype.name} without overflow: {number} is not "
        f"within {low} to {high}"
    )


def require_range(smallest: float, largest: float, dtype: DType) -> None:
    """Refuse Python numbers that `dtype` cannot hold, if it is an integer type.

    Args:
        smallest: the smallest of the numbers, or NaN.
        largest: the largest of them.
        dtype: what they become.

    Raises:
        RuntimeError: one is out of the range of `dtype`, or NaN.
    """
    if dtype.category is not Category.INTEGER:
        return
    low, high = integer_range(dtype)
    if not low <= smallest <= largest <= high:
        raise out_of_range_error(largest if largest > high else smallest, dtype)


def largest_integer(dtype: DType) -> int:
    """The largest integer up to which a dtype holds all, and no more than int64 does.

    Example:
        >>> import oneflow as flow
        >>> from oneflow.base.limits import largest_integer
        >>> largest_integer(flow.uint8), largest_integer(flow.float16)
        (255, 2048)
    """
    if dtype.is_floating_point:
        return int(2 / finfo(dtype).eps)
    return 1 if dtype.name == "bool" else min(iinfo(dtype).max, 2**63 - 1)
