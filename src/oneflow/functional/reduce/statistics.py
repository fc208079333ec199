"""Variance, median, mode and quantiles."""

from __future__ import annotations

from typing import Any, overload

from oneflow.base.dtype import Category
from oneflow.base.shape import wrap_dim
from oneflow.functional import return_types
from oneflow.functional.reduce.minmax import require_elements
from oneflow.functional.reduce.sums import Dims, mean, reduced_dims
from oneflow.functional.registry import function
from oneflow.primitives.operators import statistics as p
from oneflow.primitives.registry import Primitive
from oneflow.tensor.call import call
from oneflow.tensor.operands import as_float, require_tensor
from oneflow.tensor.tensor import Tensor


def _deviation(
    primitive: Primitive,
    x: Tensor,
    dim: Dims | bool,
    unbiased: bool | None,
    keepdim: bool,
    correction: float | None,
) -> Tensor:
    """Variance or standard deviation; PyTorch also takes `unbiased` in the position of `dim`."""
    require_tensor(x, primitive.name)
    if isinstance(dim, bool):
        dim, unbiased = None, dim
    default = unbiased is None or bool(unbiased)
    if correction is not None and not default:
        raise TypeError(f"{primitive.name}() takes `unbiased` or `correction`, not both")
    dtype = x._value.spec.dtype
    if dtype.category < Category.FLOAT:
        raise RuntimeError(f"std and var only support floating point and complex, got {dtype!r}")
    if correction is None:
        correction = int(default)
    dims = reduced_dims(x, dim)
    return call(primitive, x, dims=dims, correction=correction, keepdim=bool(keepdim))


@function()
def var(
    x: Tensor,
    dim: Dims = None,
    unbiased: bool = True,
    keepdim: bool = False,
    *,
    correction: float | None = None,
) -> Tensor:
    """Variance over dimensions.

    Args:
        x: float or complex tensor.
        dim: dimension or dimensions to reduce; None: all.
        unbiased: divide by the number of elements less 1 (the default) or by their number.
        keepdim: keep the dimensions with size 1.
        correction: divide by the number of elements less this.

    Returns:
        Tensor without the reduced dimensions.

    Raises:
        RuntimeError: `x` holds integers.

    Example:
        >>> import oneflow as flow
        >>> flow.var(flow.tensor([[1.0, 2.0], [3.0, 7.0]]), 1)
        tensor([0.5000, 8.0000], dtype=oneflow.float32)
    """
    return _deviation(p.var, x, dim, unbiased, keepdim, correction)


@function()
def std(
    x: Tensor,
    dim: Dims = None,
    unbiased: bool = True,
    keepdim: bool = False,
    *,
    correction: float | None = None,
) -> Tensor:
    """Standard deviation over dimensions: the root of `var`.

    Args:
        x: float or complex tensor.
        dim: dimension or dimensions to reduce; None: all.
        unbiased: divide by the number of elements less 1 (the default) or by their number.
        keepdim: keep the dimensions with size 1.
        correction: divide by the number of elements less this.

    Returns:
        Tensor without the reduced dimensions.

    Raises:
        RuntimeError: `x` holds integers.

    Example:
        >>> import oneflow as flow
        >>> flow.std(flow.tensor([[1.0, 2.0], [3.0, 7.0]]), 1)
        tensor([0.7071, 2.8284], dtype=oneflow.float32)
    """
    return _deviation(p.std, x, dim, unbiased, keepdim, correction)


@function(method=False)
def var_mean(
    input: Tensor,
    dim: Dims = None,
    unbiased: bool | None = None,
    keepdim: bool = False,
    *,
    correction: float | None = None,
) -> tuple[Tensor, Tensor]:
    """Variance and mean over dimensions; see `var`.

    Example:
        >>> import oneflow as flow
        >>> flow.var_mean(flow.tensor([1.0, 3.0]))
        (tensor(2., dtype=oneflow.float32), tensor(2., dtype=oneflow.float32))
    """
    over = None if isinstance(dim, bool) else dim
    deviation = _deviation(p.var, input, dim, unbiased, keepdim, correction)
    return deviation, mean(input, over, keepdim)


@function(method=False)
def std_mean(
    input: Tensor,
    dim: Dims = None,
    unbiased: bool | None = None,
    keepdim: bool = False,
    *,
    correction: float | None = None,
) -> tuple[Tensor, Tensor]:
    """Standard deviation and mean over dimensions; see `std`.

    Example:
        >>> import oneflow as flow
        >>> flow.std_mean(flow.tensor([1.0, 3.0]), unbiased=False)
        (tensor(1., dtype=oneflow.float32), tensor(2., dtype=oneflow.float32))
    """
    over = None if isinstance(dim, bool) else dim
    deviation = _deviation(p.std, input, dim, unbiased, keepdim, correction)
    return deviation, mean(input, over, keepdim)


def _with_indices(primitive: Primitive, x: Tensor, dim: int, keepdim: bool, result: type) -> Any:
    require_tensor(x, primitive.name)
    dim = wrap_dim(dim, x._value.spec.ndim)
    require_elements(primitive.name, x, dim)
    return result(*call(primitive, x, dim=dim, keepdim=bool(keepdim)))


