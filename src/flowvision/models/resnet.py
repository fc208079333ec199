"""ResNet, and its relatives with grouped (ResNeXt) and wide (Wide ResNet) convolutions."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import ClassVar

import oneflow as flow
from flowvision.layers.weight_init import init_conv_
from flowvision.models.registry import ModelFamily
from oneflow import Tensor, nn


def conv3x3(
    in_planes: int, out_planes: int, stride: int = 1, groups: int = 1, dilation: int = 1
) -> nn.Conv2d:
    """Return a 3 x 3 convolution without bias that keeps the size at a stride of 1."""
    return nn.Conv2d(
        in_planes,
        out_planes,
        3,
        stride=stride,
        padding=dilation,
        groups=groups,
        bias=False,
        dilation=dilation,
    )


def conv1x1(in_planes: int, out_planes: int, stride: int = 1) -> nn.Conv2d:
    """Return a 1 x 1 convolution without bias.

    Example:
        >>> from flowvision.models import conv1x1
        >>> conv1x1(8, 16, stride=2)
        Conv2d(8, 16, kernel_size=(1, 1), stride=(2, 2), bias=False)
    """
    return nn.Conv2d(in_planes, out_planes, 1, stride=stride, bias=False)


class BasicBlock(nn.Module):
    """Two 3 x 3 convolutions beside a shortcut.

    Input (N, inplanes, H, W), output (N, planes, H / stride, W / stride).

    Args:
        inplanes: channels of the input.
        planes: channels of the output.
        stride: the stride of the first convolution.
        downsample: brings the shortcut to the shape of the output; none if it has it.
        groups: must be 1.
        base_width: must be 64.
        dilation: must be 1.
        norm_layer: makes a normalization from the number of channels.

    Raises:
        ValueError: if `groups`, `base_width` or `dilation` is another number.

    Example:
        >>> import oneflow as flow
        >>> from flowvision.models import BasicBlock
        >>> BasicBlock(8, 8)(flow.rand(1, 8, 6, 6)).shape
        oneflow.Size([1, 8, 6, 6])
    """

    expansion: ClassVar[int] = 1

    def __init__(
        self,
        inplanes: int,
        planes: int,
        stride: int = 1,
        downsample: nn.Module | None = None,
        groups: int = 1,
        base_width: int = 64,
        dilation: int = 1,
        norm_layer: Callable[[int], nn.Module] = nn.BatchNorm2d,
    ) -> None:
        if (groups, base_width, dilation) != (1, 64, 1):
            raise ValueError(
                "`BasicBlock` takes groups=1, base_width=64 and dilation=1 only, got "
                f"{groups}, {base_width} and {dilation}; use `Bottleneck` for others"
            )
        super().__init__()
        self.conv1 = conv3x3(inplanes, planes, stride)
        self.bn1 = norm_layer(planes)
        self.relu = nn.ReLU(inplace=True)
        self.conv2 = conv3x3(planes, planes)
        self.bn2 = norm_layer(planes)
        self.downsample = downsample

    def forward(self, x: Tensor) -> Tensor:
        shortcut = x if self.downsample is None else self.downsample(x)
        x = self.relu(self.bn1(self.conv1(x)))
        x = self.bn2(self.conv2(x))
        return self.relu(x + shortcut)


class Bottleneck(nn.Module):
    """A 3 x 3 convolution of few channels between two 1 x 1 convolutions, beside a shortcut.

    The stride is that of the 3 x 3 convolution ("ResNet V1.5"), which is more accurate than the
    paper's stride in the first one.

    Input (N, inplanes, H, W), output (N, 4 * planes, H / stride, W / stride).

    Args:
        inplanes: channels of the input.
        planes: a quarter of the channels of the output.
        stride: the stride of the 3 x 3 convolution.
        downsample: brings the shortcut to the shape of the output; none if it has it.
        groups: the number of groups of the 3 x 3 convolution.
        base_width: channels per group of the 3 x 3 convolution, where `planes` is 64.
        dilation: the dilation of the 3 x 3 convolution.
        norm_layer: makes a normalization from the number of channels.

    Example:
        >>> import oneflow as flow
        >>> from flowvision.models import Bottleneck
        >>> Bottleneck(32, 8)(flow.rand(1, 32, 6, 6)).shape
        oneflow.Size([1, 32, 6, 6])
    """

    expansion: ClassVar[int] = 4

    def __init__(
        self,
        inplanes: int,
        planes: int,
        stride: int = 1,
        downsample: nn.Module | None = None,
        groups: int = 1,
        base_width: int = 64,
        dilation: int = 1,
        norm_layer: Callable[[int], nn.Module] = nn.BatchNorm2d,
    ) -> None:
        super().__init__()
        width = planes * base_width // 64 * groups
        self.conv1 = conv1x1(inplanes, width)
        self.bn1 = norm_layer(width)
        self.conv2 = conv3x3(width, width, stride, groups, dilation)
        self.bn2 = norm_layer(width)
        self.conv3 = conv1x1(width, planes * self.expansion)
        self.bn3 = norm_layer(planes * self.expansion)
        self.relu = nn.ReLU(inplace=True)
        self.downsample = downsample

    def forward(self, x: Tensor) -> Tensor:
        shortcut = x if self.downsample is None else self.downsample(x)
        x = self.relu(self.bn1(self.conv1(x)))
        x = self.relu(self.bn2(self.conv2(x)))
        x = self.bn3(self.conv3(x))
        return self.relu(x + shortcut)


class ResNet(nn.Module):
    """ResNet (https://arxiv.org/abs/1512.03385).

    Input (N, 3, H, W); output (N, num_classes).

    Args:
        block: `BasicBlock` or `Bottleneck`.
        layers: the number of blocks in each of the four stages.
        num_classes: the number of classes.
        zero_init_residual: whether the last normalization of each block begins with weights of
            zero, so that the block begins as its shortcut (https://arxiv.org/abs/1706.02677).
        groups: the number of groups of the 3 x 3 convolutions of bottlenecks.
        width_per_group: channels per group of the bottlenecks of the first stage.
        replace_stride_with_dilation: for each of the last three stages, whether its convolutions
            are dilated instead of its first one having a stride of 2.
        norm_layer: makes a normalization from the number of channels.

    Raises:
        ValueError: if `replace_stride_with_dilation` has not three elements.
    """

    def __init__(
        self,
        block: type[BasicBlock] | type[Bottleneck],
        layers: Sequence[int],
        num_classes: int = 1000,
        zero_init_residual: bool = False,
        groups: int = 1,
        width_per_group: int = 64,
        replace_stride_with_dilation: Sequence[bool] | None = None,
        norm_layer: Callable[[int], nn.Module] = nn.BatchNorm2d,
    ) -> None:
        super().__init__()
        dilated = replace_stride_with_dilation or (False, False, False)
        if len(dilated) != 3:
            raise ValueError(
                "`replace_stride_with_dilation` has one element for each of the last three "
                f"stages, got {dilated}"
            )
        self.inplanes = 64
        self.dilation = 1
        self.groups = groups
        self.base_width = width_per_group
        self.norm_layer = norm_layer
        self.conv1 = nn.Conv2d(3, 64, 7, stride=2, padding=3, bias=False)
        self.bn1 = norm_layer(64)
        self.relu = nn.ReLU(inplace=True)
        self.maxpool = nn.MaxPool2d(3, stride=2, padding=1)
        self.layer1 = self._stage(block, 64, layers[0])
        self.layer2 = self._stage(block, 128, layers[1], stride=2, dilate=dilated[0])
        self.layer3 = self._stage(block, 256, layers[2], stride=2, dilate=dilated[1])
        self.layer4 = self._stage(block, 512, layers[3], stride=2, dilate=dilated[2])
        self.avgpool = nn.AdaptiveAvgPool2d((1, 1))
        self.fc = nn.Linear(512 * block.expansion, num_classes)
        init_conv_(self)
        if zero_init_residual:
            for module in self.modules():
                if isinstance(module, BasicBlock | Bottleneck):
                    last = module.bn2 if isinstance(module, BasicBlock) else module.bn3
                    nn.init.zeros_(last.weight)

    def _stage(
        self,
        block: type[BasicBlock] | type[Bottleneck],
        planes: int,
        depth: int,
        stride: int = 1,
        dilate: bool = False,
    ) -> nn.Sequential:
        first_dilation = self.dilation
        if dilate:
            self.dilation *= stride
            stride = 1
        channels = planes * block.expansion
        downsample = None
        if stride != 1 or self.inplanes != channels:
            downsample = nn.Sequential(
                conv1x1(self.inplanes, channels, stride), self.norm_layer(channels)
            )
        options = (self.groups, self.base_width)
        blocks = [
            block(
                self.inplanes,
                planes,
                stride,
                downsample,
                *options,
                dilation=first_dilation,
                norm_layer=self.norm_layer,
            )
        ]
        self.inplanes = channels
        blocks += [
            block(
                channels,
                planes,
                1,
                None,
                *options,
                dilation=self.dilation,
                norm_layer=self.norm_layer,
            )
            for _ in range(1, depth)
        ]
        return nn.Sequential(*blocks)

    def forward(self, x: Tensor) -> Tensor:
        x = self.maxpool(self.relu(self.bn1(self.conv1(x))))
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return self.fc(flow.flatten(self.avgpool(x), 1))


_resnet = ModelFamily(
    __name__, ResNet, paper="1512.03385", weights="https://download.pytorch.org/models/{}.pth"
)
_resnext = dataclasses.replace(_resnet, paper="1611.05431")
_wide_resnet = dataclasses.replace(_resnet, paper="1605.07146")

# fmt: off
resnet18 = _resnet("resnet18", "ResNet with 18 layers: 12 million parameters.",
    BasicBlock, (2, 2, 2, 2), weights="resnet18-f37072fd")
resnet34 = _resnet("resnet34", "ResNet with 34 layers: 22 million parameters.",
    BasicBlock, (3, 4, 6, 3), weights="resnet34-b627a593")
resnet50 = _resnet("resnet50", "ResNet with 50 layers: 26 million parameters.",
    Bottleneck, (3, 4, 6, 3), weights="resnet50-11ad3fa6")
resnet101 = _resnet("resnet101", "ResNet with 101 layers: 45 million parameters.",
    Bottleneck, (3, 4, 23, 3), weights="resnet101-cd907fc2")
resnet152 = _resnet("resnet152", "ResNet with 152 layers: 60 million parameters.",
    Bottleneck, (3, 8, 36, 3), weights="resnet152-f82ba261")
resnext50_32x4d = _resnext("resnext50_32x4d",
    "ResNeXt with 50 layers and 32 groups of 4 channels: 25 million parameters.",
    Bottleneck, (3, 4, 6, 3), groups=32, width_per_group=4, weights="resnext50_32x4d-1a0047aa")
resnext101_32x8d = _resnext("resnext101_32x8d",
    "ResNeXt with 101 layers and 32 groups of 8 channels: 89 million parameters.",
    Bottleneck, (3, 4, 23, 3), groups=32, width_per_group=8, weights="resnext101_32x8d-110c445d")
wide_resnet50_2 = _wide_resnet("wide_resnet50_2",
    "ResNet with 50 layers and twice the channels inside bottlenecks: 69 million parameters.",
    Bottleneck, (3, 4, 6, 3), width_per_group=128, weights="wide_resnet50_2-9ba9bcbe")
wide_resnet101_2 = _wide_resnet("wide_resnet101_2",
    "ResNet with 101 layers and twice the channels inside bottlenecks: 127 million parameters.",
    Bottleneck, (3, 4, 23, 3), width_per_group=128, weights="wide_resnet101_2-d733dc28")
