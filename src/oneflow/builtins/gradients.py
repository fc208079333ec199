"""Gradients of elementwise functions as upstream's builtins take their arguments."""

from __future__ import annotations

from oneflow.builtins.operands import require_same_shape_and_dtype
from oneflow.functional.elementwise.trigonometry import cos, sinh
from oneflow.functional.registry import function
from oneflow.tensor.tensor import Tensor


@function(method=False, namespace="_C")
def tanh_grad(y: Tensor, dy: Tensor) -> Tensor:
    """Return the gradient of `tanh` from its result `y` and the gradient `dy` of that.

    Raises:
        RuntimeError: the tensors have several shapes.
        TypeError: they have several dtypes.

    Example:
        >>> import oneflow as flow
        >>> flow._C.tanh_grad(flow.tensor([0.0, 0.5]), flow.ones(2))
        tensor([1.0000, 0.7500], dtype=oneflow.float32)
    """
    require_same_shape_and_dtype("tanh_grad", y=y, dy=dy)
    return dy * (1 - y * y)


@function(method=False, namespace="_C")
def cosh_grad(x: Tensor, dy: Tensor) -> Tensor:
    """Return the gradient of `cosh` from its operand `x` and the gradient `dy` of its result.

    Raises:
        RuntimeError: the tensors have several shapes.
        TypeError: they have several dtypes.

    Example:
        >>> import oneflow as flow
        >>> flow._C.cosh_grad(flow.zeros(1), flow.ones(1))
        tensor([0.], dtype=oneflow.float32)
    """
    require_same_shape_and_dtype("cosh_grad", x=x, dy=dy)
    return dy * sinh(x)


@function(method=False, namespace="_C")
def tan_grad(x: Tensor, dy: Tensor) -> Tensor:
    """Return the gradient of `tan` from its operand `x` and the gradient `dy` of its result.

    Raises:
        RuntimeError: the tensors have several shapes.
        TypeError: they have several dtypes.

    Example:
        >>> import oneflow as flow
        >>> flow._C.tan_grad(flow.zeros(1), flow.ones(1))
        tensor([1.], dtype=oneflow.float32)
    """
    require_same_shape_and_dtype("tan_grad", x=x, dy=dy)
    return dy / (cos(x) * cos(x))
