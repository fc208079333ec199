"""The formulas of windows, computed in float64 from the places of their elements."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from oneflow.base.device import Device
from oneflow.base.dtype import DType, float64, get_default_dtype
from oneflow.base.layout import Layout
from oneflow.base.parameters import parameters_of
from oneflow.base.placement import Placement
from oneflow.base.sbp import SbpLike
from oneflow.base.shape import as_integer
from oneflow.base.suggestions import did_you_mean
from oneflow.functional.creation.factory_functions import arange
from oneflow.functional.creation.options import checked_dtype, with_grad
from oneflow.functional.elementwise.special import i0
from oneflow.functional.elementwise.trigonometry import cos
from oneflow.tensor.operands import cast_to
from oneflow.tensor.tensor import Tensor

# From the places of elements, counted from 0, and the place of the last element, or of the first
# one of the next period, to values.
Formula = Callable[[Tensor, float], Tensor]


def make_window(
    name: str, formula: Formula, length: int, symmetric: bool, **options: Any
) -> Tensor:
    """Make the window of a formula.

    Args:
        name: the function that is called.
        formula: computes the values.
        length: number of elements.
        symmetric: whether the last element equals the first; else the one after it would.
        options: `dtype`, a float type, by default the default one; `device`, `placement` and `sbp`
            for where it lives; `requires_grad`; and, as in PyTorch, `layout`, which must be
            `oneflow.strided`, and `pin_memory`.

    Raises:
        RuntimeError: a negative length, or no float type.
        TypeError: the length is no integer, or an option is unknown.
        NotImplementedError: the layout is one of sparse tensors.
    """
    for option in options:
        if option not in _OPTIONS:
            raise TypeError(
                f"{name}() got an unexpected keyword argument {option!r}"
                f"{did_you_mean(option, _OPTIONS)}"
            )
    return _make_window(name, formula, length, symmetric, **options)


def _make_window(
    name: str,
    formula: Formula,
    length: int,
    symmetric: bool,
    *,
    dtype: DType | None = None,
    device: Device | str | None = None,
    placement: Placement | None = None,
    sbp: SbpLike | None = None,
    requires_grad: bool = False,
    layout: Any = None,
    pin_memory: bool = False,
) -> Tensor:
    if layout not in (None, Layout.strided):
        raise NotImplementedError(f"`{name}` makes tensors of layout strided, got {layout=}")
    dtype = checked_dtype(dtype, get_default_dtype())
    length = as_integer(length, "window_length")
    if length < 0:
        raise RuntimeError(f"{name}: the length of a window must not be negative, got {length}")
    if not dtype.is_floating_point:
        raise RuntimeError(f"{name} expects floating point dtypes, got {dtype!r}")
    places = arange(length, dtype=float64, device=device, placement=placement, sbp=sbp)
    last = length - 1 if symmetric else length
    values = formula(places, last) if length > 1 else places + 1
    return with_grad(cast_to(values, dtype), requires_grad)


_OPTIONS = tuple(parameters_of(_make_window).keyword_only)


def cosine_sum(*weights: float) -> Formula:
    """The formula of a sum of cosines, with these weights of alternating signs.

    Raises:
        TypeError: no weights.
    """
    if not weights:
        raise TypeError("a sum of cosines needs at least one coefficient")

    def values(places: Tensor, last: float) -> Tensor:
        total = places * 0 + weights[0]
        for order, weight in enumerate(weights[1:], start=1):
            total = total + (-1) ** order * weight * cos(places * (2 * math.pi * order / last))
        return total

    return values


def triangle(places: Tensor, last: float) -> Tensor:
    """From 0 up to 1 and down again, in straight lines."""
    return 1 - (places * 2 / last - 1).abs()


def kaiser(beta: float) -> Formula:
    """The formula of Kaiser's window, whose side lobes fall with `beta`."""

    def values(places: Tensor, last: float) -> Tensor:
        offset = places * 2 / last - 1
        root = (1 - offset * offset).clamp(min=0).sqrt()
        return i0(root * beta) / i0((root * 0 + 1) * beta)

    return values


def half_cosine(places: Tensor, last: float) -> Tensor:
    """Half a period of a cosine, between the zeros at its ends."""
    return ((places + 0.5) * (math.pi / (last + 1))).sin()


def gaussian_curve(deviation: float) -> Formula:
    """The formula of a normal distribution's density, 1 in the middle."""
    return lambda places, last: (-(((places - last / 2) / deviation) ** 2) / 2).exp()


def decay(center: float | None, tau: float) -> Formula:
    """The formula of an exponential decay on both sides of `center`, by default the middle."""
    return lambda places, last: (
        -(places - (last / 2 if center is None else center)).abs() / tau
    ).exp()


def positive(name: str, value: float, argument: str) -> float:
    """Return a parameter that must be positive.

    Raises:
        ValueError: it is not.
    """
    if value <= 0:
        raise ValueError(f"{name}: `{argument}` must be positive, got {value}")
    return value


def coefficients(a: Sequence[float]) -> tuple[float, ...]:
    """Return the coefficients of `general_cosine`.

    Raises:
        TypeError: they are not a sequence.
        ValueError: there are none.
    """
    if not isinstance(a, Sequence):
        raise TypeError("Coefficients must be a list/tuple")
    if not a:
        raise ValueError("Coefficients cannot be empty")
    return tuple(a)
