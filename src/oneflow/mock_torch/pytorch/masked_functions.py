"""``torch.masked``: reductions and normalizations of the elements that a mask keeps."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import oneflow as flow
from oneflow import Tensor

_Dims = int | Sequence[int] | None


def _filled(input: Tensor, mask: Tensor | None, value: float, dtype: Any = None) -> Tensor:
    converted = input if dtype is None else input.to(dtype)
    if mask is None:
        return converted
    if not converted.dtype.is_floating_point and math.isinf(value):
        value = _limit(converted.dtype, value > 0)
    return converted.where(
        mask, flow.full((), value, dtype=converted.dtype, device=converted.device)
    )


def _limit(dtype: Any, is_largest: bool) -> int:
    """The largest number of a dtype without infinity, or the smallest."""
    if dtype is flow.bool:
        return int(is_largest)
    limits = flow.iinfo(dtype)
    return limits.max if is_largest else limits.min


def dims_of(input: Tensor, dim: _Dims) -> tuple[int, ...]:
    """Return the dimensions over which a reduction goes; all by default."""
    if dim is None or (not isinstance(dim, int) and not len(dim)):
        return tuple(range(input.ndim))
    return (dim,) if isinstance(dim, int) else tuple(dim)


def _counts(input: Tensor, dim: tuple[int, ...], mask: Tensor | None) -> Tensor:
    is_kept = flow.ones_like(input, dtype=flow.bool) if mask is None else mask.expand_as(input)
    return is_kept.sum(dim, keepdim=True)


def _over(name: str, value: float, function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    def reduction(
        input: Tensor,
        dim: _Dims = None,
        *,
        keepdim: bool | None = False,
        dtype: Any = None,
        mask: Tensor | None = None,
    ) -> Tensor:
        filled = _filled(input, mask, value, dtype)
        return function(filled, dims_of(input, dim), keepdim=bool(keepdim))

    reduction.__name__ = reduction.__qualname__ = name
    reduction.__doc__ = f"""`{name}` of the elements that are kept; {value} where there are none.

    Args:
        input: a tensor.
        dim: the dimensions that vanish; all by default.
        keepdim: whether they stay, with size 1.
        dtype: the elements are converted to it first.
        mask: True where an element is kept; all are by default.
    """
    return reduction


def _product(input: Tensor, dim: tuple[int, ...], keepdim: bool) -> Tensor:
    for axis in sorted((number % input.ndim for number in dim), reverse=True):
        input = input.prod(axis, keepdim=keepdim)
    return input


sum = _over("sum", 0, flow.sum)
prod = _over("prod", 1, _product)
amax = _over("amax", -math.inf, flow.amax)
amin = _over("amin", math.inf, flow.amin)
logsumexp = _over("logsumexp", -math.inf, flow.logsumexp)


def logaddexp(
    input: Tensor,
    other: Tensor,
    *,
    dtype: Any = None,
    input_mask: Tensor | None = None,
    other_mask: Tensor | None = None,
) -> Tensor:
    """The logarithm of the sum of the exponentials of two tensors.

    Args:
        input: a tensor.
        other: another one.
        dtype: of the result; that of `input` by default.
        input_mask: True where an element of `input` is kept; others count as minus infinity.
        other_mask: likewise for `other`.
    """
    first = _filled(input, input_mask, -math.inf)
    second = _filled(other, other_mask, -math.inf)
    return flow.logaddexp(first, second).to(dtype=dtype or input.dtype)


def mean(
    input: Tensor,
    dim: _Dims = None,
    *,
    keepdim: bool | None = False,
    dtype: Any = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The mean of the elements that are kept; NaN where there are none.

    Args:
        input: a tensor.
        dim: the dimensions that vanish; all by default.
        keepdim: whether they stay, with size 1.
        dtype: the elements are converted to it first.
        mask: True where an element is kept; all are by default.

    Example:
        >>> from oneflow import mock_torch
        >>> with mock_torch.enable():
        ...     import torch
        ...     x = torch.tensor([1.0, 2.0, 30.0])
        ...     torch.masked.mean(x, mask=x < 10).item()
        1.5
    """
    dims = dims_of(input, dim)
    total = _filled(input, mask, 0, dtype).sum(dims, keepdim=True)
    result = total / _counts(input, dims, mask)
    return result if keepdim else result.squeeze(dims)


