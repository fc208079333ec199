"""Sums, extremes and other numbers over axes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from oneflow.array_api.rows import documented
from oneflow.base.dtype import Category, DType, bool_, int64, uint64
from oneflow.functional.reduce import cumulative, minmax, statistics, sums
from oneflow.functional.shape.concat import cat
from oneflow.tensor.tensor import Tensor

Axes = int | tuple[int, ...] | None


def reduction(x: Tensor, axis: Axes, keepdims: bool) -> tuple[Tensor, Axes, bool]:
    """An array and the axes to reduce; ``()`` means none here, and all in PyTorch's functions."""
    return (x[..., None], -1, False) if axis == () else (x, axis, keepdims)


class _Reduction(Protocol):
    def __call__(self, x: Tensor, /, *, axis: Axes = None, keepdims: bool = False) -> Tensor: ...


class _Search(Protocol):
    def __call__(
        self, x: Tensor, /, *, axis: int | None = None, keepdims: bool = False
    ) -> Tensor: ...


def _reduced(
    name: str, function: Callable[..., Tensor], summary: str, truth: bool = False
) -> _Reduction:
    def standard(x: Tensor, /, *, axis: Axes = None, keepdims: bool = False) -> Tensor:
        return function(*reduction(x != 0 if truth else x, axis, keepdims))

    return documented(standard, name, summary, name)


def _search_function(function: Callable[..., Tensor], summary: str) -> _Search:
    def standard(x: Tensor, /, *, axis: int | None = None, keepdims: bool = False) -> Tensor:
        return function(x, axis, keepdims)

    return documented(standard, function.__name__, summary, function.__name__)


all = _reduced("all", sums.all_, "Return True where every element is not 0.", truth=True)
any = _reduced("any", sums.any_, "Return True where an element is not 0.", truth=True)
argmax = _search_function(minmax.argmax, "Return the first place of the greatest element.")
argmin = _search_function(minmax.argmin, "Return the first place of the least element.")
count_nonzero = _reduced(
    "count_nonzero", sums.sum_, "Return how many elements are not 0.", truth=True
)
max = _reduced("max", minmax.amax, "Return the greatest element; not-a-number if there is one.")
min = _reduced("min", minmax.amin, "Return the least element; not-a-number if there is one.")


def mean(x: Tensor, /, *, axis: Axes = None, keepdims: bool = False) -> Tensor:
    """Return the arithmetic mean.

    Example:
        >>> import oneflow as flow
        >>> flow.array_api.mean(flow.tensor([1.0, 2.0]))
        tensor(1.5000, dtype=oneflow.float32)
    """
    return x.clone() if axis == () else sums.mean(x, axis, keepdims)


def prod(
    x: Tensor, /, *, axis: Axes = None, dtype: DType | None = None, keepdims: bool = False
) -> Tensor:
    """Return the product, of small integers in 64 bits.

    Example:
        >>> import oneflow as flow
        >>> flow.array_api.prod(flow.tensor([2, 3], dtype=flow.int8))
        tensor(6, dtype=oneflow.int64)
    """
    sum_dtype = _sum_dtype(x, dtype)
    return (
        x.to(sum_dtype, copy=True) if axis == () else sums.prod(x, axis, keepdims, dtype=sum_dtype)
    )


def std(
    x: Tensor, /, *, axis: Axes = None, correction: float = 0.0, keepdims: bool = False
) -> Tensor:
    """Return the standard deviation over `correction` elements fewer than there are.

    Example:
        >>> import oneflow as flow
        >>> flow.array_api.std(flow.tensor([1.0, 3.0]))
        tensor(1., dtype=oneflow.float32)
    """
    x, axis, keepdims = reduction(x, axis, keepdims)
    return statistics.std(x, axis, keepdim=keepdims, correction=correction)


