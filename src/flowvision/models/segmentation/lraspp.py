"""LR-ASPP: segmentation for telephones."""

from __future__ import annotations

from collections.abc import Mapping

from flowvision.models.registry import register_model
from flowvision.models.segmentation.seg_utils import mobilenet_features, resize_to
from oneflow import Tensor, nn


class LRASPP(nn.Module):
    """LR-ASPP, section 6.4 of https://arxiv.org/abs/1905.02244.

    Input (N, 3, H, W); output a dict with the logits "out" (N, num_classes, H, W).

    Args:
        backbone: gives a dict of features "low" and "high", of an eighth and a sixteenth of the
            height and width.
        low_channels: the number of channels of the features "low".
        high_channels: the number of channels of the features "high".
        num_classes: the number of classes.
        inter_channels: between the two.
    """

    def __init__(
        self,
        backbone: nn.Module,
        low_channels: int,
        high_channels: int,
        num_classes: int,
        inter_channels: int = 128,
    ) -> None:
        super().__init__()
        self.backbone = backbone
        self.classifier = LRASPPHead(low_channels, high_channels, num_classes, inter_channels)

    def forward(self, input: Tensor) -> dict[str, Tensor]:
        return {"out": resize_to(self.classifier(self.backbone(input)), input)}


class LRASPPHead(nn.Module):
    """Logits of two feature maps; the smaller map is weighted by the whole image.

    Takes a dict of features "low" and "high"; returns (N, num_classes, H, W) of the size of "low".

    Args:
        low_channels: the number of channels of the features "low".
        high_channels: the number of channels of the features "high".
        num_classes: the number of classes.
        inter_channels: between the two.
    """

    def __init__(
        self, low_channels: int, high_channels: int, num_classes: int, inter_channels: int
    ) -> None:
        super().__init__()
        self.cbr = nn.Sequential(
            nn.Conv2d(high_channels, inter_channels, 1, bias=False),
            nn.BatchNorm2d(inter_channels),
            nn.ReLU(inplace=True),
        )
        self.scale = nn.Sequential(
            nn.AdaptiveAvgPool2d(1),
            nn.Conv2d(high_channels, inter_channels, 1, bias=False),
            nn.Sigmoid(),
        )
        self.low_classifier = nn.Conv2d(low_channels, num_classes, 1)
        self.high_classifier = nn.Conv2d(inter_channels, num_classes, 1)

    def forward(self, input: Mapping[str, Tensor]) -> Tensor:
        low, high = input["low"], input["high"]
        weighted = resize_to(self.cbr(high) * self.scale(high), low)
        return self.low_classifier(low) + self.high_classifier(weighted)


@register_model(
    paper="1905.02244",
    task="semantic segmentation",
    url="https://download.pytorch.org/models/lraspp_mobilenet_v3_large-d234d4ea.pth",
)
def lraspp_mobilenet_v3_large_coco(
    num_classes: int = 21, pretrained_backbone: bool = False
) -> LRASPP:
    """LR-ASPP on a MobileNetV3: 3.2 million parameters.

    Args:
        num_classes: the number of classes.
        pretrained_backbone: whether to load weights of ImageNet into the backbone.
    """
    backbone, channels = mobilenet_features(pretrained_backbone, {"low": -4, "high": -1})
    return LRASPP(backbone, channels["low"], channels["high"], num_classes)
