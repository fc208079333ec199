"""Bottleneck attention (https://arxiv.org/abs/1807.06514)."""

from __future__ import annotations

from collections.abc import Callable

from flowvision.layers.blocks.conv_bn_act import ConvBnAct
from flowvision.layers.helpers import make_divisible
from oneflow import Tensor, nn


class LinearBnAct(nn.Sequential):
    """A linear layer, a normalization and an activation.

    Input (N, in_features), output (N, out_features).

    Args:
        in_features: the number of features of the input.
        out_features: the number of features of the output.
        act_layer: makes the activation.
        fc: makes the linear layer.
        normalization: makes the normalization from the number of features.
        bias: whether the linear layer has a bias.
    """

    def __init__(
        self,
        in_features: int,
        out_features: int,
        act_layer: Callable[[], nn.Module] = nn.ReLU,
        fc: Callable[..., nn.Module] = nn.Linear,
        normalization: Callable[[int], nn.Module] = nn.BatchNorm1d,
        bias: bool = False,
    ) -> None:
        linear = fc(in_features, out_features, bias=bias)
        super().__init__(linear, normalization(out_features), act_layer())


class BamChannelAttn(nn.Module):
    """The logits of channels, from their means over the image.

    Input (N, channels, H, W), output (N, channels, 1, 1).

    Args:
        channels: the number of channels of the input.
        rd_ratio: features of hidden layers, as a share of `channels`.
        rd_channels: features of hidden layers, instead of `rd_ratio`.
        rd_divisor: a divisor of the number of these features.
        act_layer: makes an activation.
        num_layers: the number of hidden layers, at least 1.
        mlp_bias: whether hidden layers have biases.
    """

    def __init__(
        self,
        channels: int,
        rd_ratio: float = 1 / 16,
        rd_channels: int | None = None,
        rd_divisor: int = 1,
        act_layer: Callable[[], nn.Module] = nn.ReLU,
        num_layers: int = 2,
        mlp_bias: bool = False,
    ) -> None:
        super().__init__()
        width = rd_channels or make_divisible(channels * rd_ratio, rd_divisor, round_limit=0)
        self.fc_layers = nn.Sequential(
            LinearBnAct(channels, width, act_layer, bias=mlp_bias),
            *(LinearBnAct(width, width, act_layer, bias=mlp_bias) for _ in range(1, num_layers)),
            nn.Linear(width, channels),
        )

    def forward(self, x: Tensor) -> Tensor:
        return self.fc_layers(x.mean((2, 3)))[:, :, None, None]


class BamSpatialAttn(nn.Module):
    """The logits of positions, from dilated convolutions.

    Input (N, channels, H, W), output (N, 1, H, W).

    Args:
        channels: the number of channels of the input.
        rd_ratio: channels of hidden layers, as a share of `channels`.
        rd_channels: channels of hidden layers, instead of `rd_ratio`.
        rd_divisor: a divisor of the number of these channels.
        act_layer: makes an activation.
        num_layers: the number of dilated 3 x 3 convolutions.
        dilation: the dilation of these.
        mlp_bias: whether hidden layers have biases.
    """

    def __init__(
        self,
        channels: int,
        rd_ratio: float = 1 / 16,
        rd_channels: int | None = None,
        rd_divisor: int = 1,
        act_layer: Callable[[], nn.Module] = nn.ReLU,
        num_layers: int = 1,
        dilation: int = 4,
        mlp_bias: bool = False,
    ) -> None:
        super().__init__()
        width = rd_channels or make_divisible(channels * rd_ratio, rd_divisor, round_limit=0)
        dilated = (
            ConvBnAct(width, width, 3, act_layer=act_layer, bias=mlp_bias, dilation=dilation)
            for _ in range(num_layers)
        )
        self.conv_layers = nn.Sequential(
            ConvBnAct(channels, width, 1, act_layer=act_layer, bias=mlp_bias),
            *dilated,
            nn.Conv2d(width, 1, 1),
        )

    def forward(self, x: Tensor) -> Tensor:
        return self.conv_layers(x)


class BAMModule(nn.Module):
    """Channels and positions weighed together: ``x * (1 + gate(channels + positions))``.

    Input and output (N, channels, H, W); N at least 2 in training.

    Args:
        channels: the number of channels of the input.
        rd_ratio: see `BamChannelAttn`.
        rd_channels: see `BamChannelAttn`.
        rd_divisor: see `BamChannelAttn`.
        act_layer: makes an activation.
        gate_layer: makes the function from logits to weights.
        num_channel_attn_layers: the number of hidden layers for channels.
        num_spatial_attn_layers: the number of dilated convolutions for positions.
        mlp_bias: whether hidden layers have biases.

    Example:
        >>> import oneflow as flow
        >>> from flowvision.layers import BAMModule
        >>> BAMModule(32)(flow.rand(2, 32, 8, 8)).shape
        oneflow.Size([2, 32, 8, 8])
    """

    def __init__(
        self,
        channels: int,
        rd_ratio: float = 1 / 16,
        rd_channels: int | None = None,
        rd_divisor: int = 1,
        act_layer: Callable[[], nn.Module] = nn.ReLU,
        gate_layer: Callable[[], nn.Module] = nn.Sigmoid,
        num_channel_attn_layers: int = 2,
        num_spatial_attn_layers: int = 2,
        mlp_bias: bool = False,
    ) -> None:
        super().__init__()
        reduction = (channels, rd_ratio, rd_channels, rd_divisor, act_layer)
        self.channel = BamChannelAttn(*reduction, num_channel_attn_layers, mlp_bias)
        self.spatial = BamSpatialAttn(*reduction, num_spatial_attn_layers, mlp_bias=mlp_bias)
        self.gate = gate_layer()

    def forward(self, x: Tensor) -> Tensor:
        return x * (1 + self.gate(self.channel(x) + self.spatial(x)))
