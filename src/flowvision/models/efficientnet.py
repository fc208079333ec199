"""EfficientNet: depth, width and resolution scaled together."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import oneflow as flow
from flowvision.layers.attention import SEModule
from flowvision.layers.blocks import ConvBn, ConvBnAct
from flowvision.layers.helpers import make_divisible
from flowvision.layers.regularization import StochasticDepth
from flowvision.layers.weight_init import init_conv_
from flowvision.models.registry import ModelFamily
from oneflow import Tensor, nn


@dataclass(frozen=True)
class MBConvConfig:
    """A stage: a row of the paper's table 1.

    Attributes:
        expand_ratio: the factor by which depthwise convolutions have more channels than inputs.
        kernel: the size of depthwise convolutions.
        stride: the stride of the first block.
        input_channels: the number of channels of the first block.
        out_channels: the number of channels of each block.
        num_layers: the number of blocks.
    """

    expand_ratio: int
    kernel: int
    stride: int
    input_channels: int
    out_channels: int
    num_layers: int

    def scaled(self, width_mult: float, depth_mult: float) -> MBConvConfig:
        """Return the stage with channels and depth multiplied, as in the paper's section 3."""
        return MBConvConfig(
            self.expand_ratio,
            self.kernel,
            self.stride,
            make_divisible(self.input_channels * width_mult),
            make_divisible(self.out_channels * width_mult),
            math.ceil(self.num_layers * depth_mult),
        )


# EfficientNet-B0.
_STAGES = (
    MBConvConfig(1, 3, 1, 32, 16, 1),
    MBConvConfig(6, 3, 2, 16, 24, 2),
    MBConvConfig(6, 5, 2, 24, 40, 2),
    MBConvConfig(6, 3, 2, 40, 80, 3),
    MBConvConfig(6, 5, 1, 80, 112, 3),
    MBConvConfig(6, 5, 2, 112, 192, 4),
    MBConvConfig(6, 3, 1, 192, 320, 1),
)


