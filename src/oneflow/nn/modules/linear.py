"""Linear layers."""

from __future__ import annotations

import math
from typing import Any

from oneflow.base.composed_operand import ComposedOperandError
from oneflow.base.device import Device
from oneflow.base.dtype import DType
from oneflow.functional.nn.dense import bilinear, linear
from oneflow.module.module import Module
from oneflow.module.parameter import new_parameter
from oneflow.nn import init
from oneflow.primitives.operators import matmul
from oneflow.tensor.call import call
from oneflow.tensor.tensor import Tensor


class Identity(Module):
    """Gives back its input; takes and ignores any arguments.

    Shape:
        input: ``(*)``, any shape.
        output: ``(*)``, as the input.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.Identity(54, unused=True)(flow.ones(2))
        tensor([1., 1.], dtype=oneflow.float32)
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()

    def forward(self, input: Tensor) -> Tensor:
        return input


class Linear(Module):
    """``y = x @ weight.T + bias``.

    Args:
        in_features: size of each input sample.
        out_features: size of each output sample.
        bias: whether to add a learnable bias.
        device: where the parameters live.
        dtype: the dtype of the parameters.

    Attributes:
        weight: ``(out_features, in_features)``, at first uniform in ``[-bound, bound]`` with
            ``bound = 1 / sqrt(in_features)``.
        bias: ``(out_features,)``, at first uniform within the same bound; None without `bias`.

    Shape:
        input: ``(*, in_features)``.
        output: ``(*, out_features)``.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.Linear(20, 30)(flow.ones(128, 20)).shape
        oneflow.Size([128, 30])
    """

    def __init__(
        self,
        in_features: int,
        out_features: int,
        bias: bool = True,
        device: Device | str | None = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__()
        self.in_features = in_features
        self.out_features = out_features
        self.weight = new_parameter((out_features, in_features), dtype, device)
        self.register_parameter(
            "bias", new_parameter((out_features,), dtype, device) if bias else None
        )
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw new initial values, as PyTorch does."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            bound = 1 / math.sqrt(self.in_features) if self.in_features > 0 else 0
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input: Tensor) -> Tensor:
        # Faster than attributes, which are found only after a search everywhere else.
        parameters = self._parameters
        try:
            weight, bias = parameters["weight"], parameters["bias"]
        except KeyError:  # a normalised weight is no parameter
            weight, bias = self.weight, self.bias
        try:
            if bias is None:
                return call(matmul.linear_no_bias, input, weight)
            return call(matmul.linear, input, weight, bias)
        except ComposedOperandError:
            return linear(input, weight, bias)

    def extra_repr(self) -> str:
        return (
            f"in_features={self.in_features}, out_features={self.out_features}, "
            f"bias={self.bias is not None}"
        )


class _NonDynamicallyQuantizableLinear(Linear):
    """The last layer of attention, which libraries that quantize layers leave as it is."""

    def _get_name(self) -> str:
        return type(self).__name__.lstrip("_")


class Bilinear(Module):
    """``y = x1 @ weight @ x2 + bias``, one matrix per output feature.

    Args:
        in1_features: size of each first input.
        in2_features: size of each second input.
        out_features: size of each output.
        bias: whether to add a learnable bias.
        device: where the parameters live.
        dtype: the dtype of the parameters.

    Attributes:
        weight: ``(out_features, in1_features, in2_features)``, at first uniform in
            ``[-bound, bound]`` with ``bound = 1 / sqrt(in1_features)``.
        bias: ``(out_features,)``, at first uniform within the same bound; None without `bias`.

    Shape:
        input1: ``(*, in1_features)``.
        input2: ``(*, in2_features)``.
        output: ``(*, out_features)``.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.Bilinear(20, 30, 40)(flow.ones(128, 20), flow.ones(128, 30)).shape
        oneflow.Size([128, 40])
    """

    def __init__(
        self,
        in1_features: int,
        in2_features: int,
        out_features: int,
        bias: bool = True,
        device: Device | str | None = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__()
        if in1_features <= 0:
            raise ValueError(f"in1_features must be > 0, but got {in1_features}")
        self.in1_features = in1_features
        self.in2_features = in2_features
        self.out_features = out_features
        self.weight = new_parameter((out_features, in1_features, in2_features), dtype, device)
        self.register_parameter(
            "bias", new_parameter((out_features,), dtype, device) if bias else None
        )
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw new initial values, as PyTorch does."""
        bound = 1 / math.sqrt(self.in1_features)
        for parameter in self.parameters():
            init.uniform_(parameter, -bound, bound)

    def forward(self, input1: Tensor, input2: Tensor) -> Tensor:
        return bilinear(input1, input2, self.weight, self.bias)

    def extra_repr(self) -> str:
        return (
            f"in1_features={self.in1_features}, in2_features={self.in2_features}, "
            f"out_features={self.out_features}, bias={self.bias is not None}"
        )
