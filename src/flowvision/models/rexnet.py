"""ReXNet: channels that grow a little with each block, instead of with each stage."""

from __future__ import annotations

import math

import oneflow as flow
from flowvision.layers.blocks import ConvBn
from flowvision.layers.weight_init import init_conv_
from flowvision.models.registry import ModelFamily
from oneflow import Tensor, nn

_DEPTHS = (1, 2, 2, 3, 3, 5)
_STRIDES = (1, 2, 2, 2, 1, 2)
_SQUEEZED = (False, False, True, True, True, True)


class SE(nn.Module):
    """Squeeze-and-excitation with a normalization between its two layers.

    Input and output (N, channels, H, W).

    Args:
        channels: the number of channels of the input.
        se_ratio: the factor by which the layer between has fewer channels.

    Example:
        >>> import oneflow as flow
        >>> from flowvision.models import SE
        >>> SE(24)(flow.rand(2, 24, 6, 6)).shape
        oneflow.Size([2, 24, 6, 6])
    """

    def __init__(self, channels: int, se_ratio: int = 12) -> None:
        super().__init__()
        self.fc = nn.Sequential(
            nn.Conv2d(channels, channels // se_ratio, 1),
            nn.BatchNorm2d(channels // se_ratio),
            nn.ReLU(inplace=True),
            nn.Conv2d(channels // se_ratio, channels, 1),
            nn.Sigmoid(),
        )

    def forward(self, x: Tensor) -> Tensor:
        return x * self.fc(x.mean((2, 3), keepdim=True))


def ConvBNAct(
    out: list[nn.Module],
    in_channels: int,
    channels: int,
    kernel: int = 1,
    stride: int = 1,
    pad: int = 0,
    num_group: int = 1,
    active: bool = True,
    relu6: bool = False,
) -> None:
    """Append a convolution without bias, a normalization and a rectifier to a list.

    Args:
        out: the list.
        in_channels: the number of channels of the input.
        channels: the number of channels of the output.
        kernel: the kernel size of the convolution.
        stride: the stride of the convolution.
        pad: the padding of the convolution.
        num_group: the number of groups of the convolution.
        active: whether there is a rectifier.
        relu6: whether it ends at 6.

    Example:
        >>> from flowvision.models import ConvBNAct
        >>> layers = []
        >>> ConvBNAct(layers, 3, 8, kernel=3, pad=1)
        >>> [type(layer).__name__ for layer in layers]
        ['Conv2d', 'BatchNorm2d', 'ReLU']
    """
    out.extend(ConvBn(in_channels, channels, kernel, stride, pad, groups=num_group))
    if active:
        out.append(nn.ReLU6(inplace=True) if relu6 else nn.ReLU(inplace=True))


def ConvBNSiLU(
    out: list[nn.Module],
    in_channels: int,
    channels: int,
    kernel: int = 1,
    stride: int = 1,
    pad: int = 0,
    num_group: int = 1,
) -> None:
    """Append a convolution, a normalization and swish to a list; see `ConvBNAct`.

    Example:
        >>> from flowvision.models import ConvBNSiLU
        >>> layers = []
        >>> ConvBNSiLU(layers, 3, 8)
        >>> [type(layer).__name__ for layer in layers]
        ['Conv2d', 'BatchNorm2d', 'SiLU']
    """
    ConvBNAct(out, in_channels, channels, kernel, stride, pad, num_group, active=False)
    out.append(nn.SiLU(inplace=True))


def add_to_first_channels(x: Tensor, shortcut: Tensor) -> Tensor:
    """Return `x` with `shortcut`, which has as many channels or fewer, added to its first ones."""
    channels = shortcut.shape[1]
    if channels == x.shape[1]:
        return x + shortcut
    return flow.cat([x[:, :channels] + shortcut, x[:, channels:]], dim=1)


class RexNetBottleneck(nn.Module):
    """An inverted residual whose shortcut goes to the first channels of the output.

    Input (N, in_channels, H, W), output (N, channels, H / stride, W / stride).

    Args:
        in_channels: the number of channels of the input.
        channels: the number of channels of the output.
        t: the factor by which the depthwise convolution has more channels than the input.
        stride: the stride of the depthwise convolution.
        se_ratio: the ratio of squeeze-and-excitation; 0 for none.
    """

    def __init__(self, in_channels: int, channels: int, t: int, stride: int, se_ratio: int) -> None:
        super().__init__()
        self.use_shortcut = stride == 1 and in_channels <= channels
        width = in_channels * t
        layers: list[nn.Module] = []
        if t != 1:
            ConvBNSiLU(layers, in_channels, width)
        ConvBNAct(layers, width, width, 3, stride, 1, num_group=width, active=False)
        if se_ratio:
            layers.append(SE(width, se_ratio))
        layers.append(nn.ReLU6(inplace=True))
        ConvBNAct(layers, width, channels, active=False)
        self.out = nn.Sequential(*layers)

    def forward(self, x: Tensor) -> Tensor:
        out = self.out(x)
        return add_to_first_channels(out, x) if self.use_shortcut else out


class RexNetV1(nn.Module):
    """ReXNet (https://arxiv.org/abs/2007.00992).

    Input (N, 3, H, W); output (N, num_classes).

    Args:
        input_ch: channels of the first block.
        final_ch: by how many the channels grow.
        width_mult: the factor by which all numbers of channels are multiplied.
        depth_mult: the factor by which the depths of stages are multiplied.
        num_classes: the number of classes.
        use_se: whether the last four stages have squeeze-and-excitation.
        se_ratio: the factor by which squeeze-and-excitation reduces the channels.
        dropout_ratio: the probability with which a feature is dropped before the classifier.
        classes: upstream's name of `num_classes`.
    """

    def __init__(
        self,
        input_ch: int = 16,
        final_ch: int = 180,
        width_mult: float = 1.0,
        depth_mult: float = 1.0,
        num_classes: int = 1000,
        use_se: bool = True,
        se_ratio: int = 12,
        dropout_ratio: float = 0.2,
        classes: int | None = None,
    ) -> None:
        super().__init__()
        depths = [math.ceil(depth * depth_mult) for depth in _DEPTHS]
        total = sum(depths)
        scale = max(width_mult, 1.0)  # narrow networks keep the channels of their beginning
        channels = round(32 * scale)
        layers: list[nn.Module] = []
        ConvBNSiLU(layers, 3, channels, 3, 2, 1)
        built = 0
        for depth, first_stride, squeezed in zip(depths, _STRIDES, _SQUEEZED, strict=True):
            for index in range(depth):
                base = input_ch * scale / width_mult + built * final_ch / total
                width = round(base * width_mult)
                stride = 1 if index else first_stride
                ratio = se_ratio if use_se and squeezed else 0
                expansion = 6 if built >= depths[0] else 1
                layers.append(RexNetBottleneck(channels, width, expansion, stride, ratio))
                channels = width
                built += 1
        last = int(1280 * width_mult)
        ConvBNSiLU(layers, channels, last)
        layers.append(nn.AdaptiveAvgPool2d(1))
        self.features = nn.Sequential(*layers)
        self.output = nn.Sequential(
            nn.Dropout(dropout_ratio), nn.Conv2d(last, classes or num_classes, 1)
        )
        init_conv_(self)

    def extract_features(self, x: Tensor) -> Tensor:
        """Return the mean features of images, (N, channels, 1, 1)."""
        return self.features(x)

    def forward(self, x: Tensor) -> Tensor:
        return flow.flatten(self.output(self.extract_features(x)), 1)


_rexnet = ModelFamily(__name__, RexNetV1, paper="2007.00992")

# fmt: off
rexnetv1_1_0 = _rexnet("rexnetv1_1_0", "ReXNet: 4.8 million parameters.", width_mult=1.0)
rexnetv1_1_3 = _rexnet("rexnetv1_1_3", "ReXNet of 1.3 times the channels: 7.6 million parameters.",
    width_mult=1.3)
rexnetv1_1_5 = _rexnet("rexnetv1_1_5", "ReXNet of 1.5 times the channels: 9.7 million parameters.",
    width_mult=1.5)
rexnetv1_2_0 = _rexnet("rexnetv1_2_0", "ReXNet of twice the channels: 16 million parameters.",
    width_mult=2.0)
rexnetv1_3_0 = _rexnet("rexnetv1_3_0", "ReXNet of three times the channels: 35 million parameters.",
    width_mult=3.0)
