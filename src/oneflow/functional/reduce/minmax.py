"""The largest and smallest elements, and where they are."""

from __future__ import annotations

from typing import Any, NamedTuple, overload

from oneflow.base.dtype import Category, DType
from oneflow.base.shape import wrap_dim
from oneflow.functional import return_types
from oneflow.functional.elementwise.arithmetic import ordering, require_order
from oneflow.functional.elementwise.unary import require_number
from oneflow.functional.reduce.sums import Dims, reduced_dims
from oneflow.functional.registry import function
from oneflow.primitives.operators import reduce as p
from oneflow.primitives.operators.elementwise import maximum, minimum
from oneflow.primitives.registry import Primitive
from oneflow.tensor.call import call
from oneflow.tensor.operands import cast_to, require_tensor
from oneflow.tensor.tensor import Tensor


class _Extreme(NamedTuple):
    """The primitives that `max` or `min` is composed of."""

    name: str
    of_all: Primitive
    along: Primitive
    of_two: Primitive
    result: type


_MAX = _Extreme("max", p.amax, p.max_along, maximum, return_types.max)
_MIN = _Extreme("min", p.amin, p.min_along, minimum, return_types.min)


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
        return ordering(kind.of_two, x, dim if other is None else other)
    require_order(kind.name, x)
    ndim = x._value.spec.ndim
    if dim is None:
        require_elements(kind.name, x)
        return call(kind.of_all, x, dims=tuple(range(ndim)))
    dim = wrap_dim(dim, ndim)
    require_elements(kind.name, x, dim)
    return kind.result(*call(kind.along, x, dim=dim, keepdim=bool(keepdim)))


@overload
def max_(input: Tensor, dim: None = None, keepdim: bool = False) -> Tensor: ...
@overload
def max_(input: Tensor, dim: int, keepdim: bool = False) -> return_types.max: ...
@overload
def max_(input: Tensor, dim: Tensor) -> Tensor: ...
@overload
def max_(input: Tensor, *, other: Any) -> Tensor: ...
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


@overload
def min_(input: Tensor, dim: None = None, keepdim: bool = False) -> Tensor: ...
@overload
def min_(input: Tensor, dim: int, keepdim: bool = False) -> return_types.min: ...
@overload
def min_(input: Tensor, dim: Tensor) -> Tensor: ...
@overload
def min_(input: Tensor, *, other: Any) -> Tensor: ...
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


def _extreme_over(primitive: Primitive, x: Tensor, dim: Dims, keepdim: bool) -> Tensor:
    require_tensor(x, primitive.name)
    require_order(primitive.name, x)
    dims = reduced_dims(x, dim)
    if dim is None or dim == ():
        require_elements(primitive.name, x)
    for axis in dims:
        require_elements(primitive.name, x, axis)
    return call(primitive, x, dims=dims, keepdim=bool(keepdim))


@function()
def amax(input: Tensor, dim: Dims = None, keepdim: bool = False) -> Tensor:
    """The largest element over dimensions; equal ones share the gradient.

    Args:
        input: tensor; a NaN counts as the largest.
        dim: dimension or dimensions to reduce; None: all.
        keepdim: keep them with size 1.

    Returns:
        Tensor without the reduced dimensions.

    Raises:
        IndexError: a reduced dimension is empty.

    Example:
        >>> import oneflow as flow
        >>> flow.amax(flow.tensor([[1.0, 5.0], [3.0, 4.0]]), 1)
        tensor([5., 4.], dtype=oneflow.float32)
    """
    return _extreme_over(p.amax, input, dim, keepdim)


@function()
def amin(input: Tensor, dim: Dims = None, keepdim: bool = False) -> Tensor:
    """The smallest element over dimensions; equal ones share the gradient.

    Args:
        input: tensor; a NaN counts as the smallest.
        dim: dimension or dimensions to reduce; None: all.
        keepdim: keep them with size 1.

    Returns:
        Tensor without the reduced dimensions.

    Raises:
        IndexError: a reduced dimension is empty.

    Example:
        >>> import oneflow as flow
        >>> flow.amin(flow.tensor([[1.0, 5.0], [3.0, 4.0]]), 1)
        tensor([1., 3.], dtype=oneflow.float32)
    """
    return _extreme_over(p.amin, input, dim, keepdim)


@function()
def aminmax(
    input: Tensor, *, dim: int | None = None, keepdim: bool = False
) -> return_types.aminmax:
    """The smallest and the largest element.

    Args:
        input: tensor.
        dim: dimension to reduce; None: all.
        keepdim: keep it with size 1.

    Returns:
        ``(min, max)``.

    Example:
        >>> import oneflow as flow
        >>> flow.aminmax(flow.tensor([1.0, 5.0, 3.0])).max
        tensor(5., dtype=oneflow.float32)
    """
    return return_types.aminmax(amin(input, dim, keepdim), amax(input, dim, keepdim))


def _index_of(
    primitive: Primitive, x: Tensor, dim: int | None, keepdim: bool | None, dtype: DType | None
) -> Tensor:
    require_number(x, primitive.name, Category.FLOAT)
    spec = x._value.spec
    if dim is None and not spec.numel:
        raise IndexError(f"{primitive.name}(): Expected `dim` to be given for an empty input")
    if dim is not None:
        dim = wrap_dim(dim, spec.ndim)
        require_elements(primitive.name, x, dim)
    result = call(primitive, x, dim=dim, keepdim=bool(keepdim))
    return result if dtype is None else cast_to(result, dtype)


@function()
def argmax(
    x: Tensor, dim: int | None = None, keepdim: bool | None = None, dtype: DType | None = None
) -> Tensor:
    """Index of the largest element, of equal ones the first.

    Args:
        x: real tensor; a NaN counts as the largest.
        dim: dimension to reduce; None: all, as if flattened.
        keepdim: keep it with size 1; None: no.
        dtype: dtype of the result, default int64.

    Returns:
        Tensor of indices.

    Raises:
        IndexError: there are no elements.

    Example:
        >>> import oneflow as flow
        >>> flow.argmax(flow.tensor([[1.0, 5.0], [3.0, 4.0]]), 1)
        tensor([1, 1], dtype=oneflow.int64)
    """
    return _index_of(p.argmax, x, dim, keepdim, dtype)


@function()
def argmin(
    x: Tensor, dim: int | None = None, keepdim: bool | None = None, dtype: DType | None = None
) -> Tensor:
    """Index of the smallest element, of equal ones the first.

    Args:
        x: real tensor; a NaN counts as the smallest.
        dim: dimension to reduce; None: all, as if flattened.
        keepdim: keep it with size 1; None: no.
        dtype: dtype of the result, default int64.

    Returns:
        Tensor of indices.

    Raises:
        IndexError: there are no elements.

    Example:
        >>> import oneflow as flow
        >>> flow.argmin(flow.tensor([[1.0, 5.0], [3.0, 4.0]]), 1)
        tensor([0, 0], dtype=oneflow.int64)
    """
    return _index_of(p.argmin, x, dim, keepdim, dtype)
