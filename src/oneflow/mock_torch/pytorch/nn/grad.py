"""``torch.nn.grad``: gradients of convolutions, by their inputs and by their weights."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import oneflow as flow
from oneflow import Tensor
from oneflow.nn import functional as F


def _gradient(
    convolution: Callable[..., Tensor], operands: tuple[Tensor, ...], index: int, grad: Tensor
) -> Tensor:
    """The gradient of a convolution by one of its operands."""
    variables = [operand.detach() for operand in operands]
    variables[index].requires_grad_()
    with flow.enable_grad():
        result: Any = flow.autograd.grad(convolution(*variables), variables[index], grad)
    return result[0]


def _by_input(convolution: Callable[..., Tensor]) -> Callable[..., Tensor]:
    def gradient(
        input_size: Sequence[int],
        weight: Tensor,
        grad_output: Tensor,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
    ) -> Tensor:
        """Return the gradient by the input of a convolution, of that size."""
        options = (None, stride, padding, dilation, groups)
        operands = weight.new_zeros(tuple(input_size)), weight
        return _gradient(lambda x, w: convolution(x, w, *options), operands, 0, grad_output)

    gradient.__name__ = f"{convolution.__name__}_input"
    return gradient


def _by_weight(convolution: Callable[..., Tensor]) -> Callable[..., Tensor]:
    def gradient(
        input: Tensor,
        weight_size: Sequence[int],
        grad_output: Tensor,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
    ) -> Tensor:
        """Return the gradient by the weight of a convolution, of that size."""
        options = (None, stride, padding, dilation, groups)
        operands = input, input.new_zeros(tuple(weight_size))
        return _gradient(lambda x, w: convolution(x, w, *options), operands, 1, grad_output)

    gradient.__name__ = f"{convolution.__name__}_weight"
    return gradient


conv1d_input, conv1d_weight = _by_input(F.conv1d), _by_weight(F.conv1d)
conv2d_input, conv2d_weight = _by_input(F.conv2d), _by_weight(F.conv2d)
conv3d_input, conv3d_weight = _by_input(F.conv3d), _by_weight(F.conv3d)

__all__ = [
    "conv1d_input",
    "conv1d_weight",
    "conv2d_input",
    "conv2d_weight",
    "conv3d_input",
    "conv3d_weight",
]
