"""PyTorch 0.3's name of a tensor that takes part in automatic differentiation."""

from __future__ import annotations

from typing import Any

from oneflow.functional.creation.from_data import as_tensor
from oneflow.tensor.tensor import Tensor


class _IsTensor(type):
    """Makes every tensor an instance."""

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, Tensor)


class Variable(metaclass=_IsTensor):
    """A tensor: ``Variable(data)`` returns one on the same memory, and every tensor is an instance.

    Args:
        data: a tensor, or what `as_tensor` takes.
        requires_grad: ask for its gradient.

    Example:
        >>> import oneflow as flow
        >>> x = flow.autograd.Variable(flow.ones(2), requires_grad=True)
        >>> type(x) is flow.Tensor, x.requires_grad, isinstance(x, flow.autograd.Variable)
        (True, True, True)
    """

    def __new__(cls, data: Any, requires_grad: bool = False) -> Any:
        """The tensor."""
        return as_tensor(data).detach().requires_grad_(requires_grad)
