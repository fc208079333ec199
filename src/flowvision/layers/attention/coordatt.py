"""Coordinate attention (https://arxiv.org/abs/2103.02907)."""

from __future__ import annotations

from collections.abc import Callable

import oneflow as flow
from flowvision.layers.activation import hard_swish
from flowvision.layers.helpers import make_divisible
from oneflow import Tensor, nn


class CoordAttModule(nn.Module):
    """Positions weighed by what their row and their column are on average.

    Input and output (N, channels, H, W).

    Args:
        channels: the number of channels of the input.
        out_channels: the number of channels of the weights: `channels`, or 1 for weights that all
            channels share.
        rd_ratio: channels of the layer between, as a share of `channels`.
        rd_channels: channels of the layer between, instead of `rd_ratio`.
        rd_divisor: a divisor of the number of these channels.
        act_layer: makes the activation between the layers.
        gate_layer: makes the function from outputs to weights.
        mlp_bias: whether the layers have biases.

    Example:
        >>> import oneflow as flow
        >>> from flowvision.layers import CoordAttModule
        >>> CoordAttModule(32)(flow.rand(2, 32, 8, 6)).shape
        oneflow.Size([2, 32, 8, 6])
    """

    def __init__(
        self,
        channels: int,
        out_channels: int | None = None,
        rd_ratio: float = 1 / 16,
        rd_channels: int | None = None,
        rd_divisor: int = 1,
        act_layer: Callable[[], nn.Module] = hard_swish,
        gate_layer: Callable[[], nn.Module] = nn.Sigmoid,
        mlp_bias: bool = False,
    ) -> None:
        super().__init__()
        hidden = rd_channels or make_divisible(channels * rd_ratio, rd_divisor, round_limit=0)
        out_channels = out_channels or channels
        self.conv1 = nn.Conv2d(channels, hidden, 1, bias=mlp_bias)
        self.bn1 = nn.BatchNorm2d(hidden)
        self.act = act_layer()
        self.conv_h = nn.Conv2d(hidden, out_channels, 1, bias=mlp_bias)
        self.conv_w = nn.Conv2d(hidden, out_channels, 1, bias=mlp_bias)
        self.gate = gate_layer()

    def forward(self, x: Tensor) -> Tensor:
        height, width = x.shape[2:]
        rows = x.mean(3, keepdim=True)
        columns = x.mean(2, keepdim=True).transpose(2, 3)
        shared = self.act(self.bn1(self.conv1(flow.cat([rows, columns], dim=2))))
        rows, columns = shared.split([height, width], dim=2)
        return x * self.gate(self.conv_h(rows)) * self.gate(self.conv_w(columns.transpose(2, 3)))
