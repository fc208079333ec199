"""VGG: depth from 3 x 3 convolutions alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import oneflow as flow
from flowvision.layers.weight_init import init_conv_
from flowvision.models.registry import ModelFamily
from oneflow import Tensor, nn

_WIDTHS = (64, 128, 256, 512, 512)
# The number of convolutions in each of the five stages (the paper's configurations A, B, D, E).
_VGG11 = (1, 1, 2, 2, 2)
_VGG13 = (2, 2, 2, 2, 2)
_VGG16 = (2, 2, 3, 3, 3)
_VGG19 = (2, 2, 4, 4, 4)


class VGG(nn.Module):
    """VGG (https://arxiv.org/abs/1409.1556).

    Input (N, 3, H, W), at least 32 pixels high and wide; output (N, num_classes).

    Args:
        features: from the image to (N, 512, H / 32, W / 32), see `vgg_features`.
        num_classes: the number of classes.
        init_weights: whether to draw the weights as in the paper's training.
        dropout: the probability with which a feature is dropped after each hidden linear layer.
    """

    def __init__(
        self,
        features: nn.Module,
        num_classes: int = 1000,
        init_weights: bool = True,
        dropout: float = 0.5,
    ) -> None:
        super().__init__()
        self.features = features
        self.avgpool = nn.AdaptiveAvgPool2d((7, 7))
        self.classifier = nn.Sequential(
            nn.Linear(512 * 7 * 7, 4096),
            nn.ReLU(inplace=True),
            nn.Dropout(dropout),
            nn.Linear(4096, 4096),
            nn.ReLU(inplace=True),
            nn.Dropout(dropout),
            nn.Linear(4096, num_classes),
        )
        if init_weights:
            init_conv_(self, linear_std=0.01)

    def forward(self, x: Tensor) -> Tensor:
        x = self.avgpool(self.features(x))
        return self.classifier(flow.flatten(x, 1))


def vgg_features(depths: Sequence[int], batch_norm: bool = False) -> nn.Sequential:
    """Return the convolutional part: stages of 3 x 3 convolutions with a pooling after each.

    Args:
        depths: the number of convolutions of each of the five stages.
        batch_norm: whether each convolution is followed by batch normalization.
    """
    layers: list[nn.Module] = []
    channels = 3
    for depth, width in zip(depths, _WIDTHS, strict=True):
        for _ in range(depth):
            layers.append(nn.Conv2d(channels, width, 3, padding=1))
            if batch_norm:
                layers.append(nn.BatchNorm2d(width))
            layers.append(nn.ReLU(inplace=True))
            channels = width
        layers.append(nn.MaxPool2d(2, stride=2))
    return nn.Sequential(*layers)


def _build(depths: Sequence[int], batch_norm: bool = False, **kwargs: Any) -> VGG:
    return VGG(vgg_features(depths, batch_norm), **kwargs)


_vgg = ModelFamily(
    __name__, _build, paper="1409.1556", weights="https://download.pytorch.org/models/{}.pth"
)

# fmt: off
vgg11 = _vgg("vgg11", "VGG with 11 layers: 133 million parameters.",
    _VGG11, weights="vgg11-8a719046")
vgg11_bn = _vgg("vgg11_bn", "VGG with 11 layers and batch normalization.",
    _VGG11, batch_norm=True, weights="vgg11_bn-6002323d")
vgg13 = _vgg("vgg13", "VGG with 13 layers: 133 million parameters.",
    _VGG13, weights="vgg13-19584684")
vgg13_bn = _vgg("vgg13_bn", "VGG with 13 layers and batch normalization.",
    _VGG13, batch_norm=True, weights="vgg13_bn-abd245e5")
vgg16 = _vgg("vgg16", "VGG with 16 layers: 138 million parameters.",
    _VGG16, weights="vgg16-397923af")
vgg16_bn = _vgg("vgg16_bn", "VGG with 16 layers and batch normalization.",
    _VGG16, batch_norm=True, weights="vgg16_bn-6c64b313")
vgg19 = _vgg("vgg19", "VGG with 19 layers: 144 million parameters.",
    _VGG19, weights="vgg19-dcbb9e9d")
vgg19_bn = _vgg("vgg19_bn", "VGG with 19 layers and batch normalization.",
    _VGG19, batch_norm=True, weights="vgg19_bn-c79401a0")