class MBConv(nn.Module):
    """A mobile inverted bottleneck with squeeze-and-excitation.

    Input (N, in_channels, H, W), output (N, out_channels, H / stride, W / stride); with equal
    shapes the input is added to the output.

    Args:
        in_channels: the number of channels of the input.
        out_channels: the number of channels of the output.
        expand_ratio: see `MBConvConfig`.
        kernel: the kernel size of the depthwise convolution.
        stride: the stride of the depthwise convolution.
        stochastic_depth_prob: the probability with which a sample skips the block in training.
        norm_layer: makes a normalization from the number of channels.
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        expand_ratio: int,
        kernel: int,
        stride: int,
        stochastic_depth_prob: float,
        norm_layer: Callable[[int], nn.Module] = nn.BatchNorm2d,
    ) -> None:
        super().__init__()
        self.use_res_connect = stride == 1 and in_channels == out_channels
        width = in_channels * expand_ratio
        options: dict[str, Any] = {"norm_layer": norm_layer, "act_layer": nn.SiLU}
        layers: list[nn.Module] = []
        if expand_ratio != 1:
            layers.append(ConvBnAct(in_channels, width, 1, **options))
        self.block = nn.Sequential(
            *layers,
            ConvBnAct(width, width, kernel, stride, groups=width, **options),
            SEModule(width, rd_channels=max(1, in_channels // 4), act_layer=nn.SiLU),
            ConvBn(width, out_channels, 1, norm_layer=norm_layer),
        )
        self.stochastic_depth = StochasticDepth(stochastic_depth_prob, "row")

    def forward(self, x: Tensor) -> Tensor:
        if self.use_res_connect:
            return x + self.stochastic_depth(self.block(x))
        return self.block(x)


class EfficientNet(nn.Module):
    """EfficientNet (https://arxiv.org/abs/1905.11946).

    Input (N, 3, H, W); output (N, num_classes).

    Args:
        inverted_residual_setting: the stages.
        dropout: the probability with which a feature is dropped before the classifier.
        stochastic_depth_prob: the probability with which a sample would skip a block after the
            last one; it grows linearly from the first block, where it is 0.
        num_classes: the number of classes.
        block: makes a block, see `MBConv`.
        norm_layer: makes a normalization from the number of channels.
    """

    def __init__(
        self,
        inverted_residual_setting: Sequence[MBConvConfig],
        dropout: float,
        stochastic_depth_prob: float = 0.2,
        num_classes: int = 1000,
        block: Callable[..., nn.Module] = MBConv,
        norm_layer: Callable[[int], nn.Module] = nn.BatchNorm2d,
    ) -> None:
        super().__init__()
        options: dict[str, Any] = {"norm_layer": norm_layer, "act_layer": nn.SiLU}
        total = sum(stage.num_layers for stage in inverted_residual_setting)
        built = 0
        stages: list[nn.Module] = []
        for stage in inverted_residual_setting:
            blocks = []
            for index in range(stage.num_layers):
                blocks.append(
                    block(
                        stage.out_channels if index else stage.input_channels,
                        stage.out_channels,
                        stage.expand_ratio,
                        stage.kernel,
                        1 if index else stage.stride,
                        stochastic_depth_prob * built / total,
                        norm_layer=norm_layer,
                    )
                )
                built += 1
            stages.append(nn.Sequential(*blocks))
        last = inverted_residual_setting[-1].out_channels
        self.features = nn.Sequential(
            ConvBnAct(3, inverted_residual_setting[0].input_channels, 3, 2, **options),
            *stages,
            ConvBnAct(last, 4 * last, 1, **options),
        )
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        self.classifier = nn.Sequential(
            nn.Dropout(dropout, inplace=True), nn.Linear(4 * last, num_classes)
        )
        init_conv_(self)
        bound = 1 / math.sqrt(num_classes)
        nn.init.uniform_(self.classifier[1].weight, -bound, bound)
        nn.init.zeros_(self.classifier[1].bias)

    def forward(self, x: Tensor) -> Tensor:
        x = self.avgpool(self.features(x))
        return self.classifier(flow.flatten(x, 1))


# The largest networks were trained with slower running statistics.
_SlowBatchNorm = functools.partial(nn.BatchNorm2d, eps=0.001, momentum=0.01)


def _build(width_mult: float, depth_mult: float, **kwargs: Any) -> EfficientNet:
    return EfficientNet([stage.scaled(width_mult, depth_mult) for stage in _STAGES], **kwargs)


_efficientnet = ModelFamily(
    __name__, _build, paper="1905.11946", weights="https://download.pytorch.org/models/{}.pth"
)

# fmt: off
efficientnet_b0 = _efficientnet("efficientnet_b0", "EfficientNet-B0: 5.3 million parameters.",
    1.0, 1.0, dropout=0.2, weights="efficientnet_b0_rwightman-7f5810bc")
efficientnet_b1 = _efficientnet("efficientnet_b1", "EfficientNet-B1: 7.8 million parameters.",
    1.0, 1.1, dropout=0.2, weights="efficientnet_b1-c27df63c")
efficientnet_b2 = _efficientnet("efficientnet_b2", "EfficientNet-B2: 9.1 million parameters.",
    1.1, 1.2, dropout=0.3, weights="efficientnet_b2_rwightman-c35c1473")
efficientnet_b3 = _efficientnet("efficientnet_b3", "EfficientNet-B3: 12 million parameters.",
    1.2, 1.4, dropout=0.3, weights="efficientnet_b3_rwightman-b3899882")
efficientnet_b4 = _efficientnet("efficientnet_b4", "EfficientNet-B4: 19 million parameters.",
    1.4, 1.8, dropout=0.4, weights="efficientnet_b4_rwightman-23ab8bcd")
efficientnet_b5 = _efficientnet("efficientnet_b5", "EfficientNet-B5: 30 million parameters.",
    1.6, 2.2, dropout=0.4, norm_layer=_SlowBatchNorm, weights="efficientnet_b5_lukemelas-1a07897c")
efficientnet_b6 = _efficientnet("efficientnet_b6", "EfficientNet-B6: 43 million parameters.",
    1.8, 2.6, dropout=0.5, norm_layer=_SlowBatchNorm, weights="efficientnet_b6_lukemelas-24a108a5")
efficientnet_b7 = _efficientnet("efficientnet_b7", "EfficientNet-B7: 66 million parameters.",
    2.0, 3.1, dropout=0.5, norm_layer=_SlowBatchNorm, weights="efficientnet_b7_lukemelas-c5b4e57e")
