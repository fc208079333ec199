"""VGG: depth from 3 x 3 convolutions alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import oneflow as flow
from flowvision.layers.weight_init import init_convolutional_
from flowvision.models.registry import register_model
from oneflow import Tensor, nn

_PAPER = "1409.1556"
_WEIGHTS = "https://download.pytorch.org/models"
_WIDTHS = (64, 128, 256, 512, 512)
# How many convolutions each of the five stages has (the paper's configurations A, B, D and E).
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
            init_convolutional_(self, linear_std=0.01)

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


@register_model(paper=_PAPER, url=f"{_WEIGHTS}/vgg11-8a719046.pth")
def vgg11(**kwargs: Any) -> VGG:
    """VGG with 11 layers: 133 million parameters."""
    return VGG(vgg_features(_VGG11), **kwargs)


@register_model(paper=_PAPER, url=f"{_WEIGHTS}/vgg11_bn-6002323d.pth")
def vgg11_bn(**kwargs: Any) -> VGG:
    """VGG with 11 layers and batch normalization."""
    return VGG(vgg_features(_VGG11, batch_norm=True), **kwargs)


@register_model(paper=_PAPER, url=f"{_WEIGHTS}/vgg13-19584684.pth")
def vgg13(**kwargs: Any) -> VGG:
    """VGG with 13 layers: 133 million parameters."""
    return VGG(vgg_features(_VGG13), **kwargs)


@register_model(paper=_PAPER, url=f"{_WEIGHTS}/vgg13_bn-abd245e5.pth")
def vgg13_bn(**kwargs: Any) -> VGG:
    """VGG with 13 layers and batch normalization."""
    return VGG(vgg_features(_VGG13, batch_norm=True), **kwargs)


@register_model(paper=_PAPER, url=f"{_WEIGHTS}/vgg16-397923af.pth")
def vgg16(**kwargs: Any) -> VGG:
    """VGG with 16 layers: 138 million parameters."""
    return VGG(vgg_features(_VGG16), **kwargs)


@register_model(paper=_PAPER, url=f"{_WEIGHTS}/vgg16_bn-6c64b313.pth")
def vgg16_bn(**kwargs: Any) -> VGG:
    """VGG with 16 layers and batch normalization."""
    return VGG(vgg_features(_VGG16, batch_norm=True), **kwargs)


@register_model(paper=_PAPER, url=f"{_WEIGHTS}/vgg19-dcbb9e9d.pth")
def vgg19(**kwargs: Any) -> VGG:
    """VGG with 19 layers: 144 million parameters."""
    return VGG(vgg_features(_VGG19), **kwargs)


@register_model(paper=_PAPER, url=f"{_WEIGHTS}/vgg19_bn-c79401a0.pth")
def vgg19_bn(**kwargs: Any) -> VGG:
    """VGG with 19 layers and batch normalization."""
    return VGG(vgg_features(_VGG19, batch_norm=True), **kwargs)
