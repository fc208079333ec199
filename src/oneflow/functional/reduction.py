"""Reductions: many elements to one."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Sequence
from typing import Any, NamedTuple

from oneflow.base import dtype as dt
from oneflow.base.dtype import Category, DType
from oneflow.base.shape import wrap_dim, wrap_dims
from oneflow.functional.arithmetic import binary
from oneflow.functional.registry import function
from oneflow.functional.unary import require_tensor
from oneflow.primitives import reduce as p
from oneflow.primitives.elementwise import maximum, minimum
from oneflow.primitives.registry import Primitive
from oneflow.tensor.call import call
from oneflow.tensor.promotion import cast_to
from oneflow.tensor.tensor import Tensor

Dims = int | Sequence[int] | None


def reduced_dims(x: Tensor, dim: Dims) -> tuple[int, ...]:
    """The dimensions to reduce, counted from the front and sorted; None and ``()`` mean all."""
    ndim = x._value.spec.ndim
    if dim is None:
        return tuple(range(ndim))
    dims = wrap_dims(dim, ndim)
    return tuple(sorted(dims)) if dims else tuple(range(ndim))


def sum_dtype(dtype: DType) -> DType:
    """The dtype of a sum: whole numbers and bools add up in int64."""
    return dtype if dtype.category >= Category.FLOAT else dt.int64


@function()
def sum_(
    input: Tensor, dim: Dims = None, keepdim: bool = False, *, dtype: DType | None = None
) -> Tensor:
    """Sum over dimensions.

    Args:
        input: tensor of any dtype; whole numbers and bools add up in int64.
        dim: dimension or dimensions to sum over; None: all.
        keepdim: keep them with size 1.
        dtype: convert to this type first.

    Returns:
        Tensor without the summed dimensions.

    Example:
        >>> import oneflow as flow
        >>> flow.sum(flow.tensor([[1.0, 2.0], [3.0, 4.0]]), 0)
        tensor([4., 6.], dtype=oneflow.float32)
    """
    require_tensor(input, "sum")
    chosen = dtype or sum_dtype(input._value.spec.dtype)
    dims = reduced_dims(input, dim)
    if input._value.spec.dtype is chosen:
        return call(p.sum_, input, dims=dims, keepdim=bool(keepdim))
    return call(p.sum_, cast_to(input, chosen), dims=dims, keepdim=bool(keepdim))


@function()
def mean(
    input: Tensor, dim: Dims = None, keepdim: bool = False, *, dtype: DType | None = None
) -> Tensor:
    """Mean over dimensions.

    Args:
        input: float or complex tensor.
        dim: dimension or dimensions to average over; None: all.
        keepdim: keep them with size 1.
        dtype: convert to this type first.

    Returns:
        Tensor without the averaged dimensions.

    Raises:
        RuntimeError: whole numbers have no mean of their type; give `dtype`.

    Example:
        >>> import oneflow as flow
        >>> flow.mean(flow.tensor([[1.0, 2.0], [3.0, 4.0]]), 1)
        tensor([1.5000, 3.5000], dtype=oneflow.float32)
    """
    require_tensor(input, "mean")
    chosen = dtype or input._value.spec.dtype
    if chosen.category < Category.FLOAT:
        raise RuntimeError(
            "mean(): could not infer output dtype. Input dtype must be either a floating point or complex "
            f"dtype. Got: {chosen!r}; give one with dtype="
        )
    return call(
        p.mean, cast_to(input, chosen), dims=reduced_dims(input, dim), keepdim=bool(keepdim)
    )


class _Extreme(NamedTuple):
    """What `max` and `min` are made of."""

    name: str
    of_all: Primitive
    along: Primitive
    of_two: Primitive
    result: type


_MAX = _Extreme("max", p.amax, p.max_along, maximum, namedtuple("max", ("values", "indices")))
_MIN = _Extreme("min", p.amin, p.min_along, minimum, namedtuple("min", ("values", "indices")))


def require_elements(name: str, x: Tensor, dim: int | None = None) -> None:
    """Refuse to look for an element where there is none.

    Raises:
        RuntimeError: the whole tensor is empty.
        IndexError: dimension `dim` is.
    """
    shape = x._value.spec.shape
    if dim is None and 0 in shape:
        raise RuntimeError(
            f"{name}(): Expected reduction dim to be specified for input.numel() == 0. "
            "Specify the reduction dim with the 'dim' argument."
        )
    if dim is not None and shape and not shape[dim]:
        raise IndexError(f"{name}(): Expected reduction dim {dim} to have non-zero size.")


def _extreme(x: Tensor, dim: Any, keepdim: bool, other: Any, kind: _Extreme) -> Any:
    """The three meanings of `max` and `min`: of all elements, along a dimension, of two tensors."""
    require_tensor(x, kind.name)
    if other is not None or isinstance(dim, Tensor):
        return binary(kind.of_two, x, dim if other is None else other)
    ndim = x._value.spec.ndim
    if dim is None:
        require_elements(kind.name, x)
        return call(kind.of_all, x, dims=tuple(range(ndim)))
    dim = wrap_dim(dim, ndim)
    require_elements(kind.name, x, dim)
    return kind.result(*call(kind.along, x, dim=dim, keepdim=bool(keepdim)))


@function()
def max_(
    input: Tensor, dim: int | Tensor | None = None, keepdim: bool = False, *, other: Any = None
) -> Any:
    """The largest element of all, of each slice along a dimension, or of two tensors.

    Args:
        input: tensor; a NaN counts as the largest.
        dim: dimension to reduce; None: all. A tensor here means `other`.
        keepdim: keep the dimension with size 1.
        other: compare element by element with this tensor, as `maximum` does.

    Returns:
        Tensor; with `dim` a pair ``(values, indices)``, the indices int64.

    Raises:
        RuntimeError: there are no elements.

    Example:
        >>> import oneflow as flow
        >>> flow.max(flow.tensor([[1.0, 5.0], [3.0, 4.0]]), 1).indices
        tensor([1, 1], dtype=oneflow.int64)
    """
    return _extreme(input, dim, keepdim, other, _MAX)


@function()
def min_(
    input: Tensor, dim: int | Tensor | None = None, keepdim: bool = False, *, other: Any = None
) -> Any:
    """The smallest element of all, of each slice along a dimension, or of two tensors.

    Args:
        input: tensor; a NaN counts as the smallest.
        dim: dimension to reduce; None: all. A tensor here means `other`.
        keepdim: keep the dimension with size 1.
        other: compare element by element with this tensor, as `minimum` does.

    Returns:
        Tensor; with `dim` a pair ``(values, indices)``, the indices int64.

    Raises:
        RuntimeError: there are no elements.

    Example:
        >>> import oneflow as flow
        >>> flow.min(flow.tensor([[1.0, 5.0], [3.0, 4.0]]), 1).values
        tensor([1., 3.], dtype=oneflow.float32)
    """
    return _extreme(input, dim, keepdim, other, _MIN)
