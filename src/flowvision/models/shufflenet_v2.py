"""ShuffleNet V2: units that split and shuffle the channels."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import oneflow as flow
from flowvision.layers.blocks import ConvBn, ConvBnAct
from flowvision.models.registry import ModelFamily
from oneflow import Tensor, nn


def channel_shuffle(x: Tensor, groups: int) -> Tensor:
    """Return `x`, of shape (N, C, H, W), with the channels of its groups interleaved."""
    batch, channels, height, width = x.shape
    x = x.reshape(batch, groups, channels // groups, height, width)
    return x.transpose(1, 2).reshape(batch, channels, height, width)


class ShuffleUnit(nn.Module):
    """A unit of the paper's figure 3 (c), or (d) with a stride of 2.

    Input (N, inp, H, W), output (N, oup, H / stride, W / stride).

    Args:
        inp: channels of the input; as many as those of the output if the stride is 1.
        oup: channels of the output, an even number.
        stride: 1 or 2.

    Raises:
        ValueError: if the numbers do not fit.
    """

    def __init__(self, inp: int, oup: int, stride: int) -> None:
        if stride not in (1, 2):
            raise ValueError(f"`stride` must be 1 or 2, got {stride}")
        if oup % 2 or (stride == 1 and inp != oup):
            raise ValueError(
                f"`oup` must be even, and equal to `inp` at a stride of 1, got {oup} and {inp}"
            )
        super().__init__()
        self.stride = stride
        half = oup // 2
        self.branch1 = nn.Sequential()
        if stride == 2:
            self.branch1 = nn.Sequential(
                *ConvBn(inp, inp, 3, stride, groups=inp), *ConvBnAct(inp, half)
            )
        self.branch2 = nn.Sequential(
            *ConvBnAct(inp if stride == 2 else half, half),
            *ConvBn(half, half, 3, stride, groups=half),
            *ConvBnAct(half, half),
        )

    def forward(self, x: Tensor) -> Tensor:
        if self.stride == 1:
            identity, changed = x.chunk(2, dim=1)
            x = flow.cat([identity, self.branch2(changed)], dim=1)
        else:
            x = flow.cat([self.branch1(x), self.branch2(x)], dim=1)
        return channel_shuffle(x, 2)


class ShuffleNetV2(nn.Module):
    """ShuffleNet V2 (https://arxiv.org/abs/1807.11164).

    Input (N, 3, H, W); output (N, num_classes).

    Args:
        stages_repeats: the number of units of each of the three stages.
        stages_out_channels: the number of channels of the first convolution, of the stages, and of
            the last convolution.
        num_classes: the number of classes.
        inverted_residual: makes a unit, see `ShuffleUnit`.
    """

    def __init__(
        self,
        stages_repeats: Sequence[int],
        stages_out_channels: Sequence[int],
        num_classes: int = 1000,
        inverted_residual: Callable[[int, int, int], nn.Module] = ShuffleUnit,
    ) -> None:
        super().__init__()
        first, *widths, last = stages_out_channels
        self.conv1 = ConvBnAct(3, first, 3, 2)
        self.maxpool = nn.MaxPool2d(3, stride=2, padding=1)
        stages = []
        channels = first
        for depth, width in zip(stages_repeats, widths, strict=True):
            units = [inverted_residual(channels, width, 2)]
            units += [inverted_residual(width, width, 1) for _ in range(1, depth)]
            stages.append(nn.Sequential(*units))
            channels = width
        self.stage2, self.stage3, self.stage4 = stages
        self.conv5 = ConvBnAct(channels, last)
        self.fc = nn.Linear(last, num_classes)

    def forward(self, x: Tensor) -> Tensor:
        x = self.maxpool(self.conv1(x))
        x = self.conv5(self.stage4(self.stage3(self.stage2(x))))
        return self.fc(x.mean((2, 3)))


_DEPTHS = (4, 8, 4)

_shufflenet = ModelFamily(
    __name__, ShuffleNetV2, paper="1807.11164", weights="https://download.pytorch.org/models/{}.pth"
)

# fmt: off
shufflenet_v2_x0_5 = _shufflenet("shufflenet_v2_x0_5",
    "ShuffleNet V2 of half the channels: 1.4 million parameters.",
    _DEPTHS, (24, 48, 96, 192, 1024), weights="shufflenetv2_x0.5-f707e7126e")
shufflenet_v2_x1_0 = _shufflenet("shufflenet_v2_x1_0", "ShuffleNet V2: 2.3 million parameters.",
    _DEPTHS, (24, 116, 232, 464, 1024), weights="shufflenetv2_x1-5666bf0f80")
shufflenet_v2_x1_5 = _shufflenet("shufflenet_v2_x1_5",
    "ShuffleNet V2 of 1.5 times the channels: 3.5 million parameters.",
    _DEPTHS, (24, 176, 352, 704, 1024), weights="shufflenetv2_x1_5-3c479a10")
shufflenet_v2_x2_0 = _shufflenet("shufflenet_v2_x2_0",
    "ShuffleNet V2 of twice the channels: 7.4 million parameters.",
    _DEPTHS, (24, 244, 488, 976, 2048), weights="shufflenetv2_x2_0-8be3c8ee")
