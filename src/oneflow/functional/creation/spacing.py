"""Numbers between two ends: at equal distances, or their powers."""

from __future__ import annotations

from typing import Any

from oneflow.base.device import Device
from oneflow.base.dtype import (
    Category,
    DType,
    complex128,
    float64,
    get_default_dtype,
    real_dtype,
)
from oneflow.base.limits import require_range
from oneflow.base.placement import Placement
from oneflow.base.sbp import SbpLike
from oneflow.functional.creation.factory_functions import number_dtype, plain_number
from oneflow.functional.creation.options import checked_dtype, choose_device, with_grad
from oneflow.functional.registry import function
from oneflow.primitives.operators import creation as p
from oneflow.primitives.operators.complex import complex_ as complex_of
from oneflow.tensor.call import wrap
from oneflow.tensor.operands import as_float
from oneflow.tensor.tensor import Tensor
from oneflow.tensor.views import unwrap


def _ends(name: str, dtype: DType | None, start: Any, end: Any) -> tuple[DType, Any, Any]:
    """The dtype of numbers between two ends, and these: whole as it is, complex if one of them is.

    Raises:
        RuntimeError: ends do not fit into the given dtype: complex ones, or those out of its range.
    """
    start, end = plain_number(start), plain_number(end)
    if isinstance(start, complex) or isinstance(end, complex):
        dtype = checked_dtype(dtype, number_dtype(1j))
        if not dtype.is_complex:
            raise RuntimeError(f"{name}(): complex numbers do not fit into {dtype!r}")
        return dtype, complex(start), complex(end)
    dtype = checked_dtype(dtype, get_default_dtype())
    start, end = as_float(start, "start"), as_float(end, "end")
    if dtype.category is Category.INTEGER:
        for number in (start, end):
            require_range(number, number, dtype)
        start, end = float(int(start)), float(int(end))
    return dtype, start, end


@function(method=False, fills_out=True)
def linspace(
    start: Any,
    end: Any,
    steps: int,
    dtype: DType | None = None,
    device: Device | str | None = None,
    placement: Placement | None = None,
    sbp: SbpLike | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """`steps` numbers from `start` to `end`, both included, at equal distances.

    A whole `dtype` cuts off the fractions of `start` and `end`, then those of the numbers.

    Raises:
        RuntimeError: `steps` is negative, or `dtype` is not complex and `start` or `end` is.

    Example:
        >>> import oneflow as flow
        >>> flow.linspace(0, 1, 5)
        tensor([0.0000, 0.2500, 0.5000, 0.7500, 1.0000], dtype=oneflow.float32)
    """
    dtype, start, end = _ends("linspace", dtype, start, end)
    steps = plain_number(steps)
    if isinstance(start, complex):
        parts = (
            linspace(a, b, steps, real_dtype(dtype), device, placement, sbp)
            for a, b in ((start.real, end.real), (start.imag, end.imag))
        )
        return with_grad(wrap(complex_of(*map(unwrap, parts))), requires_grad)
    if not isinstance(steps, int):
        raise TypeError(f"linspace(): argument 'steps' must be int, not {type(steps).__name__}")
    if steps < 0:
        raise RuntimeError(f"number of steps must be non-negative, got {steps}")
    value = p.linspace(
        start,
        end,
        steps=steps,
        dtype=dtype,
        device=choose_device(device, placement, sbp),
    )
    return with_grad(wrap(value), requires_grad)


@function(method=False, fills_out=True)
def logspace(
    start: Any,
    end: Any,
    steps: int,
    base: float = 10.0,
    dtype: DType | None = None,
    device: Device | str | None = None,
    placement: Placement | None = None,
    sbp: SbpLike | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """``base ** linspace(start, end, steps)``.

    Raises:
        RuntimeError: `steps` is negative, or `dtype` is not complex and `start` or `end` is.

    Example:
        >>> import oneflow as flow
        >>> flow.logspace(0, 2, 3)
        tensor([  1.,  10., 100.], dtype=oneflow.float32)
    """
    dtype, start, end = _ends("logspace", dtype, start, end)
    kind = complex128 if isinstance(start, complex) else float64
    log_values = linspace(start, end, steps, kind, device, placement, sbp)
    powers = p.powers_of(unwrap(log_values), as_float(base, "base"), dtype=dtype)
    return with_grad(wrap(powers), requires_grad)
