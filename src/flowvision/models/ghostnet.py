"""GhostNet: half of the channels are made from the others by cheap convolutions."""

from __future__ import annotations

from typing import Any

import oneflow as flow
from flowvision.layers.attention.se import SqueezeExcite
from flowvision.layers.blocks import ConvBn
from flowvision.layers.helpers import make_divisible
from flowvision.layers.weight_init import init_conv_
from flowvision.models.registry import register_model
from oneflow import Tensor, nn

# The paper's table 7: a tuple per stage, with a row per block: kernel, channels inside, channels
# of the output, whether there is squeeze-and-excitation, stride.
_STAGES = (
    ((3, 16, 16, False, 1),),
    ((3, 48, 24, False, 2),),
    ((3, 72, 24, False, 1),),
    ((5, 72, 40, True, 2),),
    ((5, 120, 40, True, 1),),
    ((3, 240, 80, False, 2),),
    (
        (3, 200, 80, False, 1),
        (3, 184, 80, False, 1),
        (3, 184, 80, False, 1),
        (3, 480, 112, True, 1),
        (3, 672, 112, True, 1),
    ),
    ((5, 672, 160, True, 2),),
    (
        (5, 960, 160, False, 1),
        (5, 960, 160, True, 1),
        (5, 960, 160, False, 1),
        (5, 960, 160, True, 1),
    ),
)


class GhostModule(nn.Module):
    """A 1 x 1 convolution, and a depthwise convolution of its output beside it.

    Input (N, in_channels, H, W), output (N, out_channels, H, W).

    Args:
        in_channels: the number of channels of the input.
        out_channels: the number of channels of the output, an even number.
        relu: whether rectifiers follow.
    """

    def __init__(self, in_channels: int, out_channels: int, relu: bool = True) -> None:
        super().__init__()
        half = out_channels // 2
        activation = nn.ReLU(inplace=True) if relu else nn.Identity()
        self.primary_conv = nn.Sequential(*ConvBn(in_channels, half, 1), activation)
        self.cheap_operation = nn.Sequential(*ConvBn(half, half, 3, groups=half), activation)

    def forward(self, x: Tensor) -> Tensor:
        primary = self.primary_conv(x)
        return flow.cat([primary, self.cheap_operation(primary)], dim=1)


class GhostBottleneck(nn.Module):
    """Two ghost modules, with a strided depthwise convolution between, beside a shortcut.

    Input (N, in_channels, H, W), output (N, out_channels, H / stride, W / stride).

    Args:
        in_channels: the number of channels of the input.
        mid_channels: between the ghost modules.
        out_channels: the number of channels of the output.
        kernel: the kernel size of the depthwise convolution.
        stride: the stride of the depthwise convolution, which a stride of 1 leaves out.
        use_se: whether there is squeeze-and-excitation.
    """

    def __init__(
        self,
        in_channels: int,
        mid_channels: int,
        out_channels: int,
        kernel: int,
        stride: int,
        use_se: bool,
    ) -> None:
        super().__init__()
        self.ghost1 = GhostModule(in_channels, mid_channels)
        self.conv_dw, self.bn_dw = nn.Identity(), nn.Identity()
        if stride > 1:
            self.conv_dw, self.bn_dw = ConvBn(
                mid_channels, mid_channels, kernel, stride=stride, groups=mid_channels
            )
        self.se = nn.Identity()
        if use_se:
            self.se = SqueezeExcite(mid_channels, gate_fn=nn.functional.hardsigmoid, divisor=4)
        self.ghost2 = GhostModule(mid_channels, out_channels, relu=False)
        self.shortcut = nn.Sequential()
        if in_channels != out_channels or stride != 1:
            self.shortcut = nn.Sequential(
                *ConvBn(in_channels, in_channels, kernel, stride=stride, groups=in_channels),
                *ConvBn(in_channels, out_channels, 1),
            )

    def forward(self, x: Tensor) -> Tensor:
        shortcut = self.shortcut(x)
        x = self.bn_dw(self.conv_dw(self.ghost1(x)))
        return self.ghost2(self.se(x)) + shortcut


class ConvBn1Act(nn.Module):
    """The last 1 x 1 convolution with normalization and rectifier."""

    def __init__(self, in_channels: int, out_channels: int) -> None:
        super().__init__()
        self.conv, self.bn1 = ConvBn(in_channels, out_channels, 1)

    def forward(self, x: Tensor) -> Tensor:
        return nn.functional.relu(self.bn1(self.conv(x)))


class GhostNet(nn.Module):
    """GhostNet (https://arxiv.org/abs/1911.11907).

    Input (N, 3, H, W); output (N, num_classes).

    Args:
        num_classes: the number of classes.
        width_mult: the factor by which numbers of channels are multiplied.
        dropout: the probability with which a feature is dropped before the classifier.
    """

    def __init__(
        self, num_classes: int = 1000, width_mult: float = 1.0, dropout: float = 0.2
    ) -> None:
        super().__init__()
        channels = make_divisible(16 * width_mult, 4)
        self.conv_stem = nn.Conv2d(3, channels, 3, stride=2, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(channels)
        stages = []
        mid = channels
        for rows in _STAGES:
            blocks = []
            for kernel, base_mid, base_out, use_se, stride in rows:
                mid = make_divisible(base_mid * width_mult, 4)
                out = make_divisible(base_out * width_mult, 4)
                blocks.append(GhostBottleneck(channels, mid, out, kernel, stride, use_se))
                channels = out
            stages.append(nn.Sequential(*blocks))
        stages.append(nn.Sequential(ConvBn1Act(channels, mid)))
        self.blocks = nn.Sequential(*stages)
        self.global_pool = nn.AdaptiveAvgPool2d((1, 1))
        self.conv_head = nn.Conv2d(mid, 1280, 1)
        self.dropout = nn.Dropout(dropout)
        self.classifier = nn.Linear(1280, num_classes)
        init_conv_(self)

    def forward(self, x: Tensor) -> Tensor:
        x = self.blocks(nn.functional.relu(self.bn1(self.conv_stem(x))))
        x = nn.functional.relu(self.conv_head(self.global_pool(x)))
        return self.classifier(self.dropout(flow.flatten(x, 1)))


@register_model(
    paper="1911.11907",
    url="https://huggingface.co/timm/ghostnet_100.in1k/resolve/main/model.safetensors",
)
def ghostnet(**kwargs: Any) -> GhostNet:
    """GhostNet: 5.2 million parameters."""
    return GhostNet(**kwargs)
