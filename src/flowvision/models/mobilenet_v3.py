"""MobileNetV3: searched inverted residuals with squeeze-and-excitation and hard swish."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import oneflow as flow
from flowvision.layers.attention import SEModule
from flowvision.layers.blocks import ConvBn, ConvBnAct
from flowvision.layers.helpers import make_divisible
from flowvision.layers.weight_init import init_conv_
from flowvision.models.registry import register_model
from oneflow import Tensor, nn

_PAPER = "1905.02244"
_WEIGHTS = "https://download.pytorch.org/models"
# Depthwise layers see few values per channel late in training; the statistics move slowly.
_BatchNorm = functools.partial(nn.BatchNorm2d, eps=0.001, momentum=0.01)


@dataclass(frozen=True)
class InvertedResidualConfig:
    """A row of the paper's tables 1 and 2.

    Attributes:
        input_channels: the number of channels of the block.
        kernel: the size of the depthwise convolution.
        expanded_channels: the number of channels of the depthwise convolution.
        out_channels: the number of channels of the block.
        use_se: whether there is squeeze-and-excitation.
        activation: "RE" for a rectifier, "HS" for hard swish.
        stride: the stride of the depthwise convolution, unless it is dilated.
        dilation: the dilation of the depthwise convolution.
    """

    input_channels: int
    kernel: int
    expanded_channels: int
    out_channels: int
    use_se: bool
    activation: Literal["RE", "HS"]
    stride: int
    dilation: int = 1

    def scaled(self, width_mult: float) -> InvertedResidualConfig:
        """Return the row with all numbers of channels multiplied by `width_mult`."""
        channels = (self.input_channels, self.expanded_channels, self.out_channels)
        first, middle, last = (make_divisible(number * width_mult) for number in channels)
        return InvertedResidualConfig(
            first, self.kernel, middle, last, *self._rest(), dilation=self.dilation
        )

    def _rest(self) -> tuple[bool, Literal["RE", "HS"], int]:
        return self.use_se, self.activation, self.stride


class MobileNetV3Block(nn.Module):
    """An inverted residual with squeeze-and-excitation between depthwise and last convolution.

    Input (N, input_channels, H, W), output (N, out_channels, H / stride, W / stride); with equal
    shapes the input is added to the output.

    Args:
        config: the numbers of channels and the rest.
        norm_layer: makes a normalization from the number of channels.
    """

    def __init__(
        self, config: InvertedResidualConfig, norm_layer: Callable[[int], nn.Module] = _BatchNorm
    ) -> None:
        super().__init__()
        self.out_channels = config.out_channels
        self.is_strided = config.stride > 1
        width = config.expanded_channels
        stride = 1 if config.dilation > 1 else config.stride
        self.use_res_connect = config.stride == 1 and config.input_channels == config.out_channels
        act_layer = nn.Hardswish if config.activation == "HS" else nn.ReLU
        options: dict[str, Any] = {"norm_layer": norm_layer, "act_layer": act_layer}
        layers: list[nn.Module] = []
        if width != config.input_channels:
            layers.append(ConvBnAct(config.input_channels, width, 1, **options))
        layers.append(
            ConvBnAct(
                width,
                width,
                config.kernel,
                stride,
                groups=width,
                dilation=config.dilation,
                **options,
            )
        )
        if config.use_se:
            squeezed = make_divisible(width // 4)
            layers.append(SEModule(width, rd_channels=squeezed, gate_layer=nn.Hardsigmoid))
        layers.append(ConvBn(width, config.out_channels, 1, norm_layer=norm_layer))
        self.block = nn.Sequential(*layers)

    def forward(self, x: Tensor) -> Tensor:
        return x + self.block(x) if self.use_res_connect else self.block(x)


class MobileNetV3(nn.Module):
    """MobileNetV3 (https://arxiv.org/abs/1905.02244).

    Input (N, 3, H, W); output (N, num_classes).

    Args:
        inverted_residual_setting: the blocks.
        last_channel: features of the hidden linear layer.
        num_classes: the number of classes.
        block: makes a block, see `MobileNetV3Block`.
        norm_layer: makes a normalization from the number of channels.
        dropout: the probability with which a feature is dropped before the last layer.
    """

    def __init__(
        self,
        inverted_residual_setting: Sequence[InvertedResidualConfig],
        last_channel: int,
        num_classes: int = 1000,
        block: Callable[..., nn.Module] = MobileNetV3Block,
        norm_layer: Callable[[int], nn.Module] = _BatchNorm,
        dropout: float = 0.2,
    ) -> None:
        super().__init__()
        options: dict[str, Any] = {"norm_layer": norm_layer, "act_layer": nn.Hardswish}
        first = inverted_residual_setting[0].input_channels
        last = inverted_residual_setting[-1].out_channels
        self.features = nn.Sequential(
            ConvBnAct(3, first, 3, 2, **options),
            *(block(config, norm_layer=norm_layer) for config in inverted_residual_setting),
            ConvBnAct(last, 6 * last, 1, **options),
        )
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        self.classifier = nn.Sequential(
            nn.Linear(6 * last, last_channel),
            nn.Hardswish(inplace=True),
            nn.Dropout(dropout, inplace=True),
            nn.Linear(last_channel, num_classes),
        )
        init_conv_(self, linear_std=0.01)

    def forward(self, x: Tensor) -> Tensor:
        x = self.avgpool(self.features(x))
        return self.classifier(flow.flatten(x, 1))


def _large(last: int, dilation: int) -> tuple[InvertedResidualConfig, ...]:
    """Return the paper's table 1, with `last` channels at the end where it has 160."""
    row = InvertedResidualConfig
    return (
        row(16, 3, 16, 16, False, "RE", 1),
        row(16, 3, 64, 24, False, "RE", 2),
        row(24, 3, 72, 24, False, "RE", 1),
        row(24, 5, 72, 40, True, "RE", 2),
        row(40, 5, 120, 40, True, "RE", 1),
        row(40, 5, 120, 40, True, "RE", 1),
        row(40, 3, 240, 80, False, "HS", 2),
        row(80, 3, 200, 80, False, "HS", 1),
        row(80, 3, 184, 80, False, "HS", 1),
        row(80, 3, 184, 80, False, "HS", 1),
        row(80, 3, 480, 112, True, "HS", 1),
        row(112, 3, 672, 112, True, "HS", 1),
        row(112, 5, 672, last, True, "HS", 2, dilation),
        row(last, 5, 6 * last, last, True, "HS", 1, dilation),
        row(last, 5, 6 * last, last, True, "HS", 1, dilation),
    )


def _small(last: int, dilation: int) -> tuple[InvertedResidualConfig, ...]:
    """Return the paper's table 2, with `last` channels at the end where it has 96."""
    row = InvertedResidualConfig
    return (
        row(16, 3, 16, 16, True, "RE", 2),
        row(16, 3, 72, 24, False, "RE", 2),
        row(24, 3, 88, 24, False, "RE", 1),
        row(24, 5, 96, 40, True, "HS", 2),
        row(40, 5, 240, 40, True, "HS", 1),
        row(40, 5, 240, 40, True, "HS", 1),
        row(40, 5, 120, 48, True, "HS", 1),
        row(48, 5, 144, 48, True, "HS", 1),
        row(48, 5, 288, last, True, "HS", 2, dilation),
        row(last, 5, 6 * last, last, True, "HS", 1, dilation),
        row(last, 5, 6 * last, last, True, "HS", 1, dilation),
    )


def _build(
    table: Callable[[int, int], tuple[InvertedResidualConfig, ...]],
    last: int,
    last_channel: int,
    width_mult: float,
    reduced_tail: bool,
    dilated: bool,
    options: dict[str, Any],
) -> MobileNetV3:
    """Return a network from a table; see `mobilenet_v3_large` for the arguments."""
    shrink = 2 if reduced_tail else 1
    rows = table(last // shrink, 2 if dilated else 1)
    return MobileNetV3(
        [row.scaled(width_mult) for row in rows],
        make_divisible(last_channel // shrink * width_mult),
        **options,
    )


@register_model(paper=_PAPER, url=f"{_WEIGHTS}/mobilenet_v3_large-5c1a4163.pth")
def mobilenet_v3_large(
    *,
    width_mult: float = 1.0,
    reduced_tail: bool = False,
    dilated: bool = False,
    **kwargs: Any,
) -> MobileNetV3:
    """MobileNetV3 large: 5.5 million parameters.

    Args:
        width_mult: the factor by which all numbers of channels are multiplied.
        reduced_tail: whether the last stage has half the channels, as under detectors.
        dilated: whether the last stage is dilated instead of strided, as in segmentation.
        **kwargs: further arguments of `MobileNetV3`.
    """
    return _build(_large, 160, 1280, width_mult, reduced_tail, dilated, kwargs)


@register_model(paper=_PAPER, url=f"{_WEIGHTS}/mobilenet_v3_small-047dcff4.pth")
def mobilenet_v3_small(
    *,
    width_mult: float = 1.0,
    reduced_tail: bool = False,
    dilated: bool = False,
    **kwargs: Any,
) -> MobileNetV3:
    """MobileNetV3 small: 2.5 million parameters; it takes the same arguments as the large one."""
    return _build(_small, 96, 1024, width_mult, reduced_tail, dilated, kwargs)
