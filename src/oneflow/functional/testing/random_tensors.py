"""Tensors of random numbers for tests."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import Any

from oneflow.base.device import Device
from oneflow.base.dtype import Category, DType, bool_, float64, int64
from oneflow.base.limits import finfo, iinfo
from oneflow.base.location import frames_to_user
from oneflow.functional.creation.factory_functions import full_like
from oneflow.functional.creation.options import sizes_of
from oneflow.functional.elementwise.binary import nextafter
from oneflow.functional.elementwise.clamp import where
from oneflow.functional.elementwise.complex import complex_
from oneflow.functional.random.creation import rand, randint
from oneflow.tensor.tensor import Tensor


def make_tensor(
    *shape: int | Sequence[int],
    dtype: DType,
    device: Device | str = "cpu",
    low: float | None = None,
    high: float | None = None,
    requires_grad: bool = False,
    noncontiguous: bool = False,
    exclude_zero: bool = False,
    memory_format: Any = None,
) -> Tensor:
    """Return a tensor of uniform random numbers in ``[low, high)``.

    Args:
        shape: sizes, as separate numbers or one sequence.
        dtype: the dtype of any kind.
        device: where the tensor is.
        low: by default -9; 0 for bool and unsigned integers. A bound that the dtype cannot hold is
            moved to the nearest one that it can.
        high: by default 9 for floats and complex numbers, 10 for integers, 2 for bool.
        requires_grad: ask for the gradient of the tensor.
        noncontiguous: make every second element of one that is twice as large, unless it has less
            than two elements.
        exclude_zero: put 1 in the place of zeros, for floats the smallest normal number.
        memory_format: accepted; it changes nothing.

    Raises:
        ValueError: `low` is not less than `high` (floats may be equal), one of them is NaN, or the
            dtype has none of the numbers between them; an integer that should require a gradient;
            both `noncontiguous` and `memory_format`.

    Example:
        >>> import oneflow as flow
        >>> x = flow.testing.make_tensor(2, 3, dtype=flow.int32, low=0, high=5)
        >>> x.shape, bool((x >= 0).all() & (x < 5).all())
        (oneflow.Size([2, 3]), True)
    """
    sizes = list(sizes_of(shape))
    is_float = dtype.category >= Category.FLOAT
    if noncontiguous and memory_format is not None:
        raise ValueError(
            "The parameters `noncontiguous` and `memory_format` are mutually exclusive, but got "
            f"noncontiguous={noncontiguous} and memory_format={memory_format}"
        )
    if requires_grad and not is_float:
        raise ValueError(
            "`requires_grad=True` is not supported for boolean and integral dtypes, but got "
            f"dtype={dtype!r}"
        )
    step = 2 if noncontiguous and math.prod(sizes) > 1 else 1
    if sizes:
        sizes[-1] *= step
    limits = _limits(dtype, low, high)
    if is_float:
        result = _below(_uniform(sizes, dtype, device, *limits), *limits)
    else:
        low, high = map(math.ceil, limits)
        result = randint(low, high, tuple(sizes), dtype=int64, device=device).to(dtype)
    if exclude_zero:
        result = where(result == 0, full_like(result, _smallest(dtype)), result)
    return (result[..., ::2] if step > 1 else result).requires_grad_(requires_grad)


def _limits(dtype: DType, low: float | None, high: float | None) -> tuple[float, float]:
    """The interval from which numbers are drawn.

    Raises:
        ValueError: there are no such numbers.
    """
    if dtype is bool_:
        lowest, end, defaults = 0, 2, (0, 2)
    elif dtype.category < Category.FLOAT:
        info = iinfo(dtype)
        # `randint` counts in int64.
        end = min(info.max + 1, iinfo(int64).max)
        lowest, defaults = info.min, (max(-9, info.min), 10)
    else:
        info = finfo(dtype)
        lowest, end, defaults = info.min, info.max, (-9, 9)
    start = defaults[0] if low is None else low
    stop = defaults[1] if high is None else high
    if start != start or stop != stop:
        raise ValueError(f"`low` and `high` cannot be NaN, but got low={start} and high={stop}")
    if start == stop and dtype.category >= Category.FLOAT:
        warnings.warn(
            "Passing `low==high` to `torch.testing.make_tensor` for floating or complex types is "
            "deprecated: `torch.full` makes such a tensor.",
            FutureWarning,
            frames_to_user(),
        )
    elif start >= stop:
        raise ValueError(f"`low` must be less than `high`, but got {start} >= {stop}")
    if stop < lowest or start >= end:
        raise ValueError(
            f"The value interval specified by `low` and `high` is [{start}, {stop}), but {dtype!r} "
            f"only supports [{lowest}, {end})"
        )
    return max(start, lowest), min(stop, end)


def _uniform(
    sizes: Sequence[int], dtype: DType, device: Device | str, low: float, high: float
) -> Tensor:
    """Floats or complex numbers whose parts are in an interval, which may be all that there is."""
    if dtype.is_complex:
        real, imag = (_uniform(sizes, float64, device, low, high) for _ in range(2))
        return complex_(real, imag).to(dtype)
    part = rand(*sizes, dtype=float64, device=device)
    return (low * (1 - part) + high * part).to(dtype)


def _below(result: Tensor, low: float, high: float) -> Tensor:
    """Put the largest number below `high` in the place of what was rounded up to it."""
    if low == high:
        return result
    if result.dtype.is_complex:
        return complex_(_below(result.real, low, high), _below(result.imag, low, high))
    end = full_like(result, high)
    return where(result >= end, nextafter(end, full_like(result, low)), result)


def _smallest(dtype: DType) -> Any:
    """The number that takes the place of 0."""
    if dtype.category < Category.FLOAT:
        return 1
    tiny = finfo(dtype).tiny
    return complex(tiny, tiny) if dtype.is_complex else tiny
