"""ResNeSt: residual networks with attention between splits of the channels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import oneflow as flow
from flowvision.layers.weight_init import init_conv_
from flowvision.models.registry import ModelFamily
from oneflow import Tensor, nn

_RADIX = 2


class SplitAttn(nn.Module):
    """A grouped 3 x 3 convolution to `radix` splits, which attention weighs channel by channel.

    Input and output (N, channels, H, W).

    Args:
        channels: the number of channels of the input and of each split.
        radix: the number of splits.
    """

    def __init__(self, channels: int, radix: int = _RADIX) -> None:
        super().__init__()
        self.radix = radix
        squeezed = max(channels * radix // 4, 32)
        self.conv = nn.Conv2d(channels, channels * radix, 3, padding=1, groups=radix, bias=False)
        self.bn0 = nn.BatchNorm2d(channels * radix)
        self.fc1 = nn.Conv2d(channels, squeezed, 1)
        self.bn1 = nn.BatchNorm2d(squeezed)
        self.fc2 = nn.Conv2d(squeezed, channels * radix, 1)

    def forward(self, x: Tensor) -> Tensor:
        x = nn.functional.relu(self.bn0(self.conv(x)))
        batch, channels, height, width = x.shape
        splits = x.reshape(batch, self.radix, channels // self.radix, height, width)
        pooled = splits.sum(1).mean((2, 3), keepdim=True)
        logits = self.fc2(nn.functional.relu(self.bn1(self.fc1(pooled))))
        weights = logits.reshape(batch, self.radix, -1, 1, 1).softmax(1)
        return (splits * weights).sum(1)


class ResNestBottleneck(nn.Module):
    """A bottleneck around split attention, with average pooling instead of strides.

    Input (N, inplanes, H, W), output (N, 4 * planes, H / stride, W / stride).

    Args:
        inplanes: channels of the input.
        planes: a quarter of the channels of the output.
        stride: the stride of the pooling after split attention.
        downsample: brings the shortcut to the shape of the output; none if it has it.
    """

    expansion: ClassVar[int] = 4

    def __init__(
        self, inplanes: int, planes: int, stride: int = 1, downsample: nn.Module | None = None
    ) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(inplanes, planes, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(planes)
        self.conv2 = SplitAttn(planes)
        self.avd_last = nn.AvgPool2d(3, stride=stride, padding=1) if stride > 1 else nn.Identity()
        self.conv3 = nn.Conv2d(planes, planes * self.expansion, 1, bias=False)
        self.bn3 = nn.BatchNorm2d(planes * self.expansion)
        self.relu = nn.ReLU(inplace=True)
        self.downsample = downsample

    def forward(self, x: Tensor) -> Tensor:
        shortcut = x if self.downsample is None else self.downsample(x)
        x = self.relu(self.bn1(self.conv1(x)))
        x = self.bn3(self.conv3(self.avd_last(self.conv2(x))))
        return self.relu(x + shortcut)


def _deep_stem(width: int) -> nn.Sequential:
    """Return three 3 x 3 convolutions, the first with a stride, to ``2 * width`` channels."""
    return nn.Sequential(
        nn.Conv2d(3, width, 3, stride=2, padding=1, bias=False),
        nn.BatchNorm2d(width),
        nn.ReLU(inplace=True),
        nn.Conv2d(width, width, 3, padding=1, bias=False),
        nn.BatchNorm2d(width),
        nn.ReLU(inplace=True),
        nn.Conv2d(width, 2 * width, 3, padding=1, bias=False),
    )


def _pooled_shortcut(in_channels: int, out_channels: int, stride: int) -> nn.Sequential:
    pool = nn.Identity()
    if stride > 1:
        pool = nn.AvgPool2d(stride, stride=stride, ceil_mode=True, count_include_pad=False)
    return nn.Sequential(
        pool, nn.Conv2d(in_channels, out_channels, 1, bias=False), nn.BatchNorm2d(out_channels)
    )


class ResNeSt(nn.Module):
    """ResNeSt with two splits (https://arxiv.org/abs/2004.08955).

    Input (N, 3, H, W); output (N, num_classes).

    Args:
        layers: the number of blocks in each of the four stages.
        stem_width: channels of the first convolution.
        num_classes: the number of classes.
        dropout: the probability with which a feature is dropped before the classifier.
    """

    def __init__(
        self,
        layers: Sequence[int],
        stem_width: int,
        num_classes: int = 1000,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        channels = 2 * stem_width
        self.conv1 = _deep_stem(stem_width)
        self.bn1 = nn.BatchNorm2d(channels)
        self.relu = nn.ReLU(inplace=True)
        self.maxpool = nn.MaxPool2d(3, stride=2, padding=1)
        block = ResNestBottleneck
        stages = []
        for index, depth in enumerate(layers):
            planes, stride = 64 * 2**index, 2 if index else 1
            out_channels = planes * block.expansion
            shortcut = _pooled_shortcut(channels, out_channels, stride)
            blocks = [block(channels, planes, stride, shortcut)]
            blocks += [block(out_channels, planes) for _ in range(1, depth)]
            stages.append(nn.Sequential(*blocks))
            channels = out_channels
        self.layer1, self.layer2, self.layer3, self.layer4 = stages
        self.avgpool = nn.AdaptiveAvgPool2d((1, 1))
        self.dropout = nn.Dropout(dropout)
        self.fc = nn.Linear(channels, num_classes)
        init_conv_(self)

    def forward(self, x: Tensor) -> Tensor:
        x = self.maxpool(self.relu(self.bn1(self.conv1(x))))
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return self.fc(self.dropout(flow.flatten(self.avgpool(x), 1)))


_resnest = ModelFamily(
    __name__,
    ResNeSt,
    paper="2004.08955",
    weights="https://huggingface.co/timm/{}/resolve/main/model.safetensors",
)

# fmt: off
resnest50 = _resnest("resnest50", "ResNeSt with 50 layers: 27 million parameters.",
    (3, 4, 6, 3), 32, weights="resnest50d.in1k")
resnest101 = _resnest("resnest101", "ResNeSt with 101 layers: 48 million parameters.",
    (3, 4, 23, 3), 64, weights="resnest101e.in1k")
resnest200 = _resnest("resnest200", "ResNeSt with 200 layers: 70 million parameters.",
    (3, 24, 36, 3), 64, weights="resnest200e.in1k")
resnest269 = _resnest("resnest269", "ResNeSt with 269 layers: 111 million parameters.",
    (3, 30, 48, 8), 64, weights="resnest269e.in1k")
