"""ReXNet-lite: ReXNet for phones, without squeeze-and-excitation and swish."""

from __future__ import annotations

import oneflow as flow
from flowvision.layers.blocks import ConvBn
from flowvision.layers.helpers import make_divisible
from flowvision.layers.weight_init import init_conv_
from flowvision.models.registry import ModelFamily
from flowvision.models.rexnet import add_to_first_channels
from oneflow import Tensor, nn

_DEPTHS = (1, 2, 2, 3, 3, 5)
_STRIDES = (1, 2, 2, 2, 1, 2)


class LinearBottleneck(nn.Module):
    """An inverted residual whose shortcut goes to the first channels of the output.

    Input (N, in_channels, H, W), output (N, channels, H / stride, W / stride).

    Args:
        in_channels: the number of channels of the input.
        channels: the number of channels of the output.
        t: the factor by which the depthwise convolution has more channels than the input.
        kernel_size: the kernel size of the depthwise convolution.
        stride: the stride of the depthwise convolution.

    Example:
        >>> import oneflow as flow
        >>> from flowvision.models import LinearBottleneck
        >>> LinearBottleneck(8, 16, t=2, stride=2)(flow.rand(1, 8, 6, 6)).shape
        oneflow.Size([1, 16, 3, 3])
    """

    def __init__(
        self, in_channels: int, channels: int, t: int, kernel_size: int = 3, stride: int = 1
    ) -> None:
        super().__init__()
        self.use_shortcut = stride == 1 and in_channels <= channels
        width = in_channels * t
        layers: list[nn.Module] = []
        if t != 1:
            layers += [*ConvBn(in_channels, width), nn.ReLU6(inplace=True)]
        layers += [
            *ConvBn(width, width, kernel_size, stride, groups=width),
            nn.ReLU6(inplace=True),
            *ConvBn(width, channels),
        ]
        self.out = nn.Sequential(*layers)

    def forward(self, x: Tensor) -> Tensor:
        out = self.out(x)
        return add_to_first_channels(out, x) if self.use_shortcut else out


class ReXNetV1_lite(nn.Module):
    """ReXNet-lite (https://arxiv.org/abs/2007.00992).

    Input (N, 3, H, W); output (N, num_classes).

    Args:
        fix_head_stem: whether the first and the last convolution keep their channels.
        divisible_value: a divisor of the numbers of channels.
        input_ch: channels of the first block.
        final_ch: by how many the channels grow to the last block.
        multiplier: the factor by which all numbers of channels are multiplied.
        num_classes: the number of classes.
        dropout_ratio: the probability with which a feature is dropped before the classifier.
        kernel_conf: the size of the depthwise convolutions of each of the six stages.
        classes: upstream's name of `num_classes`.
    """

    def __init__(
        self,
        fix_head_stem: bool = False,
        divisible_value: int = 8,
        input_ch: int = 16,
        final_ch: int = 164,
        multiplier: float = 1.0,
        num_classes: int = 1000,
        dropout_ratio: float = 0.2,
        kernel_conf: str = "333333",
        classes: int | None = None,
    ) -> None:
        super().__init__()

        def scaled(channels: float) -> int:
            return make_divisible(round(channels * multiplier), divisible_value)

        channels = 32 if fix_head_stem else scaled(32)
        layers: list[nn.Module] = [*ConvBn(3, channels, 3, 2), nn.ReLU6(inplace=True)]
        total, built = sum(_DEPTHS), 0
        for depth, first_stride, kernel in zip(_DEPTHS, _STRIDES, kernel_conf, strict=True):
            for index in range(depth):
                width = scaled(input_ch + built * final_ch / (total - 1))
                stride = 1 if index else first_stride
                expansion = 6 if built else 1
                block = LinearBottleneck(channels, width, expansion, int(kernel), stride)
                layers.append(block)
                channels = width
                built += 1
        last = 1280 if fix_head_stem else scaled(1280)
        layers += [*ConvBn(channels, last), nn.ReLU6(inplace=True), nn.AdaptiveAvgPool2d(1)]
        self.features = nn.Sequential(*layers)
        self.output = nn.Sequential(
            nn.Conv2d(last, 1024, 1),
            nn.BatchNorm2d(1024),
            nn.ReLU6(inplace=True),
            nn.Dropout(dropout_ratio),
            nn.Conv2d(1024, classes or num_classes, 1),
        )
        init_conv_(self)

    def forward(self, x: Tensor) -> Tensor:
        return flow.flatten(self.output(self.features(x)), 1)


_rexnet = ModelFamily(__name__, ReXNetV1_lite, paper="2007.00992")

# fmt: off
rexnet_lite_1_0 = _rexnet("rexnet_lite_1_0", "ReXNet-lite: 4.7 million parameters.", multiplier=1.0)
rexnet_lite_1_3 = _rexnet("rexnet_lite_1_3",
    "ReXNet-lite of 1.3 times the channels: 6.7 million parameters.", multiplier=1.3)
rexnet_lite_1_5 = _rexnet("rexnet_lite_1_5",
    "ReXNet-lite of 1.5 times the channels: 8.3 million parameters.", multiplier=1.5)
rexnet_lite_2_0 = _rexnet("rexnet_lite_2_0",
    "ReXNet-lite of twice the channels: 13 million parameters.", multiplier=2.0)
