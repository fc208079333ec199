"""RegNet: networks whose widths follow a quantized line."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import oneflow as flow
from flowvision.layers.attention import SEModule
from flowvision.layers.blocks import ConvBn, ConvBnAct
from flowvision.layers.helpers import make_divisible
from flowvision.layers.weight_init import init_conv_
from flowvision.models.registry import ModelFamily
from oneflow import Tensor, nn


@dataclass(frozen=True)
class BlockParams:
    """The stages of a RegNet.

    Attributes:
        widths: channels of each stage.
        depths: the number of blocks of each stage.
        group_widths: channels per group of the 3 x 3 convolutions of each stage.
        se_ratio: channels between the layers of squeeze-and-excitation, as a share of those of
            the block's input; 0 for none.
    """

    widths: tuple[int, ...]
    depths: tuple[int, ...]
    group_widths: tuple[int, ...]
    se_ratio: float

    @staticmethod
    def from_init_params(
        depth: int, w_0: int, w_a: float, w_m: float, group_width: int, se_ratio: float = 0.0
    ) -> BlockParams:
        """Return the stages for the parameters of the paper's section 3.3.

        Block j would have ``w_0 + w_a * j`` channels; it gets the nearest ``w_0 * w_m ** k`` with
        an integer k, as a multiple of 8. Blocks with equal widths are a stage,
        whose width becomes a multiple of that of its groups.

        Args:
            depth: the number of blocks.
            w_0: channels of the first block.
            w_a: the slope of the line.
            w_m: the quotient of the widths of consecutive stages.
            group_width: channels per group of 3 x 3 convolutions.
            se_ratio: see `BlockParams`.

        Example:
            >>> from flowvision.models.regnet import BlockParams
            >>> BlockParams.from_init_params(16, 48, 27.89, 2.09, 8).widths
            (48, 104, 208, 440)
        """
        powers = (round(math.log1p(w_a * j / w_0) / math.log(w_m)) for j in range(depth))
        blocks = (round(w_0 * w_m**power / 8) * 8 for power in powers)
        stages = [(width, len(list(group))) for width, group in itertools.groupby(blocks)]
        groups = [min(group_width, width) for width, _ in stages]
        return BlockParams(
            tuple(
                make_divisible(width, group)
                for (width, _), group in zip(stages, groups, strict=True)
            ),
            tuple(count for _, count in stages),
            tuple(groups),
            se_ratio,
        )


class RegNetTransform(nn.Sequential):
    """The residual branch of a block: 1 x 1, grouped 3 x 3 and 1 x 1 convolution."""

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        stride: int,
        group_width: int,
        se_ratio: float,
        norm_layer: Callable[[int], nn.Module],
        activation: Callable[..., nn.Module],
    ) -> None:
        super().__init__()
        options: dict[str, Any] = {"norm_layer": norm_layer, "act_layer": activation}
        groups = out_channels // group_width
        self.a = ConvBnAct(in_channels, out_channels, 1, **options)
        self.b = ConvBnAct(out_channels, out_channels, 3, stride, groups=groups, **options)
        if se_ratio:
            squeezed = round(se_ratio * in_channels)
            self.se = SEModule(out_channels, rd_channels=squeezed, act_layer=activation)
        self.c = ConvBn(out_channels, out_channels, 1, norm_layer=norm_layer)


class RegNetBlock(nn.Module):
    """A residual block without bottleneck (the paper's X block, or Y block with `se_ratio`).

    Input (N, in_channels, H, W), output (N, out_channels, H / stride, W / stride).

    Args:
        in_channels: the number of channels of the input.
        out_channels: the number of channels of the output.
        stride: the stride of the 3 x 3 convolution.
        group_width: channels per group of the 3 x 3 convolution.
        se_ratio: see `BlockParams`.
        norm_layer: makes a normalization from the number of channels.
        activation: makes an activation.
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        stride: int,
        group_width: int,
        se_ratio: float = 0.0,
        norm_layer: Callable[[int], nn.Module] = nn.BatchNorm2d,
        activation: Callable[..., nn.Module] = nn.ReLU,
    ) -> None:
        super().__init__()
        self.proj = None
        if in_channels != out_channels or stride != 1:
            self.proj = ConvBn(in_channels, out_channels, 1, stride, norm_layer=norm_layer)
        self.f = RegNetTransform(
            in_channels, out_channels, stride, group_width, se_ratio, norm_layer, activation
        )
        self.activation = activation()

    def forward(self, x: Tensor) -> Tensor:
        shortcut = x if self.proj is None else self.proj(x)
        return self.activation(shortcut + self.f(x))


