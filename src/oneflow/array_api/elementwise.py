"""Functions of each element.

Functions of one array are those of `oneflow`. Functions of two promote as the standard says, and
take a number in place of either array.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

from oneflow.array_api.promotion import promoted
from oneflow.functional.elementwise import (
    arithmetic,
    binary,
    clamp,
    comparison,
    division,
    logic,
    rounding,
)
from oneflow.functional.shape import strided_views
from oneflow.tensor.tensor import Tensor


def _of_two(function: Callable) -> Callable[[Tensor | complex, Tensor | complex], Tensor]:
    """Return `function` with the standard's promotion."""

    @functools.wraps(function)
    def standard(x1: Tensor | complex, x2: Tensor | complex, /) -> Tensor:
        return function(*promoted(x1, x2))

    return standard


add = _of_two(arithmetic.add)
atan2 = _of_two(binary.atan2)
bitwise_and = _of_two(logic.bitwise_and)
bitwise_left_shift = _of_two(logic.bitwise_left_shift)
bitwise_or = _of_two(logic.bitwise_or)
bitwise_right_shift = _of_two(logic.bitwise_right_shift)
bitwise_xor = _of_two(logic.bitwise_xor)
copysign = _of_two(binary.copysign)
divide = _of_two(division.div)
equal = _of_two(comparison.eq)
floor_divide = _of_two(division.floor_divide)
greater = _of_two(comparison.gt)
greater_equal = _of_two(comparison.ge)
hypot = _of_two(binary.hypot)
less = _of_two(comparison.lt)
less_equal = _of_two(comparison.le)
logaddexp = _of_two(binary.logaddexp)
logical_and = _of_two(logic.logical_and)
logical_or = _of_two(logic.logical_or)
logical_xor = _of_two(logic.logical_xor)
maximum = _of_two(clamp.maximum)
minimum = _of_two(clamp.minimum)
multiply = _of_two(arithmetic.mul)
nextafter = _of_two(binary.nextafter)
not_equal = _of_two(comparison.ne)
pow = _of_two(arithmetic.pow_)
subtract = _of_two(arithmetic.sub)


def clip(
    x: Tensor, /, min: Tensor | float | None = None, max: Tensor | float | None = None
) -> Tensor:
    """Return `x`, no number of it less than `min` or greater than `max`; its dtype stays.

    Example:
        >>> import oneflow as flow
        >>> flow.array_api.clip(flow.tensor([-2, 0, 9]), 0, 5)
        tensor([0, 0, 5], dtype=oneflow.int64)
    """
    bounds = [bound.to(x.dtype) if isinstance(bound, Tensor) else bound for bound in (min, max)]
    if bounds == [None, None]:
        return x.clone()
    return clamp.clamp(x, *bounds).to(x.dtype)


def remainder(x1: Tensor | float, x2: Tensor | float, /) -> Tensor:
    """Return the remainder of `x1` after division by `x2`, with the sign of `x2`, also if it is 0.

    Example:
        >>> import oneflow as flow
        >>> flow.array_api.remainder(flow.tensor([5, -5]), 3)
        tensor([2, 1], dtype=oneflow.int64)
    """
    numerator, denominator = promoted(x1, x2)
    result = division.remainder(numerator, denominator)
    if not result.is_floating_point():
        return result
    return clamp.where(result == 0, binary.copysign(result, denominator), result)


def round(x: Tensor, /) -> Tensor:
    """Return the nearest integers, halves to even; of complex numbers part by part.

    Example:
        >>> import oneflow as flow
        >>> flow.array_api.round(flow.tensor([0.5, 1.5, -0.7]))
        tensor([ 0.,  2., -1.], dtype=oneflow.float32)
    """
    if not x.dtype.is_complex:
        return rounding.round_(x)
    return strided_views.view_as_complex(rounding.round_(strided_views.view_as_real(x)))


def sign(x: Tensor, /) -> Tensor:
    """Return the signs: -1, 0, 1 or not-a-number, and ``x / abs(x)`` for complex numbers.

    Example:
        >>> import oneflow as flow
        >>> flow.array_api.sign(flow.tensor([-2.0, 0.0, float("nan")]))
        tensor([-1.,  0., nan], dtype=oneflow.float32)
    """
    signs = rounding.sgn(x)
    return clamp.where(logic.isnan(x), x, signs) if x.is_floating_point() else signs
