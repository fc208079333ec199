"""Convolutional block attention (https://arxiv.org/abs/1807.06521)."""

from __future__ import annotations

from collections.abc import Callable

import oneflow as flow
from flowvision.layers.blocks.conv_bn_act import ConvBn
from flowvision.layers.helpers import make_divisible
from oneflow import Tensor, nn


class ChannelAttn(nn.Module):
    """Channels weighed by what all of them are on average, and at most, over the image.

    Input and output (N, channels, H, W).

    Args:
        channels: the number of channels of the input.
        rd_ratio: channels of the layer between, as a share of `channels`.
        rd_channels: channels of the layer between, instead of `rd_ratio`.
        rd_divisor: a divisor of the number of these channels.
        act_layer: makes the activation between the two layers.
        gate_layer: makes the function from the second layer's output to weights.
        mlp_bias: whether the two layers have biases.
    """

    def __init__(
        self,
        channels: int,
        rd_ratio: float = 1 / 16,
        rd_channels: int | None = None,
        rd_divisor: int = 1,
        act_layer: Callable[[], nn.Module] = nn.ReLU,
        gate_layer: Callable[[], nn.Module] = nn.Sigmoid,
        mlp_bias: bool = False,
    ) -> None:
        super().__init__()
        rd_channels = rd_channels or make_divisible(channels * rd_ratio, rd_divisor, round_limit=0)
        self.fc1 = nn.Conv2d(channels, rd_channels, 1, bias=mlp_bias)
        self.act = act_layer()
        self.fc2 = nn.Conv2d(rd_channels, channels, 1, bias=mlp_bias)
        self.gate = gate_layer()

    def forward(self, x: Tensor) -> Tensor:
        pooled = (x.mean((2, 3), keepdim=True), x.amax((2, 3), keepdim=True))
        average, largest = (self.fc2(self.act(self.fc1(features))) for features in pooled)
        return x * self.gate(average + largest)


class SpatialAttn(nn.Module):
    """Positions weighed by the mean and the maximum of the channels around them.

    Input and output (N, C, H, W).

    Args:
        kernel_size: the kernel size of the convolution over both, an odd number.
        gate_layer: makes the function from its output to weights.
    """

    def __init__(
        self, kernel_size: int = 7, gate_layer: Callable[[], nn.Module] = nn.Sigmoid
    ) -> None:
        super().__init__()
        self.conv = ConvBn(2, 1, kernel_size)
        self.gate = gate_layer()

    def forward(self, x: Tensor) -> Tensor:
        pooled = [x.mean(1, keepdim=True), x.amax(1, keepdim=True)]
        return x * self.gate(self.conv(flow.cat(pooled, dim=1)))


class CbamModule(nn.Module):
    """Attention over channels, then over positions.

    Input and output (N, channels, H, W).

    Args:
        channels: the number of channels of the input.
        rd_ratio: see `ChannelAttn`.
        rd_channels: see `ChannelAttn`.
        rd_divisor: see `ChannelAttn`.
        spatial_kernel_size: see `SpatialAttn`.
        act_layer: see `ChannelAttn`.
        gate_layer: makes the functions from outputs to weights.
        mlp_bias: see `ChannelAttn`.

    Example:
        >>> import oneflow as flow
        >>> from flowvision.layers import CbamModule
        >>> CbamModule(32)(flow.rand(2, 32, 8, 8)).shape
        oneflow.Size([2, 32, 8, 8])
    """

    def __init__(
        self,
        channels: int,
        rd_ratio: float = 1 / 16,
        rd_channels: int | None = None,
        rd_divisor: int = 1,
        spatial_kernel_size: int = 7,
        act_layer: Callable[[], nn.Module] = nn.ReLU,
        gate_layer: Callable[[], nn.Module] = nn.Sigmoid,
        mlp_bias: bool = False,
    ) -> None:
        super().__init__()
        self.channel = ChannelAttn(
            channels, rd_ratio, rd_channels, rd_divisor, act_layer, gate_layer, mlp_bias
        )
        self.spatial = SpatialAttn(spatial_kernel_size, gate_layer)

    def forward(self, x: Tensor) -> Tensor:
        return self.spatial(self.channel(x))
