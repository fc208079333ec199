"""A perceptron of several layers as one module."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

from oneflow.functional.elementwise.activation import relu
from oneflow.functional.nn.dense import linear
from oneflow.functional.nn.dropout import dropout
from oneflow.module.module import Module
from oneflow.module.parameter import Parameter, new_parameter
from oneflow.nn import init
from oneflow.tensor.tensor import Tensor


class FusedMLP(Module):
    """Linear layers with ReLU and dropout between them; XLA fuses what can be fused.

    Args:
        in_features: size of the input.
        hidden_features: sizes of the hidden layers.
        out_features: size of the output.
        hidden_dropout_rate: probability of dropout after each hidden layer; default none.
        out_dropout_rate: probability of dropout of the output.
        skip_final_activation: leave out the ReLU of the output.

    Attributes:
        weight_[k]: of layer ``k``, ``(outputs, inputs)``, at first as of `Linear`.
        bias_[k]: of layer ``k``, ``(outputs,)``, at first as of `Linear`.

    Shape:
        x: ``(*, in_features)``.
        output: ``(*, out_features)``.

    Raises:
        ValueError: there is not one dropout rate per hidden layer.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.FusedMLP(8, (16, 32), 4)(flow.ones(2, 8)).shape
        oneflow.Size([2, 4])
    """

    def __init__(
        self,
        in_features: int,
        hidden_features: tuple[int, ...],
        out_features: int,
        hidden_dropout_rate: Sequence[float] | None = None,
        out_dropout_rate: float = 0.0,
        skip_final_activation: bool = False,
    ) -> None:
        super().__init__()
        self.in_features = in_features
        self.hidden_features = tuple(hidden_features)
        self.out_features = out_features
        dropout_list = hidden_dropout_rate or [0.0] * len(self.hidden_features)
        if len(dropout_list) != len(self.hidden_features):
            raise ValueError(
                f"`hidden_dropout_rate` has {len(dropout_list)} entries for "
                f"{len(self.hidden_features)} hidden layers"
            )
        self.dropout_list = [*dropout_list, out_dropout_rate]
        self.skip_final_activation = skip_final_activation
        self.add_parameters()
        self.reset_parameters()

    def add_parameters(self) -> None:
        """Make the parameters ``weight_0``, ``bias_0``, ``weight_1``, ..."""
        sizes = (self.in_features, *self.hidden_features, self.out_features)
        for number, (width, height) in enumerate(itertools.pairwise(sizes)):
            self.register_parameter(f"weight_{number}", new_parameter((height, width)))
            self.register_parameter(f"bias_{number}", new_parameter((height,)))

    @property
    def _layers(self) -> int:
        return len(self.hidden_features) + 1

    def weight(self, i: int) -> Parameter:
        """The weight of layer `i`."""
        return getattr(self, f"weight_{i}")

    def weights(self) -> list[Parameter]:
        """The weights of all layers."""
        return [self.weight(number) for number in range(self._layers)]

    def bias(self, i: int) -> Parameter:
        """The bias of layer `i`."""
        return getattr(self, f"bias_{i}")

    def biases(self) -> list[Parameter]:
        """The biases of all layers."""
        return [self.bias(number) for number in range(self._layers)]

    def reset_parameters(self) -> None:
        """Draw new initial values, as `Linear` does."""
        for weight, bias in zip(self.weights(), self.biases(), strict=True):
            init.kaiming_uniform_(weight, a=math.sqrt(5))
            bound = 1 / math.sqrt(weight.shape[1]) if weight.shape[1] else 0
            init.uniform_(bias, -bound, bound)

    def forward(self, x: Tensor) -> Tensor:
        last = self._layers - 1
        for number, rate in enumerate(self.dropout_list):
            x = linear(x, self.weight(number), self.bias(number))
            if number < last or not self.skip_final_activation:
                x = relu(x)
            if rate and self.training:
                x = dropout(x, rate)
        return x

    def extra_repr(self) -> str:
        return (
            f"in_features={self.in_features}, hidden_features={self.hidden_features}, "
            f"out_features={self.out_features}, skip_final_activation={self.skip_final_activation}"
        )
