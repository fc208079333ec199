"""MNASNet: inverted residuals found by a search for accuracy and speed on phones."""

from __future__ import annotations

import functools
from typing import Any

from flowvision.layers.blocks import ConvBn, ConvBnAct
from flowvision.layers.helpers import make_divisible
from flowvision.models.registry import ModelFamily
from oneflow import Tensor, nn

# The running statistics of the paper's training: momentum 0.9997 in TensorFlow's sense.
_NORM: dict[str, Any] = {"norm_layer": functools.partial(nn.BatchNorm2d, momentum=1 - 0.9997)}
# The stages of MNASNet-B1: channels, kernel, stride, expansion, number of blocks.
_STAGES = (
    (24, 3, 2, 3, 3),
    (40, 5, 2, 3, 3),
    (80, 5, 2, 6, 3),
    (96, 3, 1, 6, 2),
    (192, 5, 2, 6, 4),
    (320, 3, 1, 6, 1),
)


class MNASInvertedResidual(nn.Module):
    """An inverted residual: 1 x 1, depthwise and linear 1 x 1 convolution.

    Input (N, in_channels, H, W), output (N, out_channels, H / stride, W / stride); with equal
    shapes the input is added to the output.

    Args:
        in_channels: the number of channels of the input.
        out_channels: the number of channels of the output.
        kernel_size: the kernel size of the depthwise convolution.
        stride: the stride of the depthwise convolution.
        expansion: the factor by which it has more channels than the input.
    """

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: int, stride: int, expansion: int
    ) -> None:
        super().__init__()
        width = in_channels * expansion
        self.apply_residual = in_channels == out_channels and stride == 1
        self.layers = nn.Sequential(
            *ConvBnAct(in_channels, width, **_NORM),
            *ConvBnAct(width, width, kernel_size, stride, groups=width, **_NORM),
            *ConvBn(width, out_channels, **_NORM),
        )

    def forward(self, x: Tensor) -> Tensor:
        return x + self.layers(x) if self.apply_residual else self.layers(x)


class MNASNet(nn.Module):
    """MNASNet-B1 (https://arxiv.org/abs/1807.11626).

    Input (N, 3, H, W); output (N, num_classes).

    Args:
        alpha: the factor by which all numbers of channels but the last are multiplied; positive.
        num_classes: the number of classes.
        dropout: the probability with which a feature is dropped before the classifier.

    Raises:
        ValueError: if `alpha` is not positive.
    """

    def __init__(self, alpha: float, num_classes: int = 1000, dropout: float = 0.2) -> None:
        if alpha <= 0:
            raise ValueError(f"`alpha` must be positive, got {alpha}")
        super().__init__()
        stem, channels = make_divisible(32 * alpha), make_divisible(16 * alpha)
        layers: list[nn.Module] = [
            *ConvBnAct(3, stem, 3, 2, **_NORM),
            *ConvBnAct(stem, stem, 3, groups=stem, **_NORM),
            *ConvBn(stem, channels, **_NORM),
        ]
        for base, kernel_size, stride, expansion, depth in _STAGES:
            width = make_divisible(base * alpha)
            block = MNASInvertedResidual
            blocks = [block(channels, width, kernel_size, stride, expansion)]
            blocks += [block(width, width, kernel_size, 1, expansion) for _ in range(1, depth)]
            layers.append(nn.Sequential(*blocks))
            channels = width
        layers += ConvBnAct(channels, 1280, **_NORM)
        self.layers = nn.Sequential(*layers)
        self.classifier = nn.Sequential(
            nn.Dropout(dropout, inplace=True), nn.Linear(1280, num_classes)
        )
        self._initialize()

    def _initialize(self) -> None:
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")
            elif isinstance(module, nn.Linear):
                nn.init.kaiming_uniform_(module.weight, mode="fan_out", nonlinearity="sigmoid")
                nn.init.zeros_(module.bias)

    def forward(self, x: Tensor) -> Tensor:
        return self.classifier(self.layers(x).mean((2, 3)))


_mnasnet = ModelFamily(
    __name__, MNASNet, paper="1807.11626", weights="https://download.pytorch.org/models/{}.pth"
)

# fmt: off
mnasnet0_5 = _mnasnet("mnasnet0_5", "MNASNet of half the channels: 2.2 million parameters.",
    0.5, weights="mnasnet0.5_top1_67.823-3ffadce67e")
mnasnet0_75 = _mnasnet("mnasnet0_75",
    "MNASNet of three quarters of the channels: 3.2 million parameters.",
    0.75, weights="mnasnet0_75-7090bc5f")
mnasnet1_0 = _mnasnet("mnasnet1_0", "MNASNet: 4.4 million parameters.",
    1.0, weights="mnasnet1.0_top1_73.512-f206786ef8")
mnasnet1_3 = _mnasnet("mnasnet1_3", "MNASNet of 1.3 times the channels: 6.3 million parameters.",
    1.3, weights="mnasnet1_3-a4c69d6f")