def var(
    input: Tensor,
    dim: _Dims = None,
    unbiased: bool | None = None,
    *,
    correction: float | None = None,
    keepdim: bool | None = False,
    dtype: Any = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The variance of the elements that are kept.

    Args:
        input: a tensor.
        dim: the dimensions that vanish; all by default.
        unbiased: False divides by the number of elements.
        correction: divides by that much less than the number of elements; 1 by default.
        keepdim: whether they stay, with size 1.
        dtype: the elements are converted to it first.
        mask: True where an element is kept; all are by default.
    """
    if correction is None:
        correction = 0 if unbiased is False else 1
    dims = dims_of(input, dim)
    converted = input if dtype is None else input.to(dtype)
    differences = converted - mean(converted, dims, keepdim=True, mask=mask)
    total = _filled(differences.square(), mask, 0).sum(dims, keepdim=True)
    result = total / (_counts(input, dims, mask) - correction).clamp(min=0)
    return result if keepdim else result.squeeze(dims)


def std(
    input: Tensor,
    dim: _Dims = None,
    unbiased: bool | None = None,
    *,
    correction: int | None = None,
    keepdim: bool | None = False,
    dtype: Any = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The root of `var`, with the same arguments."""
    return var(
        input, dim, unbiased, correction=correction, keepdim=keepdim, dtype=dtype, mask=mask
    ).sqrt()


def norm(
    input: Tensor,
    ord: float | None = 2.0,
    dim: _Dims = None,
    *,
    keepdim: bool | None = False,
    dtype: Any = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The norm of the elements that are kept, as of a vector.

    Args:
        input: a tensor.
        ord: which norm.
        dim: the dimensions that vanish; all by default.
        keepdim: whether they stay, with size 1.
        dtype: the elements are converted to it first.
        mask: True where an element is kept; all are by default.
    """
    order = 2.0 if ord is None else ord
    filled = _filled(input, mask, math.inf if order < 0 else 0, dtype)
    return flow.linalg.vector_norm(filled, order, dims_of(input, dim), keepdim=bool(keepdim))


def _extreme(name: str, value: float, function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    def place(
        input: Tensor,
        dim: int | None = None,
        *,
        keepdim: bool = False,
        dtype: Any = None,
        mask: Tensor | None = None,
    ) -> Tensor:
        places = function(_filled(input, mask, value), dim, keepdim=keepdim)
        return places.to(input.dtype if dtype is None else dtype)

    place.__name__ = place.__qualname__ = name
    place.__doc__ = f"""`{name}` among the elements that are kept.

    Args:
        input: a tensor.
        dim: the dimension that vanishes; all by default.
        keepdim: whether it stays, with size 1.
        dtype: that of the places; the tensor's by default.
        mask: True where an element is kept; all are by default.
    """
    return place


argmax = _extreme("argmax", -math.inf, flow.argmax)
argmin = _extreme("argmin", math.inf, flow.argmin)


def median(
    input: Tensor,
    dim: int = -1,
    *,
    keepdim: bool = False,
    dtype: Any = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The median of the elements that are kept, the lower one of two; NaN where there are none.

    Args:
        input: a tensor.
        dim: the dimension that vanishes.
        keepdim: whether it stays, with size 1.
        dtype: the elements are converted to it first.
        mask: True where an element is kept; all are by default.

    Raises:
        ValueError: no element of a row is kept, and the dtype has no NaN.
    """
    if (input.dtype if dtype is None else dtype).is_floating_point:
        return flow.nanmedian(_filled(input, mask, math.nan, dtype), dim, keepdim=keepdim)[0]
    counts = _counts(input, (dim,), mask)
    if not counts.all():
        raise ValueError(
            "masked `median`: `mask` must keep an element of each row unless the dtype is one of "
            f"floating point numbers, got {(counts == 0).sum().item()} rows without any"
        )
    # Elements that are left out come last, or are equal to those that do.
    ordered = flow.sort(_filled(input, mask, math.inf, dtype), dim)[0]
    result = ordered.gather(dim, (counts - 1) // 2)
    return result if keepdim else result.squeeze(dim)


def _along(name: str, value: float, function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    def along(input: Tensor, dim: int, *, dtype: Any = None, mask: Tensor | None = None) -> Tensor:
        return function(_filled(input, mask, value, dtype), dim)

    along.__name__ = along.__qualname__ = name
    along.__doc__ = f"""`{name}` along a dimension, of the elements that are kept.

    Args:
        input: a tensor.
        dim: the dimension.
        dtype: the elements are converted to it first.
        mask: True where an element is kept; all are by default. What stands elsewhere is undefined.
    """
    return along


softmax = _along("softmax", -math.inf, flow.softmax)
log_softmax = _along("log_softmax", -math.inf, flow.log_softmax)
softmin = _along("softmin", math.inf, flow.nn.functional.softmin)
cumsum = _along("cumsum", 0, flow.cumsum)
cumprod = _along("cumprod", 1, flow.cumprod)


def normalize(
    input: Tensor,
    ord: float,
    dim: int,
    *,
    eps: float = 1e-12,
    dtype: Any = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The elements that are kept, divided by their norm, or by `eps` if that is larger.

    Args:
        input: a tensor.
        ord: which norm.
        dim: the dimension over which it goes.
        eps: the least divisor.
        dtype: the elements are converted to it first.
        mask: True where an element is kept; all are by default.
    """
    length = norm(input, ord, dim, keepdim=True, dtype=dtype, mask=mask)
    return _filled(input, mask, 0, dtype) / length.clamp(min=eps)


__all__ = [
    "amax",
    "amin",
    "argmax",
    "argmin",
    "cumprod",
    "cumsum",
    "log_softmax",
    "logsumexp",
    "mean",
    "median",
    "norm",
    "normalize",
    "prod",
    "softmax",
    "softmin",
    "std",
    "sum",
    "var",
]
