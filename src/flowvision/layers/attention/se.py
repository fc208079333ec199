"""Squeeze and excitation (https://arxiv.org/abs/1709.01507)."""

from __future__ import annotations

from collections.abc import Callable

from oneflow import Tensor, nn


class SEModule(nn.Module):
    """Channels weighed by what all of them are on average over the image.

    Input and output (N, channels, H, W).

    Args:
        channels: of the input.
        reduction: by how many times the layer between has fewer channels.
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
