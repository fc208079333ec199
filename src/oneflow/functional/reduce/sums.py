"""Reductions: many elements to one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from oneflow.base import dtype as dt
from oneflow.base.dtype import Category, DType, get_default_dtype
from oneflow.base.shape import wrap_dims
from oneflow.functional.registry import function
from oneflow.primitives.operators import reduce as p
from oneflow.primitives.registry import Primitive
from oneflow.tensor.call import call
from oneflow.tensor.operands import cast_to, require_tensor
from oneflow.tensor.tensor import Tensor

Dims = int | Sequence[int] | None
_EVERY = [tuple(range(ndim)) for ndim in range(9)]


def reduced_dims(x: Tensor, dim: Dims) -> tuple[int, ...]:
    """The dimensions to reduce, counted from the front and sorted; None and ``()`` mean all."""
    ndim = x._value.spec.ndim
    if dim is None:
        return _EVERY[ndim] if ndim < len(_EVERY) else tuple(range(ndim))
    if type(dim) is int and 0 <= dim < ndim:
        return (dim,)
    dims = wrap_dims(dim, ndim)
    return tuple(sorted(dims)) if dims else tuple(range(ndim))


def sum_dtype(dtype: DType) -> DType:
    """The dtype of a sum: integers and bools add up in int64."""
    return dtype if dtype.category >= Category.FLOAT else dt.int64


def reduced(primitive: Primitive, x: Tensor, dim: Dims, keepdim: bool, dtype: DType) -> Tensor:
    """Convert to `dtype`, then reduce over `dim`."""
    if dtype is dt.bool_ and primitive is p.sum_:
        primitive = p.any_true  # XLA adds no truth values
    if x._value.spec.dtype is not dtype:
        x = cast_to(x, dtype)
    return call(primitive, x, dims=reduced_dims(x, dim), keepdim=bool(keepdim))


@function()
def sum_(
    x: Tensor, dim: Dims = None, keepdim: bool = False, *, dtype: DType | None = None
) -> Tensor:
    """Sum over dimensions.

    Args:
        x: tensor of any dtype; integers and bools add up in int64.
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
    require_tensor(x, "sum")
    return reduced(p.sum_, x, dim, keepdim, dtype or sum_dtype(x._value.spec.dtype))


@function()
def mean(
    x: Tensor, dim: Dims = None, keepdim: bool = False, *, dtype: DType | None = None
) -> Tensor:
    """Mean over dimensions.

    Args:
        x: float or complex tensor.
        dim: dimension or dimensions to average over; None: all.
        keepdim: keep them with size 1.
        dtype: convert to this type first.

    Returns:
        Tensor without the averaged dimensions.

    Raises:
        RuntimeError: integers have no mean of their type; give `dtype`.

    Example:
        >>> import oneflow as flow
        >>> flow.mean(flow.tensor([[1.0, 2.0], [3.0, 4.0]]), 1)
        tensor([1.5000, 3.5000], dtype=oneflow.float32)
    """
    require_tensor(x, "mean")
    result_dtype = dtype or x._value.spec.dtype
    if result_dtype.category < Category.FLOAT:
        raise RuntimeError(
            "mean(): could not infer output dtype. Input dtype must be either a floating point "
            f"or complex dtype. Got: {result_dtype!r}; give one with dtype="
        )
    return reduced(p.mean, x, dim, keepdim, result_dtype)


@function()
def prod(
    x: Tensor, dim: Dims = None, keepdim: bool = False, *, dtype: DType | None = None
) -> Tensor:
    """Product over dimensions.

    Args:
        x: tensor of any dtype; integers and bools multiply in int64.
        dim: dimension or dimensions to multiply over; None: all.
        keepdim: keep them with size 1.
        dtype: convert to this type first.

    Returns:
        Tensor without the dimensions multiplied over.

    Example:
        >>> import oneflow as flow
        >>> flow.prod(flow.tensor([[1.0, 2.0], [3.0, 4.0]]), 0)
        tensor([3., 8.], dtype=oneflow.float32)
    """
    require_tensor(x, "prod")
    return reduced(p.prod, x, dim, keepdim, dtype or sum_dtype(x._value.spec.dtype))


@function()
def nansum(
    input: Tensor, dim: Dims = None, keepdim: bool = False, *, dtype: DType | None = None
) -> Tensor:
    """Sum over dimensions with NaN counted as 0.

    Args:
        input: real tensor; integers and bools add up in int64.
        dim: dimension or dimensions to sum over; None: all.
        keepdim: keep them with size 1.
        dtype: convert to this type first.

    Returns:
        Tensor without the summed dimensions.

    Example:
        >>> import oneflow as flow
        >>> flow.nansum(flow.tensor([1.0, float("nan"), 2.0]))
        tensor(3., dtype=oneflow.float32)
    """
    require_tensor(input, "nansum")
    result_dtype = dtype or sum_dtype(input._value.spec.dtype)
    primitive = p.nansum if result_dtype.category >= Category.FLOAT else p.sum_
    return reduced(primitive, input, dim, keepdim, result_dtype)


