"""DenseNet: every layer sees the outputs of all layers before it."""

from __future__ import annotations

import re
from collections.abc import Sequence

import oneflow as flow
from flowvision.models.registry import ModelFamily
from oneflow import Tensor, nn


class DenseLayer(nn.Module):
    """A 1 x 1 and a 3 x 3 convolution, each after normalization and rectifier.

    Input (N, in_channels, H, W), output (N, growth_rate, H, W).

    Args:
        in_channels: the number of channels of the input.
        growth_rate: channels of the output.
        bn_size: the factor by which the 1 x 1 convolution has more channels than the output.
        drop_rate: the probability with which an element of the output is dropped.
    """

    def __init__(
        self, in_channels: int, growth_rate: int, bn_size: int, drop_rate: float = 0.0
    ) -> None:
        super().__init__()
        width = bn_size * growth_rate
        self.norm1 = nn.BatchNorm2d(in_channels)
        self.relu1 = nn.ReLU(inplace=True)
        self.conv1 = nn.Conv2d(in_channels, width, 1, bias=False)
        self.norm2 = nn.BatchNorm2d(width)
        self.relu2 = nn.ReLU(inplace=True)
        self.conv2 = nn.Conv2d(width, growth_rate, 3, padding=1, bias=False)
        self.dropout = nn.Dropout(drop_rate)

    def forward(self, x: Tensor) -> Tensor:
        x = self.conv1(self.relu1(self.norm1(x)))
        return self.dropout(self.conv2(self.relu2(self.norm2(x))))


class DenseBlock(nn.ModuleDict):
    """Dense layers `denselayer1`, ..., each on the concatenation of all before and the input.

    Input (N, in_channels, H, W), output (N, in_channels + depth * growth_rate, H, W).

    Args:
        depth: the number of layers.
        in_channels: the number of channels of the input.
        growth_rate: channels that each layer adds.
        bn_size: see `DenseLayer`.
        drop_rate: see `DenseLayer`.
    """

    def __init__(
        self, depth: int, in_channels: int, growth_rate: int, bn_size: int, drop_rate: float
    ) -> None:
        super().__init__(
            {
                f"denselayer{index + 1}": DenseLayer(
                    in_channels + index * growth_rate, growth_rate, bn_size, drop_rate
                )
                for index in range(depth)
            }
        )

    def forward(self, x: Tensor) -> Tensor:
        for layer in self.values():
            x = flow.cat([x, layer(x)], dim=1)
        return x


class DenseTransition(nn.Sequential):
    """Half the height and width, and `out_channels` instead of `in_channels`."""

    def __init__(self, in_channels: int, out_channels: int) -> None:
        super().__init__()
        self.norm = nn.BatchNorm2d(in_channels)
        self.relu = nn.ReLU(inplace=True)
        self.conv = nn.Conv2d(in_channels, out_channels, 1, bias=False)
        self.pool = nn.AvgPool2d(2, stride=2)


class DenseNet(nn.Module):
    """DenseNet (https://arxiv.org/abs/1608.06993).

    Input (N, 3, H, W), at least 29 pixels high and wide; output (N, num_classes).

    Args:
        growth_rate: channels that each layer adds (the paper's k).
        block_config: the number of layers of each block.
        num_init_features: channels of the first convolution.
        bn_size: the factor by which 1 x 1 convolutions have more channels than layers add.
        drop_rate: the probability with which an element of a layer's output is dropped.
        num_classes: the number of classes.
    """

    def __init__(
        self,
        growth_rate: int = 32,
        block_config: Sequence[int] = (6, 12, 24, 16),
        num_init_features: int = 64,
        bn_size: int = 4,
        drop_rate: float = 0.0,
        num_classes: int = 1000,
    ) -> None:
        super().__init__()
        channels = num_init_features
        features = nn.Sequential()
        features.add_module("conv0", nn.Conv2d(3, channels, 7, stride=2, padding=3, bias=False))
        features.add_module("norm0", nn.BatchNorm2d(channels))
        features.add_module("relu0", nn.ReLU(inplace=True))
        features.add_module("pool0", nn.MaxPool2d(3, stride=2, padding=1))
        for index, depth in enumerate(block_config, start=1):
            block = DenseBlock(depth, channels, growth_rate, bn_size, drop_rate)
            features.add_module(f"denseblock{index}", block)
            channels += depth * growth_rate
            if index < len(block_config):
                transition = DenseTransition(channels, channels // 2)
                features.add_module(f"transition{index}", transition)
                channels //= 2
        features.add_module(f"norm{len(block_config) + 1}", nn.BatchNorm2d(channels))
        self.features = features
        self.classifier = nn.Linear(channels, num_classes)
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight)
        nn.init.zeros_(self.classifier.bias)

    def forward(self, x: Tensor) -> Tensor:
        x = nn.functional.relu(self.features(x))
        x = nn.functional.adaptive_avg_pool2d(x, (1, 1))
        return self.classifier(flow.flatten(x, 1))


def current_name(name: str) -> str:
    """Return the name of a parameter for that in the published files, which have `norm.1`."""
    return re.sub(r"(denselayer\d+\.(?:norm|conv))\.(\d)", r"\1\2", name)


_densenet = ModelFamily(
    __name__,
    DenseNet,
    paper="1608.06993",
    weights="https://download.pytorch.org/models/{}.pth",
    rename=current_name,
)

# fmt: off
densenet121 = _densenet("densenet121", "DenseNet with 121 layers: 8 million parameters.",
    32, (6, 12, 24, 16), 64, weights="densenet121-a639ec97")
densenet161 = _densenet("densenet161",
    "DenseNet with 161 layers and more channels: 29 million parameters.",
    48, (6, 12, 36, 24), 96, weights="densenet161-8d451a50")
densenet169 = _densenet("densenet169", "DenseNet with 169 layers: 14 million parameters.",
    32, (6, 12, 32, 32), 64, weights="densenet169-b2777c0a")
densenet201 = _densenet("densenet201", "DenseNet with 201 layers: 20 million parameters.",
    32, (6, 12, 48, 32), 64, weights="densenet201-c1103571")
