"""Functions that make tensors, where PyTorch means otherwise than OneFlow."""

from __future__ import annotations

import functools
import math
from typing import Any

from oneflow import (
    Tensor,
    arange,
    as_tensor as _as_tensor,
    float64,
    get_default_dtype,
    tensor as _tensor,
)
from oneflow.base.dtype import DType
from oneflow.base.pytorch_warnings import warn_in_place_of_pytorch
from oneflow.functional.registry import put_out


def _with_scalars(data: Any) -> Any:
    """Return nested sequences with their tensors of one element as scalars, if they begin so."""
    if type(data) not in (list, tuple) or not data:
        return data
    if isinstance(data[0], Tensor):
        return [
            item.reshape(()) if isinstance(item, Tensor) and item.numel() == 1 else item
            for item in data
        ]
    return [_with_scalars(item) for item in data] if type(data[0]) in (list, tuple) else data


@functools.wraps(_tensor)
def tensor(data: Any, **options: Any) -> Tensor:
    """`oneflow.tensor`, to which a tensor of one element in a list is a number."""
    return _tensor(_with_scalars(data), **options)


@functools.wraps(_as_tensor)
def as_tensor(data: Any, *args: Any, **options: Any) -> Tensor:
    """`oneflow.as_tensor`, to which a tensor of one element in a list is a number."""
    return _as_tensor(_with_scalars(data), *args, **options)


def range_(
    start: float = 0,
    end: float | None = None,
    step: float = 1,
    *,
    out: Tensor | None = None,
    dtype: DType | None = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """The numbers from `start` to `end`, with `end` itself if it is reached; floats by default.

    Raises:
        RuntimeError: `end` is not reached from `start` by steps of `step`.
    """
    warn_in_place_of_pytorch(
        "torch.range is deprecated and will be removed in a future release because its behavior is "
        "inconsistent with Python's range builtin. Instead, use torch.arange, which produces "
        "values in [start, end)."
    )
    if end is None:
        start, end = 0, start
    if step == 0 or (end - start) * step < 0:
        raise RuntimeError(f"range(): {end} is not reached from {start} by steps of {step}")
    count = math.floor((end - start) / step) + 1
    kind = dtype or (get_default_dtype() if out is None else out.dtype)
    numbers = (arange(count, dtype=float64, device=device) * step + start).to(kind)
    if out is not None:
        return put_out(out, numbers, "range", fills=True, is_creation=True)
    return numbers.requires_grad_(requires_grad)


range_.__name__ = "range"
