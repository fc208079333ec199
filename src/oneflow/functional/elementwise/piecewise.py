"""Activation functions made of straight pieces: hard limits, shrinkage, thresholds."""

from __future__ import annotations

import math

from oneflow.base.dtype import Category
from oneflow.functional.elementwise.activation import apply_activation
from oneflow.functional.registry import function, inplace_form
from oneflow.primitives.operators import activation as a
from oneflow.tensor.call import call
from oneflow.tensor.methods import before_write, write_result
from oneflow.tensor.operands import as_element_of, as_number, as_scalar_of, require_tensor
from oneflow.tensor.tensor import Tensor


def _limited(x: Tensor, low: float, high: float, name: str, inplace: bool) -> Tensor:
    """`x` within ``[low, high]``; of integers, within these numbers without their fractions.

    Raises:
        RuntimeError: `x` is bool, or has no negative numbers and `low` is one, or a limit is out of
            the range of integers.
    """
    require_tensor(x, name)
    dtype = x._value.spec.dtype
    if dtype.category >= Category.FLOAT:
        return apply_activation(a.hardtanh, x, low, high, name=name, inplace=inplace)
    if dtype.category is Category.BOOL:
        raise RuntimeError(f"{name}(): Bool inputs not supported; convert them with `.float()`")
    if low < 0 and dtype.numpy.kind == "u":
        raise RuntimeError(f"{name}(): cannot limit {dtype} from below by {low}: it has no sign")
    low, high = as_element_of(x, low), as_element_of(x, high)
    result = call(a.hardtanh, before_write(x) if inplace else x, low, high)
    return write_result(x, result, f"{name}_") if inplace else result


@function(method=False, namespace="nn.functional")
def hardtanh(
    x: Tensor, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False
) -> Tensor:
    """`x` limited to ``[min_val, max_val]``.

    Args:
        x: real tensor.
        min_val: lower limit.
        max_val: upper limit.
        inplace: write the result into `x`.

    Raises:
        ValueError: the lower limit is above the upper one.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.functional.hardtanh(flow.tensor([-2.0, 0.5]))
        tensor([-1.0000,  0.5000], dtype=oneflow.float32)
    """
    min_val, max_val = as_number(min_val), as_number(max_val)
    if min_val > max_val:
        raise ValueError(f"min_val cannot be greater than max_val, got {min_val} and {max_val}")
    return _limited(x, min_val, max_val, "hardtanh", inplace)


@function(method=False, namespace="nn.functional")
def relu6(input: Tensor, inplace: bool = False) -> Tensor:
    """`input` limited to ``[0, 6]``.

    Args:
        input: real tensor.
        inplace: write the result into `input`.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.functional.relu6(flow.tensor([-1.0, 8.0]))
        tensor([0., 6.], dtype=oneflow.float32)
    """
    return _limited(input, 0, 6, "relu6", inplace)


@function(method=False, namespace="nn.functional")
def hardsigmoid(input: Tensor, inplace: bool = False) -> Tensor:
    """0 up to -3, 1 from 3 on, a straight line between.

    Args:
        input: floating point tensor.
        inplace: write the result into `input`.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.functional.hardsigmoid(flow.tensor([0.0, 4.0]))
        tensor([0.5000, 1.0000], dtype=oneflow.float32)
    """
    return apply_activation(a.hardsigmoid, input, inplace=inplace)


@function(method=False, namespace="nn.functional")
def hardswish(x: Tensor, inplace: bool = False) -> Tensor:
    """``x * hardsigmoid(x)``.

    Args:
        x: floating point tensor.
        inplace: write the result into `x`.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.functional.hardswish(flow.tensor([0.0, 4.0]))
        tensor([0., 4.], dtype=oneflow.float32)
    """
    return apply_activation(a.hardswish, x, inplace=inplace)


@function(namespace="nn.functional", keyword_aliases={"alpha": "lambd"}, also=("hardshrink",))
def hardshrink(x: Tensor, lambd: float = 0.5, inplace: bool = False) -> Tensor:
    """`x`, but 0 between ``-lambd`` and ``lambd``.

    Args:
        x: floating point tensor.
        lambd: half the width of the gap.
        inplace: write the result into `x`.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.functional.hardshrink(flow.tensor([0.5, 2.0]))
        tensor([0., 2.], dtype=oneflow.float32)
    """
    return apply_activation(a.hardshrink, x, lambd, inplace=inplace)


@function(method=False, keyword_aliases={"lambd": "alpha"}, also=("nn.functional.softshrink",))
def softshrink(x: Tensor, alpha: float = 0.5, inplace: bool = False) -> Tensor:
    """`x` moved towards 0 by `alpha`, and 0 within.

    Args:
        x: floating point tensor.
        alpha: how far to move, at least 0.
        inplace: write the result into `x`.

    Raises:
        RuntimeError: `alpha` is negative or not finite.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.functional.softshrink(flow.tensor([0.5, 2.0]))
        tensor([0.0000, 1.5000], dtype=oneflow.float32)
    """
    if not 0 <= alpha < math.inf:  # NaN, too
        raise RuntimeError(f"lambda must be at least 0 and finite, but found to be {alpha}.")
    return apply_activation(a.softshrink, x, alpha, inplace=inplace)


@function(method=False, also=("nn.functional.threshold",))
def threshold(x: Tensor, threshold: float, value: float, inplace: bool = False) -> Tensor:
    """`x` where it is above `threshold`, else `value`.

    Args:
        x: any shape.
        threshold: the limit.
        value: what replaces inputs up to the limit.
        inplace: write the result into `x`.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.functional.threshold(flow.tensor([0.5, 2.0]), 1.0, -1.0)
        tensor([-1.,  2.], dtype=oneflow.float32)
    """
    require_tensor(x, "threshold")
    limit, replacement = (as_scalar_of(x, number) for number in (threshold, value))
    result = call(a.threshold, x, limit, replacement)
    return write_result(x, result, "threshold_") if inplace else result


hardtanh_ = inplace_form(hardtanh, "nn.functional.hardtanh_")
threshold_ = inplace_form(threshold, "threshold_", "nn.functional.threshold_")