@overload
def median(input: Tensor, dim: None = None, keepdim: bool = False) -> Tensor: ...
@overload
def median(input: Tensor, dim: int, keepdim: bool = False) -> return_types.median: ...
@function()
def median(input: Tensor, dim: int | None = None, keepdim: bool = False) -> Any:
    """The element in the middle, of two the lower.

    Args:
        input: real tensor; where there is a NaN it is the median.
        dim: dimension to reduce; None: all.
        keepdim: keep it with size 1.

    Returns:
        Tensor; with `dim` a pair ``(values, indices)``.

    Raises:
        IndexError: the dimension is empty.

    Example:
        >>> import oneflow as flow
        >>> flow.median(flow.tensor([4.0, 1.0, 3.0, 2.0]))
        tensor(2., dtype=oneflow.float32)
    """
    require_tensor(input, "median")
    if dim is None:
        return call(p.median_of_all, input)
    return _with_indices(p.median, input, dim, keepdim, return_types.median)


@overload
def nanmedian(input: Tensor, dim: None = None, keepdim: bool = False) -> Tensor: ...
@overload
def nanmedian(input: Tensor, dim: int, keepdim: bool = False) -> return_types.nanmedian: ...
@function()
def nanmedian(input: Tensor, dim: int | None = None, keepdim: bool = False) -> Any:
    """The median of the elements that are not NaN; the lower of two.

    Args:
        input: real tensor.
        dim: dimension to reduce; None: all.
        keepdim: keep it with size 1.

    Returns:
        Tensor; with `dim` a pair ``(values, indices)``.

    Raises:
        IndexError: the dimension is empty.

    Example:
        >>> import oneflow as flow
        >>> flow.nanmedian(flow.tensor([4.0, float("nan"), 3.0]))
        tensor(3., dtype=oneflow.float32)
    """
    require_tensor(input, "nanmedian")
    if dim is None:
        return call(p.nanmedian_of_all, input)
    return _with_indices(p.nanmedian, input, dim, keepdim, return_types.nanmedian)


@function()
def mode(input: Tensor, dim: int = -1, keepdim: bool = False) -> return_types.mode:
    """The value that occurs most often along a dimension, of several the smallest.

    Args:
        input: real tensor.
        dim: dimension to reduce.
        keepdim: keep it with size 1.

    Returns:
        ``(values, indices)``; the index is that of its last occurrence.

    Raises:
        IndexError: the dimension is empty.

    Example:
        >>> import oneflow as flow
        >>> flow.mode(flow.tensor([3, 1, 3, 2])).values
        tensor(3, dtype=oneflow.int64)
    """
    return _with_indices(p.mode, input, dim, keepdim, return_types.mode)


_INTERPOLATION_MODES = ("linear", "lower", "higher", "midpoint", "nearest")


def _quantile(
    x: Tensor, q: Any, dim: int | None, keepdim: bool, interpolation: str, skip_nan: bool
) -> Tensor:
    require_tensor(x, "quantile")
    spec = x._value.spec
    if not spec.dtype.is_floating_point or spec.dtype.itemsize < 4:
        raise RuntimeError(f"quantile() input must be float32 or float64, got {spec.dtype!r}")
    if not spec.numel:
        raise RuntimeError(f"quantile() input tensor must be non-empty, got {list(spec.shape)}")
    if interpolation not in _INTERPOLATION_MODES:
        raise RuntimeError(
            f"quantile() interpolation must be one of {_INTERPOLATION_MODES}, got {interpolation!r}"
        )
    if not isinstance(q, Tensor):
        if not 0 <= q <= 1:
            raise RuntimeError(f"quantile() q must be in the range [0, 1] but got {q}")
        q = as_float(q, "q")
    elif q._value.spec.dtype is not spec.dtype:
        raise RuntimeError("quantile() q tensor must be same dtype as the input tensor")
    elif q._value.spec.ndim > 1:
        raise RuntimeError(f"quantile() q must be a scalar or 1D tensor, got {q.ndim}D")
    over = None if dim is None else wrap_dim(dim, spec.ndim)
    if not spec.ndim:
        over, keepdim = None, False
    options = {"interpolation": interpolation, "skip_nan": skip_nan}
    return call(p.quantile, x, q, dim=over, keepdim=bool(keepdim), **options)


@function()
def quantile(
    x: Tensor,
    q: float | Tensor,
    dim: int | None = None,
    keepdim: bool = False,
    interpolation: str = "linear",
) -> Tensor:
    """The values below which there are the given shares of the elements.

    Args:
        x: float32 or float64 tensor.
        q: share in [0, 1], or a 0-dim or 1-dim tensor of them.
        dim: dimension to reduce; None: all.
        keepdim: keep it with size 1.
        interpolation: between elements: ``"linear"``, ``"lower"``, ``"higher"``, ``"midpoint"``
            or ``"nearest"``.

    Returns:
        Tensor without the reduced dimension; if `q` has a dimension it comes first.

    Raises:
        RuntimeError: `x` is empty, `q` is out of range or of another dtype, or `interpolation` is
            unknown.

    Example:
        >>> import oneflow as flow
        >>> flow.quantile(flow.tensor([0.0, 1.0, 2.0, 3.0]), 0.5)
        tensor(1.5000, dtype=oneflow.float32)
    """
    return _quantile(x, q, dim, keepdim, interpolation, skip_nan=False)


@function()
def nanquantile(
    input: Tensor,
    q: float | Tensor,
    dim: int | None = None,
    keepdim: bool = False,
    *,
    interpolation: str = "linear",
) -> Tensor:
    """`quantile` of the elements that are not NaN.

    Example:
        >>> import oneflow as flow
        >>> flow.nanquantile(flow.tensor([0.0, float("nan"), 2.0]), 0.5)
        tensor(1., dtype=oneflow.float32)
    """
    return _quantile(input, q, dim, keepdim, interpolation, skip_nan=True)
