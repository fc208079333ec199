"""MobileNetV2: inverted residuals and linear bottlenecks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import oneflow as flow
from flowvision.layers.blocks import ConvBnAct
from flowvision.layers.helpers import make_divisible
from flowvision.layers.weight_init import init_conv_
from flowvision.models.registry import register_model
from oneflow import Tensor, nn

# The paper's table 2: expansion, channels, number of blocks, stride of the first one.
_SETTING = (
    (1, 16, 1, 1),
    (6, 24, 2, 2),
    (6, 32, 3, 2),
    (6, 64, 4, 2),
    (6, 96, 3, 1),
    (6, 160, 3, 2),
    (6, 320, 1, 1),
)


class InvertedResidual(nn.Module):
    """A depthwise convolution of many channels between 1 x 1 convolutions, the last one linear.

    Input (N, inp, H, W), output (N, oup, H / stride, W / stride); with equal shapes the input is
    added to the output.

    Args:
        inp: channels of the input.
        oup: channels of the output.
        stride: the stride of the depthwise convolution, 1 or 2.
        expand_ratio: the factor by which the depthwise convolution has more channels than the
            input.
        norm_layer: makes a normalization from the number of channels.

    Raises:
        ValueError: if the stride is neither 1 nor 2.
    """

    def __init__(
        self,
        inp: int,
        oup: int,
        stride: int,
        expand_ratio: float,
        norm_layer: Callable[[int], nn.Module] = nn.BatchNorm2d,
    ) -> None:
        if stride not in (1, 2):
            raise ValueError(f"`stride` must be 1 or 2, got {stride}")
        super().__init__()
        self.out_channels = oup
        self.stride = stride
        self.use_res_connect = stride == 1 and inp == oup
        width = round(inp * expand_ratio)
        options: dict[str, Any] = {"norm_layer": norm_layer, "act_layer": nn.ReLU6}
        layers: list[nn.Module] = []
        if expand_ratio != 1:
            layers.append(ConvBnAct(inp, width, 1, **options))
        self.conv = nn.Sequential(
            *layers,
            ConvBnAct(width, width, 3, stride, groups=width, **options),
            nn.Conv2d(width, oup, 1, bias=False),
            norm_layer(oup),
        )

    def forward(self, x: Tensor) -> Tensor:
        return x + self.conv(x) if self.use_res_connect else self.conv(x)


class MobileNetV2(nn.Module):
    """MobileNetV2 (https://arxiv.org/abs/1801.04381).

    Input (N, 3, H, W); output (N, num_classes).

    Args:
        num_classes: the number of classes.
        width_mult: the factor by which all numbers of channels are multiplied.
        inverted_residual_setting: a row for each stage: expansion, channels, number of blocks,
            stride of the first one.
        round_nearest: a divisor of the numbers of channels.
        block: makes a block, see `InvertedResidual`.
        norm_layer: makes a normalization from the number of channels.
        dropout: the probability with which a feature is dropped before the classifier.
    """

    def __init__(
        self,
        num_classes: int = 1000,
        width_mult: float = 1.0,
        inverted_residual_setting: Sequence[Sequence[int]] = _SETTING,
        round_nearest: int = 8,
        block: Callable[..., nn.Module] = InvertedResidual,
        norm_layer: Callable[[int], nn.Module] = nn.BatchNorm2d,
        dropout: float = 0.2,
    ) -> None:
        super().__init__()
        options: dict[str, Any] = {"norm_layer": norm_layer, "act_layer": nn.ReLU6}
        channels = make_divisible(32 * width_mult, round_nearest)
        self.last_channel = make_divisible(1280 * max(1.0, width_mult), round_nearest)
        layers: list[nn.Module] = [ConvBnAct(3, channels, 3, 2, **options)]
        for expansion, base, depth, first_stride in inverted_residual_setting:
            width = make_divisible(base * width_mult, round_nearest)
            for index in range(depth):
                stride = first_stride if index == 0 else 1
                layers.append(block(channels, width, stride, expansion, norm_layer=norm_layer))
                channels = width
        layers.append(ConvBnAct(channels, self.last_channel, 1, **options))
        self.features = nn.Sequential(*layers)
        self.classifier = nn.Sequential(
            nn.Dropout(dropout), nn.Linear(self.last_channel, num_classes)
        )
        init_conv_(self, linear_std=0.01)

    def forward(self, x: Tensor) -> Tensor:
        x = nn.functional.adaptive_avg_pool2d(self.features(x), (1, 1))
        return self.classifier(flow.flatten(x, 1))


@register_model(
    paper="1801.04381", url="https://download.pytorch.org/models/mobilenet_v2-7ebf99e0.pth"
)
def mobilenet_v2(**kwargs: Any) -> MobileNetV2:
    """MobileNetV2: 3.5 million parameters."""
    return MobileNetV2(**kwargs)
