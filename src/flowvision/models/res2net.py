"""Res2Net: bottlenecks whose 3 x 3 convolution is a chain over groups of channels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import oneflow as flow
from flowvision.layers.weight_init import init_conv_
from flowvision.models.registry import ModelFamily
from oneflow import Tensor, nn


class Bottle2neck(nn.Module):
    """The paper's figure 2 (b): scales within a block, each seeing the one before.

    Input (N, inplanes, H, W), output (N, 4 * planes, H / stride, W / stride).

    Args:
        inplanes: channels of the input.
        planes: a quarter of the channels of the output.
        stride: the stride of the 3 x 3 convolutions.
        downsample: brings the shortcut to the shape of the output; the block is then the first of
            its stage, whose scales do not see each other.
        baseWidth: channels of a scale where `planes` is 64.
        scale: the number of scales.

    Example:
        >>> import oneflow as flow
        >>> from flowvision.models import Bottle2neck
        >>> Bottle2neck(64, 16)(flow.rand(1, 64, 6, 6)).shape
        oneflow.Size([1, 64, 6, 6])
    """

    expansion: ClassVar[int] = 4

    def __init__(
        self,
        inplanes: int,
        planes: int,
        stride: int = 1,
        downsample: nn.Module | None = None,
        baseWidth: int = 26,
        scale: int = 4,
    ) -> None:
        super().__init__()
        width = planes * baseWidth // 64
        self.scale = scale
        self.conv1 = nn.Conv2d(inplanes, width * scale, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(width * scale)
        self.convs = nn.ModuleList(
            nn.Conv2d(width, width, 3, stride=stride, padding=1, bias=False)
            for _ in range(scale - 1)
        )
        self.bns = nn.ModuleList(nn.BatchNorm2d(width) for _ in range(scale - 1))
        self.pool = None if downsample is None else nn.AvgPool2d(3, stride=stride, padding=1)
        self.conv3 = nn.Conv2d(width * scale, planes * self.expansion, 1, bias=False)
        self.bn3 = nn.BatchNorm2d(planes * self.expansion)
        self.relu = nn.ReLU(inplace=True)
        self.downsample = downsample

    def forward(self, x: Tensor) -> Tensor:
        shortcut = x if self.downsample is None else self.downsample(x)
        *parts, last = self.relu(self.bn1(self.conv1(x))).chunk(self.scale, dim=1)
        outputs: list[Tensor] = []
        for part, convolution, norm in zip(parts, self.convs, self.bns, strict=True):
            chained = part if self.pool is not None or not outputs else part + outputs[-1]
            outputs.append(self.relu(norm(convolution(chained))))
        outputs.append(last if self.pool is None else self.pool(last))
        x = self.bn3(self.conv3(flow.cat(outputs, dim=1)))
        return self.relu(x + shortcut)


class Res2Net(nn.Module):
    """Res2Net (https://arxiv.org/abs/1904.01169).

    Input (N, 3, H, W); output (N, num_classes).

    Args:
        block: makes a block; see `Bottle2neck`.
        layers: the number of blocks in each of the four stages.
        baseWidth: channels of a scale in the first stage.
        scale: the number of scales.
        num_classes: the number of classes.
    """

    def __init__(
        self,
        block: type[Bottle2neck],
        layers: Sequence[int],
        baseWidth: int = 26,
        scale: int = 4,
        num_classes: int = 1000,
    ) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(3, 64, 7, stride=2, padding=3, bias=False)
        self.bn1 = nn.BatchNorm2d(64)
        self.relu = nn.ReLU(inplace=True)
        self.maxpool = nn.MaxPool2d(3, stride=2, padding=1)
        channels = 64
        stages = []
        for index, depth in enumerate(layers):
            planes, stride = 64 * 2**index, 2 if index else 1
            out_channels = planes * block.expansion
            downsample = nn.Sequential(
                nn.Conv2d(channels, out_channels, 1, stride=stride, bias=False),
                nn.BatchNorm2d(out_channels),
            )
            blocks = [block(channels, planes, stride, downsample, baseWidth, scale)]
            blocks += [
                block(out_channels, planes, 1, None, baseWidth, scale) for _ in range(1, depth)
            ]
            stages.append(nn.Sequential(*blocks))
            channels = out_channels
        self.layer1, self.layer2, self.layer3, self.layer4 = stages
        self.avgpool = nn.AdaptiveAvgPool2d((1, 1))
        self.fc = nn.Linear(channels, num_classes)
        init_conv_(self)

    def forward(self, x: Tensor) -> Tensor:
        x = self.maxpool(self.relu(self.bn1(self.conv1(x))))
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return self.fc(flow.flatten(self.avgpool(x), 1))


_res2net = ModelFamily(
    __name__,
    Res2Net,
    paper="1904.01169",
    weights="https://huggingface.co/timm/{}/resolve/main/model.safetensors",
)

# fmt: off
res2net50_14w_8s = _res2net("res2net50_14w_8s",
    "Res2Net with 50 layers and 8 scales of 14 channels: 25 million parameters.",
    Bottle2neck, (3, 4, 6, 3), 14, 8, weights="res2net50_14w_8s.in1k")
res2net50_26w_4s = _res2net("res2net50_26w_4s",
    "Res2Net with 50 layers and 4 scales of 26 channels: 26 million parameters.",
    Bottle2neck, (3, 4, 6, 3), 26, 4, weights="res2net50_26w_4s.in1k")
res2net50_26w_6s = _res2net("res2net50_26w_6s",
    "Res2Net with 50 layers and 6 scales of 26 channels: 37 million parameters.",
    Bottle2neck, (3, 4, 6, 3), 26, 6, weights="res2net50_26w_6s.in1k")
res2net50_26w_8s = _res2net("res2net50_26w_8s",
    "Res2Net with 50 layers and 8 scales of 26 channels: 48 million parameters.",
    Bottle2neck, (3, 4, 6, 3), 26, 8, weights="res2net50_26w_8s.in1k")
res2net50_48w_2s = _res2net("res2net50_48w_2s",
    "Res2Net with 50 layers and 2 scales of 48 channels: 25 million parameters.",
    Bottle2neck, (3, 4, 6, 3), 48, 2, weights="res2net50_48w_2s.in1k")
res2net101_26w_4s = _res2net("res2net101_26w_4s",
    "Res2Net with 101 layers and 4 scales of 26 channels: 45 million parameters.",
    Bottle2neck, (3, 4, 23, 3), 26, 4, weights="res2net101_26w_4s.in1k")
