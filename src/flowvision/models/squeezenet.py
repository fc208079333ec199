"""SqueezeNet: AlexNet's accuracy with a fiftieth of its parameters."""

from __future__ import annotations

import oneflow as flow
from flowvision.models.registry import ModelFamily
from oneflow import Tensor, nn


class Fire(nn.Module):
    """A layer that squeezes the channels and expands them by 1 x 1 and 3 x 3 convolutions.

    Input (N, in_channels, H, W), output (N, 2 * expand_channels, H, W).

    Args:
        in_channels: the number of channels of the input.
        squeeze_channels: between the two parts.
        expand_channels: the number of channels of each of the two convolutions that expand.
    """

    def __init__(self, in_channels: int, squeeze_channels: int, expand_channels: int) -> None:
        super().__init__()
        self.squeeze = nn.Conv2d(in_channels, squeeze_channels, 1)
        self.squeeze_activation = nn.ReLU(inplace=True)
        self.expand1x1 = nn.Conv2d(squeeze_channels, expand_channels, 1)
        self.expand1x1_activation = nn.ReLU(inplace=True)
        self.expand3x3 = nn.Conv2d(squeeze_channels, expand_channels, 3, padding=1)
        self.expand3x3_activation = nn.ReLU(inplace=True)

    def forward(self, x: Tensor) -> Tensor:
        x = self.squeeze_activation(self.squeeze(x))
        return flow.cat(
            [
                self.expand1x1_activation(self.expand1x1(x)),
                self.expand3x3_activation(self.expand3x3(x)),
            ],
            dim=1,
        )


class SqueezeNet(nn.Module):
    """SqueezeNet (https://arxiv.org/abs/1602.07360).

    Input (N, 3, H, W), at least 17 pixels high and wide; output (N, num_classes).

    Args:
        version: "1_0", or "1_1" with 2.4 times less computation and the same accuracy.
        num_classes: the number of classes.
        dropout: the probability with which a feature is dropped before the last convolution.

    Raises:
        ValueError: if there is no such version.
    """

    def __init__(self, version: str = "1_0", num_classes: int = 1000, dropout: float = 0.5) -> None:
        super().__init__()
        if version == "1_0":
            stem = nn.Conv2d(3, 96, 7, stride=2)
            channels, indices = 96, (0, 3, 7)
        elif version == "1_1":
            stem = nn.Conv2d(3, 64, 3, stride=2)
            channels, indices = 64, (0, 2, 4)
        else:
            raise ValueError(f"SqueezeNet has the versions '1_0' and '1_1', not {version!r}")
        layers: list[nn.Module] = [stem, nn.ReLU(inplace=True)]
        for index, width in enumerate((16, 16, 32, 32, 48, 48, 64, 64)):
            if index in indices:
                layers.append(nn.MaxPool2d(3, stride=2, ceil_mode=True))
            layers.append(Fire(channels, width, 4 * width))
            channels = 8 * width
        self.features = nn.Sequential(*layers)
        self.classifier = nn.Sequential(
            nn.Dropout(dropout),
            nn.Conv2d(512, num_classes, 1),
            nn.ReLU(inplace=True),
            nn.AdaptiveAvgPool2d((1, 1)),
        )
        self._initialize()

    def _initialize(self) -> None:
        last = self.classifier[1]
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                if module is last:
                    nn.init.normal_(module.weight, std=0.01)
                else:
                    nn.init.kaiming_uniform_(module.weight)
                nn.init.zeros_(module.bias)

    def forward(self, x: Tensor) -> Tensor:
        return flow.flatten(self.classifier(self.features(x)), 1)


_squeezenet = ModelFamily(
    __name__, SqueezeNet, paper="1602.07360", weights="https://download.pytorch.org/models/{}.pth"
)

# fmt: off
squeezenet1_0 = _squeezenet("squeezenet1_0", "SqueezeNet 1.0: 1.2 million parameters.",
    "1_0", weights="squeezenet1_0-b66bff10")
squeezenet1_1 = _squeezenet("squeezenet1_1",
    "SqueezeNet 1.1: as accurate as 1.0 with 2.4 times less computation.",
    "1_1", weights="squeezenet1_1-b8a52dc0")