def var(
    x: Tensor, /, *, axis: Axes = None, correction: float = 0.0, keepdims: bool = False
) -> Tensor:
    """Return the variance over `correction` elements fewer than there are.

    Example:
        >>> import oneflow as flow
        >>> flow.array_api.var(flow.tensor([1.0, 3.0]), correction=1)
        tensor(2., dtype=oneflow.float32)
    """
    x, axis, keepdims = reduction(x, axis, keepdims)
    return statistics.var(x, axis, keepdim=keepdims, correction=correction)


def sum(
    x: Tensor, /, *, axis: Axes = None, dtype: DType | None = None, keepdims: bool = False
) -> Tensor:
    """Return the sum, of small integers in 64 bits.

    Example:
        >>> import oneflow as flow
        >>> flow.array_api.sum(flow.tensor([100, 100], dtype=flow.uint8))
        tensor(200, dtype=oneflow.uint64)
    """
    sum_dtype = _sum_dtype(x, dtype)
    return (
        x.to(sum_dtype, copy=True) if axis == () else sums.sum_(x, axis, keepdims, dtype=sum_dtype)
    )


def cumulative_sum(
    x: Tensor,
    /,
    *,
    axis: int | None = None,
    dtype: DType | None = None,
    include_initial: bool = False,
) -> Tensor:
    """Return the sums of the first elements along `axis`, which only a vector need not name.

    Args:
        x: at least one dimension.
        axis: along it.
        dtype: default that of `x`, of small integers 64 bits.
        include_initial: begin with the 0 of no element.

    Example:
        >>> import oneflow as flow
        >>> flow.array_api.cumulative_sum(flow.tensor([1, 2, 3]), include_initial=True)
        tensor([0, 1, 3, 6], dtype=oneflow.int64)
    """
    return _cumulative(cumulative.cumsum, 0, x, axis, dtype, include_initial)


def cumulative_prod(
    x: Tensor,
    /,
    *,
    axis: int | None = None,
    dtype: DType | None = None,
    include_initial: bool = False,
) -> Tensor:
    """Return the products of the first elements along `axis`, which only a vector need not name.

    Args:
        x: at least one dimension.
        axis: along it.
        dtype: default that of `x`, of small integers 64 bits.
        include_initial: begin with the 1 of no element.

    Example:
        >>> import oneflow as flow
        >>> flow.array_api.cumulative_prod(flow.tensor([1, 2, 3]))
        tensor([1, 2, 6], dtype=oneflow.int64)
    """
    return _cumulative(cumulative.cumprod, 1, x, axis, dtype, include_initial)


def diff(
    x: Tensor,
    /,
    *,
    axis: int = -1,
    n: int = 1,
    prepend: Tensor | None = None,
    append: Tensor | None = None,
) -> Tensor:
    """Return the differences of neighbours along `axis`, `n` times.

    Example:
        >>> import oneflow as flow
        >>> flow.array_api.diff(flow.tensor([1, 4, 9]))
        tensor([3, 5], dtype=oneflow.int64)
    """
    return cumulative.diff(x, n, axis, prepend, append)


def _sum_dtype(x: Tensor, dtype: DType | None) -> DType:
    """The dtype of sums: small integers have 64 bits, and no sign if they had none."""
    if dtype is not None or x.dtype.category > Category.INTEGER:
        return dtype or x.dtype
    return int64 if x.dtype.is_signed or x.dtype is bool_ else uint64


def _cumulative(
    function: Callable[..., Tensor],
    initial: int,
    x: Tensor,
    axis: int | None,
    dtype: DType | None,
    include_initial: bool,
) -> Tensor:
    if axis is None and x.ndim != 1:
        raise ValueError(f"{function.__name__}: name an `axis` of {tuple(x.shape)}")
    at = 0 if axis is None else axis % x.ndim
    result = function(x, at, dtype=_sum_dtype(x, dtype))
    if not include_initial:
        return result
    first = result.new_full((*x.shape[:at], 1, *x.shape[at + 1 :]), initial)
    return cat([first, result], at)
