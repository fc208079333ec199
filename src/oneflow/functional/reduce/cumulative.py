"""Running totals, products and extremes along a dimension."""

from __future__ import annotations

from oneflow.base.dtype import Category, DType, bool_
from oneflow.base.shape import wrap_dim
from oneflow.functional import return_types
from oneflow.functional.reduce.sums import sum_dtype
from oneflow.functional.registry import function
from oneflow.functional.shape.concat import cat
from oneflow.primitives.operators import scan as p
from oneflow.primitives.registry import Primitive
from oneflow.tensor.call import call
from oneflow.tensor.operands import cast_to, require_tensor
from oneflow.tensor.tensor import Tensor


def _scan(primitive: Primitive, x: Tensor, dim: int, dtype: DType | None) -> Tensor:
    require_tensor(x, primitive.name)
    spec = x._value.spec
    result_dtype = dtype or sum_dtype(spec.dtype)
    if result_dtype is bool_:
        raise NotImplementedError(f"{primitive.name}: `dtype` must be of numbers, got {dtype!r}")
    return call(primitive, cast_to(x, result_dtype), dim=wrap_dim(dim, spec.ndim))


@function(inplace=True)
def cumsum(input: Tensor, dim: int, dtype: DType | None = None) -> Tensor:
    """Sum of each element and those before it along `dim`.

    Args:
        input: tensor; integers and bools add up in int64.
        dim: dimension to go along.
        dtype: convert to this type first.

    Returns:
        Tensor of the same shape.

    Raises:
        NotImplementedError: `dtype` is that of truth values.

    Example:
        >>> import oneflow as flow
        >>> flow.cumsum(flow.tensor([1.0, 2.0, 3.0]), 0)
        tensor([1., 3., 6.], dtype=oneflow.float32)
    """
    return _scan(p.cumsum, input, dim, dtype)


@function(inplace=True)
def cumprod(input: Tensor, dim: int, dtype: DType | None = None) -> Tensor:
    """Product of each element and those before it along `dim`.

    Args:
        input: tensor; integers and bools multiply in int64.
        dim: dimension to go along.
        dtype: convert to this type first.

    Returns:
        Tensor of the same shape.

    Raises:
        NotImplementedError: `dtype` is that of truth values.

    Example:
        >>> import oneflow as flow
        >>> flow.cumprod(flow.tensor([1.0, 2.0, 3.0]), 0)
        tensor([1., 2., 6.], dtype=oneflow.float32)
    """
    return _scan(p.cumprod, input, dim, dtype)


@function()
def logcumsumexp(input: Tensor, dim: int) -> Tensor:
    """``log(cumsum(exp(input)))`` along `dim`, without overflow.

    Args:
        input: float tensor.
        dim: dimension to go along.

    Returns:
        Tensor of the same shape.

    Raises:
        NotImplementedError: `input` holds integers.

    Example:
        >>> import oneflow as flow
        >>> flow.logcumsumexp(flow.tensor([0.0, 0.0]), 0)
        tensor([0.0000, 0.6931], dtype=oneflow.float32)
    """
    require_tensor(input, "logcumsumexp")
    dtype = input._value.spec.dtype
    if dtype.category < Category.FLOAT:
        raise NotImplementedError(f"logcumsumexp() is not implemented for {dtype!r}")
    return _scan(p.logcumsumexp, input, dim, None)


@function()
def cummax(input: Tensor, dim: int) -> return_types.cummax:
    """The largest element so far along `dim`, and where it is.

    Args:
        input: tensor; a NaN beats all numbers.
        dim: dimension to go along.

    Returns:
        ``(values, indices)``, both of the same shape; of equal ones the last index.

    Example:
        >>> import oneflow as flow
        >>> flow.cummax(flow.tensor([1.0, 3.0, 2.0]), 0).values
        tensor([1., 3., 3.], dtype=oneflow.float32)
    """
    require_tensor(input, "cummax")
    return return_types.cummax(*call(p.cummax, input, dim=wrap_dim(dim, input._value.spec.ndim)))


