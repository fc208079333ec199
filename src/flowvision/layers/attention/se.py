"""Squeeze and excitation (https://arxiv.org/abs/1709.01507)."""

from __future__ import annotations

from collections.abc import Callable

from flowvision.layers.helpers import make_divisible
from oneflow import Tensor, nn


class SEModule(nn.Module):
    """Channels weighed by what all of them are on average over the image.

    Input and output (N, channels, H, W).

    Args:
        channels: the number of channels of the input.
        reduction: the factor by which the layer between has fewer channels.
        rd_channels: the number of channels of the layer between, instead of `reduction`.
        act_layer: makes the activation between the two layers.
        gate_layer: makes the function from the second layer's output to weights.
        mlp_bias: whether the two layers have biases.

    Example:
        >>> import oneflow as flow
        >>> from flowvision.layers import SEModule
        >>> SEModule(32)(flow.rand(2, 32, 8, 8)).shape
        oneflow.Size([2, 32, 8, 8])
    """

    def __init__(
        self,
        channels: int,
        reduction: int = 16,
        rd_channels: int | None = None,
        act_layer: Callable[[], nn.Module] = nn.ReLU,
        gate_layer: Callable[[], nn.Module] = nn.Sigmoid,
        mlp_bias: bool = True,
    ) -> None:
        super().__init__()
        rd_channels = rd_channels or channels // reduction
        self.fc1 = nn.Conv2d(channels, rd_channels, 1, bias=mlp_bias)
        self.fc2 = nn.Conv2d(rd_channels, channels, 1, bias=mlp_bias)
        self.activation = act_layer()
        self.gate = gate_layer()

    def forward(self, x: Tensor) -> Tensor:
        squeezed = x.mean((2, 3), keepdim=True)
        return x * self.gate(self.fc2(self.activation(self.fc1(squeezed))))


def sigmoid(x: Tensor, inplace: bool = False) -> Tensor:
    """Return the logistic function of `x`, written to it if `inplace`.

    Example:
        >>> import oneflow as flow
        >>> from flowvision.models import sigmoid
        >>> sigmoid(flow.tensor([0.0])).item()
        0.5
    """
    return x.sigmoid_() if inplace else x.sigmoid()


class SqueezeExcite(nn.Module):
    """Channels weighed by what all of them are on average (https://arxiv.org/abs/1709.01507).

    Input and output (N, in_chs, H, W).

    Args:
        in_chs: the number of channels.
        se_ratio: the channels of the layer between, as a multiple of `reduced_base_chs`.
        reduced_base_chs: default `in_chs`.
        act_layer: makes the activation between the two layers.
        gate_fn: from the second layer's output to weights.
        divisor: the channels of the layer between are a multiple of it.

    Example:
        >>> import oneflow as flow
        >>> from flowvision.models import SqueezeExcite
        >>> SqueezeExcite(8)(flow.rand(1, 8, 6, 6)).shape
        oneflow.Size([1, 8, 6, 6])
    """

    def __init__(
        self,
        in_chs: int,
        se_ratio: float = 0.25,
        reduced_base_chs: int | None = None,
        act_layer: Callable[[], nn.Module] = nn.ReLU,
        gate_fn: Callable[[Tensor], Tensor] = sigmoid,
        divisor: int = 1,
    ) -> None:
        super().__init__()
        reduced = make_divisible((reduced_base_chs or in_chs) * se_ratio, divisor)
        self.conv_reduce = nn.Conv2d(in_chs, reduced, 1)
        self.act1 = act_layer()
        self.conv_expand = nn.Conv2d(reduced, in_chs, 1)
        self.gate_fn = gate_fn

    def forward(self, x: Tensor) -> Tensor:
        squeezed = self.conv_reduce(x.mean((2, 3), keepdim=True))
        return x * self.gate_fn(self.conv_expand(self.act1(squeezed)))
