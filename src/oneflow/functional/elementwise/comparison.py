"""Comparisons, element by element and of whole tensors."""

from __future__ import annotations

from oneflow.functional.elementwise.arithmetic import binary, ordering
from oneflow.functional.registry import function
from oneflow.primitives.operators import elementwise as p
from oneflow.primitives.operators.reduce import all_true
from oneflow.tensor.call import call
from oneflow.tensor.operands import as_float, require_tensor
from oneflow.tensor.reads import read_small
from oneflow.tensor.tensor import Tensor


@function(inplace=True, aliases=("equal_to",))
def eq(input: Tensor, other: Tensor | float) -> Tensor:
    """``input == other`` for each element, broadcast.

    Returns:
        Bool tensor.

    Example:
        >>> import oneflow as flow
        >>> flow.eq(flow.tensor([1.0, 2.0]), 2)
        tensor([False,  True], dtype=oneflow.bool)
    """
    return binary(p.eq, input, other)


@function(inplace=True, aliases=("not_equal",))
def ne(input: Tensor, other: Tensor | float) -> Tensor:
    """``input != other`` for each element, broadcast.

    Returns:
        Bool tensor.

    Example:
        >>> import oneflow as flow
        >>> flow.ne(flow.tensor([1.0, 2.0]), 2)
        tensor([ True, False], dtype=oneflow.bool)
    """
    return binary(p.ne, input, other)


@function(inplace=True, aliases=("less",))
def lt(input: Tensor, other: Tensor | float) -> Tensor:
    """``input < other`` for each element, broadcast.

    Returns:
        Bool tensor.

    Example:
        >>> import oneflow as flow
        >>> flow.lt(flow.tensor([1.0, 2.0]), 2)
        tensor([ True, False], dtype=oneflow.bool)
    """
    return ordering(p.lt, input, other)


@function(inplace=True, aliases=("less_equal",))
def le(input: Tensor, other: Tensor | float) -> Tensor:
    """``input <= other`` for each element, broadcast.

    Returns:
        Bool tensor.

    Example:
        >>> import oneflow as flow
        >>> flow.le(flow.tensor([1.0, 3.0]), 2)
        tensor([ True, False], dtype=oneflow.bool)
    """
    return ordering(p.le, input, other)


@function(inplace=True, aliases=("greater",), also=("gt_",))
def gt(input: Tensor, other: Tensor | float) -> Tensor:
    """``input > other`` for each element, broadcast.

    Returns:
        Bool tensor.

    Example:
        >>> import oneflow as flow
        >>> flow.gt(flow.tensor([1.0, 3.0]), 2)
        tensor([False,  True], dtype=oneflow.bool)
    """
    return ordering(p.gt, input, other)


@function(inplace=True, aliases=("greater_equal",))
def ge(input: Tensor, other: Tensor | float) -> Tensor:
    """``input >= other`` for each element, broadcast.

    Returns:
        Bool tensor.

    Example:
        >>> import oneflow as flow
        >>> flow.ge(flow.tensor([1.0, 3.0]), 2)
        tensor([False,  True], dtype=oneflow.bool)
    """
    return ordering(p.ge, input, other)


def _require_one_dtype(name: str, x: Tensor, y: Tensor) -> None:
    require_tensor(x, name)
    require_tensor(y, name)
    if x._value.spec.dtype is not y._value.spec.dtype:
        raise RuntimeError(f"{name}(): {x.dtype!r} did not match {y.dtype!r}; convert one of them")


@function()
def isclose(
    input: Tensor,
    other: Tensor,
    atol: float = 1e-08,
    rtol: float = 1e-05,
    equal_nan: bool = False,
) -> Tensor:
    """Test ``abs(input - other) <= atol + rtol * abs(other)`` element by element, broadcast.

    Args:
        input: tensor.
        other: tensor of the same dtype.
        atol: absolute tolerance. (PyTorch takes `rtol` first: give them by name.)
        rtol: relative tolerance.
        equal_nan: NaN is close to NaN.

    Returns:
        Bool tensor.

    Raises:
        RuntimeError: the dtypes differ, or a tolerance is negative.

    Example:
        >>> import oneflow as flow
        >>> flow.isclose(flow.tensor([1.0, 2.0]), flow.tensor([1.0, 2.1]))
        tensor([ True, False], dtype=oneflow.bool)
    """
    _require_one_dtype("isclose", input, other)
    for name, tolerance in (("atol", atol), ("rtol", rtol)):
        if not tolerance >= 0:  # NaN, too
            raise RuntimeError(f"{name} must be greater than or equal to zero, but got {tolerance}")
    return call(
        p.isclose,
        input,
        other,
        as_float(atol, "atol"),
        as_float(rtol, "rtol"),
        equal_nan=bool(equal_nan),
    )


@function()
def allclose(
    input: Tensor,
    other: Tensor,
    atol: float = 1e-08,
    rtol: float = 1e-05,
    equal_nan: bool = False,
) -> bool:
    """Return True if all elements are close; see `isclose`. Reads the values.

    Args:
        input: tensor.
        other: tensor of the same dtype.
        atol: absolute tolerance. (PyTorch takes `rtol` first: give them by name.)
        rtol: relative tolerance.
        equal_nan: NaN is close to NaN.

    Example:
        >>> import oneflow as flow
        >>> flow.allclose(flow.tensor([1.0, 2.0]), flow.tensor([1.0, 2.1]))
        False
    """
    close = isclose(input, other, atol, rtol, equal_nan)
    return call(all_true, close, dims=tuple(range(close.ndim))).item()


@function()
def equal(input: Tensor, other: Tensor) -> bool:
    """Return True if two tensors have the same shape and equal elements. Reads the values.

    Example:
        >>> import oneflow as flow
        >>> flow.equal(flow.tensor([1, 2]), flow.tensor([1, 2]))
        True
    """
    require_tensor(input, "equal")
    require_tensor(other, "equal")
    spec, other_spec = input._value.spec, other._value.spec
    if spec.shape != other_spec.shape:
        return False
    if spec.dtype is other_spec.dtype:
        numbers = read_small(input)
        others = None if numbers is None else read_small(other)
        if others is not None:
            return bool((numbers == others).all())
    same = binary(p.eq, input, other)
    return call(all_true, same, dims=tuple(range(same.ndim))).item()


@function()
def is_same_size(input: Tensor, other: Tensor) -> bool:
    """Return True if two tensors have the same shape.

    Example:
        >>> import oneflow as flow
        >>> flow.is_same_size(flow.ones(2, 3), flow.ones(3, 2))
        False
    """
    return input._value.spec.shape == other._value.spec.shape
