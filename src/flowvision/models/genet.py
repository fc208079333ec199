"""GENet: plain, then bottleneck, then inverted bottleneck blocks, for speed on GPUs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import oneflow as flow
from flowvision.layers.blocks import ConvBn
from flowvision.layers.weight_init import init_convolutional_
from flowvision.models.registry import register_model
from oneflow import Tensor, nn

_PAPER = "2006.14090"


@dataclass(frozen=True)
class GENetStage:
    """A stage: a row of the paper's table 2.

    Attributes:
        kind: "XX" for two 3 x 3 convolutions, "BL" for a bottleneck and "DW" for an inverted
            bottleneck with a depthwise convolution.
        depth: the number of blocks.
        channels: of the output.
        width: channels inside the blocks.
        stride: of the first block.
    """

    kind: Literal["XX", "BL", "DW"]
    depth: int
    channels: int
    width: int
    stride: int


class NetBlock(nn.Module):
    """A single layer."""

    def __init__(self, netblock: nn.Module) -> None:
        super().__init__()
        self.netblock = netblock

    def forward(self, x: Tensor) -> Tensor:
        return self.netblock(x)


class SuperBlock(nn.Module):
    """The blocks of a stage, each a branch and a shortcut with a rectifier after their sum.

    Input (N, in_channels, H, W), output (N, stage.channels, H / stride, W / stride).

    Args:
        in_channels: of the input.
        stage: the rest.
    """

    def __init__(self, in_channels: int, stage: GENetStage) -> None:
        super().__init__()
        shortcuts, branches = [], []
        channels, stride = in_channels, stage.stride
        for _ in range(stage.depth):
            shortcut = nn.Sequential()
            if stride != 1 or channels != stage.channels:
                shortcut = nn.Sequential(*ConvBn(channels, stage.channels, 1, stride))
            shortcuts.append(shortcut)
            branches.append(self._branch(channels, stage, stride))
            channels, stride = stage.channels, 1
        self.shortcut_list = nn.ModuleList(shortcuts)
        self.conv_list = nn.ModuleList(branches)

    @staticmethod
    def _branch(channels: int, stage: GENetStage, stride: int) -> nn.Sequential:
        if stage.kind == "XX":
            return nn.Sequential(
                *ConvBn(channels, stage.width, 3, stride),
                nn.ReLU(inplace=True),
                *ConvBn(stage.width, stage.channels, 3),
            )
        groups = stage.width if stage.kind == "DW" else 1
        return nn.Sequential(
            *ConvBn(channels, stage.width, 1),
            nn.ReLU(inplace=True),
            *ConvBn(stage.width, stage.width, 3, stride, groups=groups),
            nn.ReLU(inplace=True),
            *ConvBn(stage.width, stage.channels, 1),
        )

    def forward(self, x: Tensor) -> Tensor:
        for shortcut, branch in zip(self.shortcut_list, self.conv_list, strict=True):
            x = nn.functional.relu(branch(x) + shortcut(x))
        return x


class PlainNet(nn.Module):
    """GENet (https://arxiv.org/abs/2006.14090).

    Input (N, 3, H, W), made for 256 x 256; output (N, num_classes).

    Args:
        stem: channels of the first convolution.
        stages: the stages.
        last: channels of the last convolution.
        num_classes: the number of classes.
    """

    def __init__(
        self, stem: int, stages: Sequence[GENetStage], last: int, num_classes: int = 1000
    ) -> None:
        super().__init__()
        layers = [*map(NetBlock, ConvBn(3, stem, 3, 2)), nn.ReLU(inplace=True)]
        channels = stem
        for stage in stages:
            layers.append(SuperBlock(channels, stage))
            channels = stage.channels
        layers += [*map(NetBlock, ConvBn(channels, last, 1)), nn.ReLU(inplace=True)]
        self.module_list = nn.ModuleList(layers)
        self.global_pool = nn.AdaptiveAvgPool2d((1, 1))
        self.fc_linear = nn.Linear(last, num_classes)
        init_convolutional_(self, linear_std=0.01)

    def forward(self, x: Tensor) -> Tensor:
        for layer in self.module_list:
            x = layer(x)
        return self.fc_linear(flow.flatten(self.global_pool(x), 1))


@register_model(paper=_PAPER, image_size=256)
def genet_small(**kwargs: Any) -> PlainNet:
    """GENet-small: 8.2 million parameters."""
    stages = (
        GENetStage("XX", 1, 48, 48, 2),
        GENetStage("XX", 3, 48, 48, 2),
        GENetStage("BL", 7, 384, 96, 2),
        GENetStage("DW", 2, 560, 1680, 2),
        GENetStage("DW", 1, 256, 768, 1),
    )
    return PlainNet(13, stages, 1920, **kwargs)


@register_model(paper=_PAPER, image_size=256)
def genet_normal(**kwargs: Any) -> PlainNet:
    """GENet-normal: 21 million parameters."""
    stages = (
        GENetStage("XX", 1, 128, 128, 2),
        GENetStage("XX", 2, 192, 192, 2),
        GENetStage("BL", 6, 640, 160, 2),
        GENetStage("DW", 4, 640, 1920, 2),
        GENetStage("DW", 1, 640, 1920, 1),
    )
    return PlainNet(32, stages, 2560, **kwargs)


@register_model(paper=_PAPER, image_size=256)
def genet_large(**kwargs: Any) -> PlainNet:
    """GENet-large: 31 million parameters."""
    stages = (
        GENetStage("XX", 1, 128, 128, 2),
        GENetStage("XX", 2, 192, 192, 2),
        GENetStage("BL", 6, 640, 160, 2),
        GENetStage("DW", 5, 640, 1920, 2),
        GENetStage("DW", 4, 640, 1920, 1),
    )
    return PlainNet(32, stages, 2560, **kwargs)
