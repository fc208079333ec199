"""Checks of the parameters of random numbers."""

from __future__ import annotations

import functools
from collections.abc import Mapping

from oneflow.base.dtype import DType
from oneflow.base.limits import finfo, largest_integer
from oneflow.base.pytorch_warnings import warn_in_place_of_pytorch


def check_deviation(std: float) -> None:
    """Refuse a standard deviation of normal numbers that is negative or NaN.

    Raises:
        RuntimeError: it is.
    """
    if not std >= 0:
        raise RuntimeError(f"normal expects std >= 0.0, but found std {std}")


def check_uniform_ends(dtype: DType, low: float, high: float) -> None:
    """Refuse ends between which no uniform numbers of a dtype can be drawn.

    Raises:
        RuntimeError: `low` is greater than `high`, or the dtype does not hold them or their
            difference.
    """
    if low > high:
        raise RuntimeError(
            f"uniform_ expects to return a [from, to) range, but found from={low} > to={high}"
        )
    check_ends(dtype, {"from": low, "to": high, "to - from": high - low})


@functools.cache
def _range_of(dtype: DType) -> tuple[float, float]:
    """The least and the largest number of a dtype, which are rounded if it holds floats."""
    if dtype.name == "bool":
        return 0, 1
    if dtype.is_floating_point:
        limits = finfo(dtype)
        return limits.min, limits.max
    bits = 8 * dtype.itemsize - dtype.is_signed
    return -(2**bits) if dtype.is_signed else 0, 2**bits - 1


def check_ends(dtype: DType, named_ends: Mapping[str, float]) -> None:
    """Refuse ends of random numbers that a dtype does not hold.

    Raises:
        RuntimeError: it does not hold one of them.
    """
    least, largest = _range_of(dtype)
    for name, end in named_ends.items():
        if not least <= end <= largest:
            raise RuntimeError(
                f"{name} is out of bounds for {dtype!r}, got {end}; it holds numbers from {least} "
                f"to {largest}"
            )


def warn_of_rounding(dtype: DType, named_ends: Mapping[str, float]) -> None:
    """Warn in PyTorch's place of integers that a float dtype rounds."""
    exact = largest_integer(dtype)
    for name, end in named_ends.items():
        if not -exact <= end <= exact:
            warn_in_place_of_pytorch(
                f"{name} is out of bounds [-{exact}, {exact}]. Due to precision limitations "
                f"{dtype!r} can support discrete uniform distribution only within this range. This "
                "warning will become an error in version 1.7 release, please fix the code in "
                "advance"
            )
