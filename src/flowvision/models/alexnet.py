"""AlexNet, in the form for one GPU."""

from __future__ import annotations

from typing import Any

import oneflow as flow
from flowvision.models.registry import register_model
from oneflow import Tensor, nn


class AlexNet(nn.Module):
    """AlexNet (https://arxiv.org/abs/1404.5997).

    Input (N, 3, H, W), at least 63 pixels high and wide; output (N, num_classes).

    Args:
        num_classes: the number of classes.
        dropout: the probability with which a feature is dropped before each hidden linear layer.
    """

    def __init__(self, num_classes: int = 1000, dropout: float = 0.5) -> None:
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, 64, 11, stride=4, padding=2),
            nn.ReLU(inplace=True),
            nn.MaxPool2d(3, stride=2),
            nn.Conv2d(64, 192, 5, padding=2),
            nn.ReLU(inplace=True),
            nn.MaxPool2d(3, stride=2),
            nn.Conv2d(192, 384, 3, padding=1),
            nn.ReLU(inplace=True),
            nn.Conv2d(384, 256, 3, padding=1),
            nn.ReLU(inplace=True),
            nn.Conv2d(256, 256, 3, padding=1),
            nn.ReLU(inplace=True),
            nn.MaxPool2d(3, stride=2),
        )
        self.avgpool = nn.AdaptiveAvgPool2d((6, 6))
        self.classifier = nn.Sequential(
            nn.Dropout(dropout),
            nn.Linear(256 * 6 * 6, 4096),
            nn.ReLU(inplace=True),
            nn.Dropout(dropout),
            nn.Linear(4096, 4096),
            nn.ReLU(inplace=True),
            nn.Linear(4096, num_classes),
        )

    def forward(self, x: Tensor) -> Tensor:
        x = self.avgpool(self.features(x))
        return self.classifier(flow.flatten(x, 1))


@register_model(
    paper="1404.5997", url="https://download.pytorch.org/models/alexnet-owt-7be5be79.pth"
)
def alexnet(**kwargs: Any) -> AlexNet:
    """AlexNet: five convolutions and three linear layers, 61 million parameters."""
    return AlexNet(**kwargs)