class RegNet(nn.Module):
    """RegNet (https://arxiv.org/abs/2003.13678).

    Input (N, 3, H, W); output (N, num_classes).

    Args:
        block_params: the stages.
        num_classes: the number of classes.
        stem_width: channels of the first convolution.
        stem_type: makes the first convolution from 3, `stem_width`, its size and its stride.
        block_type: makes a block, see `RegNetBlock`.
        norm_layer: makes a normalization from the number of channels.
        activation: makes an activation.
    """

    def __init__(
        self,
        block_params: BlockParams,
        num_classes: int = 1000,
        stem_width: int = 32,
        stem_type: Callable[..., nn.Module] = ConvBnAct,
        block_type: Callable[..., nn.Module] = RegNetBlock,
        norm_layer: Callable[[int], nn.Module] = nn.BatchNorm2d,
        activation: Callable[..., nn.Module] = nn.ReLU,
    ) -> None:
        super().__init__()
        self.stem = stem_type(3, stem_width, 3, 2, norm_layer=norm_layer, act_layer=activation)
        channels = stem_width
        self.trunk_output = nn.Sequential()
        stages = zip(
            block_params.widths, block_params.depths, block_params.group_widths, strict=True
        )
        for number, (width, depth, group_width) in enumerate(stages, start=1):
            stage = nn.Sequential()
            for index in range(depth):
                block = block_type(
                    channels,
                    width,
                    1 if index else 2,
                    group_width,
                    block_params.se_ratio,
                    norm_layer,
                    activation,
                )
                stage.add_module(f"block{number}-{index}", block)
                channels = width
            self.trunk_output.add_module(f"block{number}", stage)
        self.avgpool = nn.AdaptiveAvgPool2d((1, 1))
        self.fc = nn.Linear(channels, num_classes)
        init_conv_(self, linear_std=0.01)

    def forward(self, x: Tensor) -> Tensor:
        x = self.avgpool(self.trunk_output(self.stem(x)))
        return self.fc(flow.flatten(x, 1))


def _build(*numbers: Any, **kwargs: Any) -> RegNet:
    """Return a network with the stages of `BlockParams.from_init_params(*numbers)`."""
    return RegNet(BlockParams.from_init_params(*numbers), **kwargs)


_regnet = ModelFamily(
    __name__, _build, paper="2003.13678", weights="https://download.pytorch.org/models/{}.pth"
)

# fmt: off
regnet_y_400mf = _regnet("regnet_y_400mf",
    "RegNetY of 400 million multiply-adds: 4.3 million parameters.",
    16, 48, 27.89, 2.09, 8, 0.25, weights="regnet_y_400mf-e6988f5f")
regnet_y_800mf = _regnet("regnet_y_800mf",
    "RegNetY of 800 million multiply-adds: 6.4 million parameters.",
    14, 56, 38.84, 2.4, 16, 0.25, weights="regnet_y_800mf-58fc7688")
regnet_y_1_6gf = _regnet("regnet_y_1_6gf",
    "RegNetY of 1.6 billion multiply-adds: 11 million parameters.",
    27, 48, 20.71, 2.65, 24, 0.25, weights="regnet_y_1_6gf-0d7bc02a")
regnet_y_3_2gf = _regnet("regnet_y_3_2gf",
    "RegNetY of 3.2 billion multiply-adds: 19 million parameters.",
    21, 80, 42.63, 2.66, 24, 0.25, weights="regnet_y_3_2gf-9180c971")
regnet_y_8gf = _regnet("regnet_y_8gf", "RegNetY of 8 billion multiply-adds: 39 million parameters.",
    17, 192, 76.82, 2.19, 56, 0.25, weights="regnet_y_8gf-dc2b1b54")
regnet_y_16gf = _regnet("regnet_y_16gf",
    "RegNetY of 16 billion multiply-adds: 84 million parameters.",
    18, 200, 106.23, 2.48, 112, 0.25, weights="regnet_y_16gf-3e4a00f9")
regnet_y_32gf = _regnet("regnet_y_32gf",
    "RegNetY of 32 billion multiply-adds: 145 million parameters.",
    20, 232, 115.89, 2.53, 232, 0.25, weights="regnet_y_32gf-8db6d4b5")
regnet_y_128gf = _regnet("regnet_y_128gf",
    "RegNetY of 128 billion multiply-adds: 645 million parameters.",
    27, 456, 160.83, 2.52, 264, 0.25, weights="regnet_y_128gf_lc_swag-cbe8ce12")
regnet_x_400mf = _regnet("regnet_x_400mf",
    "RegNetX of 400 million multiply-adds: 5.5 million parameters.",
    22, 24, 24.48, 2.54, 16, weights="regnet_x_400mf-62229a5f")
regnet_x_800mf = _regnet("regnet_x_800mf",
    "RegNetX of 800 million multiply-adds: 7.3 million parameters.",
    16, 56, 35.73, 2.28, 16, weights="regnet_x_800mf-94a99ebd")
regnet_x_1_6gf = _regnet("regnet_x_1_6gf",
    "RegNetX of 1.6 billion multiply-adds: 9.2 million parameters.",
    18, 80, 34.01, 2.25, 24, weights="regnet_x_1_6gf-a12f2b72")
regnet_x_3_2gf = _regnet("regnet_x_3_2gf",
    "RegNetX of 3.2 billion multiply-adds: 15 million parameters.",
    25, 88, 26.31, 2.25, 48, weights="regnet_x_3_2gf-7071aa85")
regnet_x_8gf = _regnet("regnet_x_8gf", "RegNetX of 8 billion multiply-adds: 40 million parameters.",
    23, 80, 49.56, 2.88, 120, weights="regnet_x_8gf-2b70d774")
regnet_x_16gf = _regnet("regnet_x_16gf",
    "RegNetX of 16 billion multiply-adds: 54 million parameters.",
    22, 216, 55.59, 2.1, 128, weights="regnet_x_16gf-ba3796d7")
regnet_x_32gf = _regnet("regnet_x_32gf",
    "RegNetX of 32 billion multiply-adds: 108 million parameters.",
    23, 320, 69.86, 2.0, 168, weights="regnet_x_32gf-6eb8fdc6")
