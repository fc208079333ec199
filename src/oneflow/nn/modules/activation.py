"""Activation functions as modules."""

from __future__ import annotations

from oneflow.functional import activation as functional
from oneflow.nn.modules.module import Module
from oneflow.tensor.tensor import Tensor


class ReLU(Module):
    """``max(x, 0)``.

    Args:
        inplace: write the result into the input.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.ReLU()(flow.tensor([-1.0, 2.0]))
        tensor([0., 2.], dtype=oneflow.float32)
    """

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace

    def forward(self, x: Tensor) -> Tensor:
        return functional.relu(x, self.inplace)

    def extra_repr(self) -> str:
        return "inplace=True" if self.inplace else ""
