"""Fully connected layers."""

from __future__ import annotations

from oneflow.functional.registry import function
from oneflow.primitives.operators.matmul import (
    bilinear as bilinear_primitive,
    linear as linear_primitive,
    linear_no_bias,
)
from oneflow.tensor.call import call
from oneflow.tensor.tensor import Tensor


@function(method=False, namespace="nn.functional")
def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """``input @ weight.T + bias``.

    Args:
        input: shape ``(*, in_features)``.
        weight: shape ``(out_features, in_features)``.
        bias: shape ``(out_features,)``.

    Returns:
        Tensor of shape ``(*, out_features)``.

    Raises:
        RuntimeError: shapes or dtypes do not fit.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.functional.linear(flow.ones(1, 2), flow.ones(3, 2)).shape
        oneflow.Size([1, 3])
    """
    if bias is None:
        return call(linear_no_bias, input, weight)
    return call(linear_primitive, input, weight, bias)


@function(method=False, namespace="nn.functional", also=("bilinear",))
def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """``input1 @ weight[k] @ input2`` for every k, plus `bias`.

    Args:
        input1: shape ``(*, in1_features)``.
        input2: shape ``(*, in2_features)``.
        weight: shape ``(out_features, in1_features, in2_features)``.
        bias: shape ``(out_features,)``.

    Returns:
        Tensor of shape ``(*, out_features)``.

    Raises:
        RuntimeError: shapes or dtypes do not fit.

    Example:
        >>> import oneflow as flow
        >>> x, y, w = flow.ones(1, 2), flow.ones(1, 3), flow.ones(4, 2, 3)
        >>> flow.nn.functional.bilinear(x, y, w).tolist()
        [[6.0, 6.0, 6.0, 6.0]]
    """
    extra = () if bias is None else (bias,)
    return call(bilinear_primitive, input1, input2, weight, *extra)
