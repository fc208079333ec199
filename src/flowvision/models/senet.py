"""SENet: residual networks with squeeze-and-excitation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import oneflow as flow
from flowvision.layers.attention import SEModule
from flowvision.layers.weight_init import init_conv_
from flowvision.models.registry import ModelFamily
from oneflow import Tensor, nn


class SEBottleneckBase(nn.Module):
    """A bottleneck with squeeze-and-excitation before the shortcut is added.

    Input (N, inplanes, H, W), output (N, 4 * planes, H / stride, W / stride).

    Args:
        inplanes: channels of the input.
        planes: a quarter of the channels of the output.
        widths: channels after the first and after the second convolution.
        strides: the strides of the first and of the second convolution.
        groups: the number of groups of the second convolution.
        reduction: the factor by which squeeze-and-excitation reduces the channels.
        downsample: brings the shortcut to the shape of the output; none if it has it.
    """

    expansion: ClassVar[int] = 4

    def __init__(
        self,
        inplanes: int,
        planes: int,
        widths: tuple[int, int],
        strides: tuple[int, int],
        groups: int,
        reduction: int,
        downsample: nn.Module | None,
    ) -> None:
        super().__init__()
        first, second = widths
        self.conv1 = nn.Conv2d(inplanes, first, 1, stride=strides[0], bias=False)
        self.bn1 = nn.BatchNorm2d(first)
        self.conv2 = nn.Conv2d(
            first, second, 3, stride=strides[1], padding=1, groups=groups, bias=False
        )
        self.bn2 = nn.BatchNorm2d(second)
        self.conv3 = nn.Conv2d(second, planes * self.expansion, 1, bias=False)
        self.bn3 = nn.BatchNorm2d(planes * self.expansion)
        self.relu = nn.ReLU(inplace=True)
        self.se_module = SEModule(planes * self.expansion, reduction)
        self.downsample = downsample

    def forward(self, x: Tensor) -> Tensor:
        shortcut = x if self.downsample is None else self.downsample(x)
        x = self.relu(self.bn1(self.conv1(x)))
        x = self.relu(self.bn2(self.conv2(x)))
        return self.relu(self.se_module(self.bn3(self.conv3(x))) + shortcut)


class SEBottleneck(SEBottleneckBase):
    """The bottleneck of SENet-154: twice the channels, in groups."""

    def __init__(
        self,
        inplanes: int,
        planes: int,
        groups: int,
        reduction: int,
        stride: int = 1,
        downsample: nn.Module | None = None,
    ) -> None:
        widths = (2 * planes, 4 * planes)
        super().__init__(inplanes, planes, widths, (1, stride), groups, reduction, downsample)


class SEResNetBottleneck(SEBottleneckBase):
    """The bottleneck of ResNet in its first form, with the stride in the first convolution."""

    def __init__(
        self,
        inplanes: int,
        planes: int,
        groups: int,
        reduction: int,
        stride: int = 1,
        downsample: nn.Module | None = None,
    ) -> None:
        widths = (planes, planes)
        super().__init__(inplanes, planes, widths, (stride, 1), groups, reduction, downsample)


class SEResNeXtBottleneck(SEBottleneckBase):
    """The bottleneck of ResNeXt with 4 channels per group in the first stage."""

    def __init__(
        self,
        inplanes: int,
        planes: int,
        groups: int,
        reduction: int,
        stride: int = 1,
        downsample: nn.Module | None = None,
    ) -> None:
        width = planes * 4 // 64 * groups
        widths = (width, width)
        super().__init__(inplanes, planes, widths, (1, stride), groups, reduction, downsample)


class SENet(nn.Module):
    """SENet (https://arxiv.org/abs/1709.01507).

    Input (N, 3, H, W); output (N, num_classes).

    Args:
        block: makes a block from channels of the input, a quarter of those of the output, groups,
            reduction, stride and shortcut; see `SEBottleneckBase`.
        layers: the number of blocks in each of the four stages.
        groups: the number of groups of the 3 x 3 convolutions.
        reduction: the factor by which squeeze-and-excitation reduces the channels.
        dropout_p: the probability with which a feature is dropped before the classifier; None for
            no dropout.
        inplanes: channels of the first blocks' input.
        input_3x3: whether the network begins with three 3 x 3 convolutions, instead of one of
            7 x 7.
        downsample_kernel_size: the kernel size of the shortcuts with a stride.
        downsample_padding: the padding of the shortcuts with a stride.
        num_classes: the number of classes.
    """

    def __init__(
        self,
        block: Callable[..., SEBottleneckBase],
        layers: Sequence[int],
        groups: int,
        reduction: int,
        dropout_p: float | None = 0.2,
        inplanes: int = 128,
        input_3x3: bool = True,
        downsample_kernel_size: int = 3,
        downsample_padding: int = 1,
        num_classes: int = 1000,
    ) -> None:
        super().__init__()
        self.layer0 = _three_convs(inplanes) if input_3x3 else _one_convolution(inplanes)
        self.pool0 = nn.MaxPool2d(3, stride=2, ceil_mode=True)
        channels = inplanes
        stages = []
        for index, depth in enumerate(layers):
            planes = 64 * 2**index
            out_channels = planes * SEBottleneckBase.expansion
            stride, kernel, padding = 1, 1, 0
            if index:
                stride, kernel, padding = 2, downsample_kernel_size, downsample_padding
            downsample = nn.Sequential(
                nn.Conv2d(
                    channels, out_channels, kernel, stride=stride, padding=padding, bias=False
                ),
                nn.BatchNorm2d(out_channels),
            )
            blocks = [block(channels, planes, groups, reduction, stride, downsample)]
            blocks += [block(out_channels, planes, groups, reduction) for _ in range(1, depth)]
            stages.append(nn.Sequential(*blocks))
            channels = out_channels
        self.layer1, self.layer2, self.layer3, self.layer4 = stages
        self.avg_pool = nn.AdaptiveAvgPool2d((1, 1))
        self.dropout = nn.Identity() if dropout_p is None else nn.Dropout(dropout_p)
        self.last_linear = nn.Linear(channels, num_classes)
        init_conv_(self)

    def features(self, x: Tensor) -> Tensor:
        """Return the output of the last stage, (N, 2048, H / 32, W / 32)."""
        x = self.layer1(self.pool0(self.layer0(x)))
        return self.layer4(self.layer3(self.layer2(x)))

    def logits(self, x: Tensor) -> Tensor:
        """Return the classifier's output for the output of `features`."""
        return self.last_linear(self.dropout(flow.flatten(self.avg_pool(x), 1)))

    def forward(self, x: Tensor) -> Tensor:
        return self.logits(self.features(x))


def _three_convs(out_channels: int) -> nn.Sequential:
    stem = nn.Sequential()
    channels = 3
    for number, width, stride in ((1, 64, 2), (2, 64, 1), (3, out_channels, 1)):
        convolution = nn.Conv2d(channels, width, 3, stride=stride, padding=1, bias=False)
        stem.add_module(f"conv{number}", convolution)
        stem.add_module(f"bn{number}", nn.BatchNorm2d(width))
        stem.add_module(f"relu{number}", nn.ReLU(inplace=True))
        channels = width
    return stem


def _one_convolution(out_channels: int) -> nn.Sequential:
    stem = nn.Sequential()
    stem.add_module("conv1", nn.Conv2d(3, out_channels, 7, stride=2, padding=3, bias=False))
    stem.add_module("bn1", nn.BatchNorm2d(out_channels))
    stem.add_module("relu1", nn.ReLU(inplace=True))
    return stem


# A network with ResNet's beginning and shortcuts.
_RESNET: dict[str, Any] = {
    "reduction": 16,
    "dropout_p": None,
    "inplanes": 64,
    "input_3x3": False,
    "downsample_kernel_size": 1,
    "downsample_padding": 0,
}

_senet = ModelFamily(
    __name__,
    SENet,
    paper="1709.01507",
    weights="https://github.com/rwightman/pytorch-image-models/releases/download/{}.pth",
)

# fmt: off
senet154 = _senet("senet154",
    "SENet-154, the paper's winner of ILSVRC 2017: 115 million parameters.",
    SEBottleneck, (3, 8, 36, 3), groups=64, reduction=16)
se_resnet50 = _senet("se_resnet50", "SE-ResNet with 50 layers: 28 million parameters.",
    SEResNetBottleneck, (3, 4, 6, 3), groups=1, **_RESNET,
    weights="v0.1-cadene/se_resnet50-ce0d4300")
se_resnet101 = _senet("se_resnet101", "SE-ResNet with 101 layers: 49 million parameters.",
    SEResNetBottleneck, (3, 4, 23, 3), groups=1, **_RESNET,
    weights="v0.1-cadene/se_resnet101-7e38fcc6")
se_resnet152 = _senet("se_resnet152", "SE-ResNet with 152 layers: 67 million parameters.",
    SEResNetBottleneck, (3, 8, 36, 3), groups=1, **_RESNET,
    weights="v0.1-cadene/se_resnet152-d17c99b7")
se_resnext50_32x4d = _senet("se_resnext50_32x4d",
    "SE-ResNeXt with 50 layers: 28 million parameters.",
    SEResNeXtBottleneck, (3, 4, 6, 3), groups=32, **_RESNET,
    weights="v0.1-weights/legacy_se_resnext50_32x4d-f3651bad")
se_resnext101_32x4d = _senet("se_resnext101_32x4d",
    "SE-ResNeXt with 101 layers: 49 million parameters.",
    SEResNeXtBottleneck, (3, 4, 23, 3), groups=32, **_RESNET,
    weights="v0.1-weights/legacy_se_resnext101_32x4d-37725eac")
