"""Additions along one dimension as upstream's builtins take their arguments."""

from __future__ import annotations

from oneflow.functional.nn.fused import add_bias
from oneflow.functional.registry import function
from oneflow.tensor.tensor import Tensor


@function(method=False, namespace="_C")
def bias_add(x: Tensor, bias: Tensor, axis: int = 1) -> Tensor:
    """`x` with the vector `bias` added along `axis`.

    Raises:
        RuntimeError: `bias` is no vector of that length.

    Example:
        >>> import oneflow as flow
        >>> flow._C.bias_add(flow.zeros(2, 2), flow.tensor([1.0, 2.0]), 0)
        tensor([[1., 1.],
                [2., 2.]], dtype=oneflow.float32)
    """
    return add_bias(x, bias, axis)