@function()
def nanmean(
    input: Tensor, dim: Dims = None, keepdim: bool = False, *, dtype: DType | None = None
) -> Tensor:
    """Mean over dimensions of the elements that are not NaN.

    Args:
        input: float tensor.
        dim: dimension or dimensions to average over; None: all.
        keepdim: keep them with size 1.
        dtype: convert to this type first.

    Returns:
        Tensor without the averaged dimensions.

    Raises:
        RuntimeError: integers have no mean of their type; give `dtype`.

    Example:
        >>> import oneflow as flow
        >>> flow.nanmean(flow.tensor([1.0, float("nan"), 2.0]))
        tensor(1.5000, dtype=oneflow.float32)
    """
    require_tensor(input, "nanmean")
    result_dtype = dtype or input._value.spec.dtype
    if result_dtype.category < Category.FLOAT:
        raise RuntimeError(
            "nanmean(): expected input to have floating point or complex dtype but got "
            f"{result_dtype!r}"
        )
    return reduced(p.nanmean, input, dim, keepdim, result_dtype)


@function()
def count_nonzero(input: Tensor, dim: Dims = None, *more: int) -> Tensor:
    """Number of elements that are not 0.

    Args:
        input: tensor.
        dim: dimension or dimensions to count over; None: all.
        more: further dimensions.

    Returns:
        int64 tensor without the dimensions counted over.

    Example:
        >>> import oneflow as flow
        >>> flow.count_nonzero(flow.tensor([[0, 2], [3, 4]]), 0)
        tensor([1, 2], dtype=oneflow.int64)
    """
    require_tensor(input, "count_nonzero")
    dims = (cast(int, dim), *more) if more else dim
    return call(p.count_nonzero, input, dims=reduced_dims(input, dims))


@function(also=("special.logsumexp",))
def logsumexp(x: Tensor, dim: Dims, keepdim: bool = False) -> Tensor:
    """``log(sum(exp(x)))`` over dimensions, without overflow.

    Args:
        x: tensor.
        dim: dimension or dimensions to sum over.
        keepdim: keep them with size 1.

    Returns:
        Float tensor without the summed dimensions.

    Example:
        >>> import oneflow as flow
        >>> flow.logsumexp(flow.tensor([100.0, 100.0]), 0)
        tensor(100.6931, dtype=oneflow.float32)
    """
    require_tensor(x, "logsumexp")
    dtype = x._value.spec.dtype
    result_dtype = dtype if dtype.category >= Category.FLOAT else get_default_dtype()
    return reduced(p.logsumexp, x, dim, keepdim, result_dtype)


def _truth(primitive: Primitive, x: Tensor, dim: Dims, keepdim: bool) -> Tensor:
    """A reduction of truth values; uint8 gives uint8, as in PyTorch."""
    require_tensor(x, primitive.name)
    # Only here, as in PyTorch, no dimensions stand for none of them.
    dims = () if isinstance(dim, tuple | list) and not dim else reduced_dims(x, dim)
    result = call(primitive, x, dims=dims, keepdim=bool(keepdim))
    return cast_to(result, dt.uint8) if x._value.spec.dtype is dt.uint8 else result


@function()
def all_(x: Tensor, dim: Dims = None, keepdim: bool = False) -> Tensor:
    """Test if all elements are true; every number but 0 is.

    Args:
        x: tensor.
        dim: dimension or dimensions to reduce; None: all.
        keepdim: keep them with size 1.

    Returns:
        Bool tensor without the reduced dimensions (uint8 for uint8).

    Example:
        >>> import oneflow as flow
        >>> flow.all(flow.tensor([[True, False], [True, True]]), 1)
        tensor([False,  True], dtype=oneflow.bool)
    """
    return _truth(p.all_true, x, dim, keepdim)


@function()
def any_(x: Tensor, dim: Dims = None, keepdim: bool = False) -> Tensor:
    """Test if any element is true; every number but 0 is.

    Args:
        x: tensor.
        dim: dimension or dimensions to reduce; None: all.
        keepdim: keep them with size 1.

    Returns:
        Bool tensor without the reduced dimensions (uint8 for uint8).

    Example:
        >>> import oneflow as flow
        >>> flow.any(flow.tensor([[True, False], [False, False]]), 1)
        tensor([ True, False], dtype=oneflow.bool)
    """
    return _truth(p.any_true, x, dim, keepdim)
