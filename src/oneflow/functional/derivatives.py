"""Results without a derivative."""

from __future__ import annotations

from typing import Any

from oneflow.differentiation.grad_mode import MODE
from oneflow.primitives.operators.without_derivative import without_derivative
from oneflow.tensor.call import call
from oneflow.tensor.tensor import Tensor


def raise_without_derivative(function: str, result: Tensor, *operands: Any) -> Tensor:
    """A result of `function`; a backward pass from there to one of the operands is an error."""
    if not MODE.enabled or not (result.is_floating_point() or result.is_complex()):
        return result
    tracked = [x for x in operands if isinstance(x, Tensor) and x.requires_grad]
    return call(without_derivative, result, *tracked, function=function) if tracked else result