@function()
def cummin(input: Tensor, dim: int) -> return_types.cummin:
    """The smallest element so far along `dim`, and where it is.

    Args:
        input: tensor; a NaN beats all numbers.
        dim: dimension to go along.

    Returns:
        ``(values, indices)``, both of the same shape; of equal ones the last index.

    Example:
        >>> import oneflow as flow
        >>> flow.cummin(flow.tensor([3.0, 1.0, 2.0]), 0).values
        tensor([3., 1., 1.], dtype=oneflow.float32)
    """
    require_tensor(input, "cummin")
    return return_types.cummin(*call(p.cummin, input, dim=wrap_dim(dim, input._value.spec.ndim)))


@function()
def diff(
    input: Tensor,
    n: int = 1,
    dim: int = -1,
    prepend: Tensor | None = None,
    append: Tensor | None = None,
) -> Tensor:
    """Differences of neighbours along `dim`.

    Args:
        input: tensor with dimensions.
        n: how often to take them.
        dim: dimension to go along.
        prepend: put before `input` first.
        append: put after `input` first.

    Returns:
        Tensor with `n` elements less along `dim`.

    Raises:
        RuntimeError: `n` is negative or `input` has no dimensions.

    Example:
        >>> import oneflow as flow
        >>> flow.diff(flow.tensor([1.0, 3.0, 2.0]))
        tensor([ 2., -1.], dtype=oneflow.float32)
    """
    require_tensor(input, "diff")
    if not input._value.spec.ndim:
        raise RuntimeError("diff expects input to be at least one-dimensional")
    if n < 0:
        raise RuntimeError(f"order must be non-negative but got {n}")
    if not n:
        return input.clone()
    parts = [part for part in (prepend, input, append) if part is not None]
    result = cat(parts, dim) if len(parts) > 1 else input
    for _ in range(n):
        length = result.shape[dim]
        if length == 0:
            return result
        after, before = result.narrow(dim, 1, length - 1), result.narrow(dim, 0, length - 1)
        is_bool = result._value.spec.dtype.category is Category.BOOL
        result = after.logical_xor(before) if is_bool else after - before
    return result


def _trapezoid_terms(y: Tensor, x: Tensor | None, dx: float | None, dim: int) -> Tensor:
    """Area of the trapezoid between each element and the next along `dim`."""
    require_tensor(y, "trapezoid")
    if x is not None and dx is not None:
        raise TypeError("trapezoid() takes `x` or `dx`, not both")
    dim = wrap_dim(dim, y._value.spec.ndim)
    if not y.shape[dim]:
        return y
    length = y.shape[dim] - 1
    both = y.narrow(dim, 1, length) + y.narrow(dim, 0, length)
    if x is None:
        return both * ((1.0 if dx is None else dx) / 2)
    steps = diff(x, dim=dim if x.ndim == y.ndim else -1)
    if x.ndim == 1 and y.ndim > 1:
        steps = steps.reshape([length if axis == dim else 1 for axis in range(y.ndim)])
    return both * steps / 2


@function(method=False, also=("trapz",))
def trapezoid(
    y: Tensor, x: Tensor | None = None, *, dx: float | None = None, dim: int = -1
) -> Tensor:
    """Integral along `dim` by the trapezoidal rule.

    Args:
        y: values of the function.
        x: where they were taken, of the same shape or 1-dim; None: `dx` apart.
        dx: distance of neighbours; None: 1.
        dim: dimension to go along.

    Returns:
        Tensor without that dimension.

    Raises:
        TypeError: both `x` and `dx` are there.

    Example:
        >>> import oneflow as flow
        >>> flow.trapezoid(flow.tensor([1.0, 2.0, 4.0]))
        tensor(4.5000, dtype=oneflow.float32)
    """
    terms = _trapezoid_terms(y, x, dx, dim)
    # Without elements the integral is 0, whatever the function.
    return (terms if terms is not y else y.detach()).sum(dim)


@function(method=False)
def cumulative_trapezoid(
    y: Tensor, x: Tensor | None = None, *, dx: float | None = None, dim: int = -1
) -> Tensor:
    """Running integral along `dim` by the trapezoidal rule; see `trapezoid`.

    Returns:
        Tensor with one element less along `dim`.

    Raises:
        TypeError: both `x` and `dx` are there.

    Example:
        >>> import oneflow as flow
        >>> flow.cumulative_trapezoid(flow.tensor([1.0, 2.0, 4.0]))
        tensor([1.5000, 4.5000], dtype=oneflow.float32)
    """
    return cumsum(_trapezoid_terms(y, x, dx, dim), dim)
