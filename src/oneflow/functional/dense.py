"""Fully connected layers."""

from __future__ import annotations

from oneflow.functional.registry import function
from oneflow.primitives.matmul import linear as linear_primitive, linear_no_bias
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
