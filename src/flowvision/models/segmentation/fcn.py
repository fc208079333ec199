"""FCN: a classifier whose fully connected layers became convolutions."""

from __future__ import annotations

from flowvision.models.registry import register_model
from flowvision.models.segmentation.seg_utils import SegmentationModel, resnet_features
from oneflow import nn

_PAPER = "1411.4038"
_TASK = "semantic segmentation"
_WEIGHTS = "https://download.pytorch.org/models"


class FCN(SegmentationModel):
    """FCN (https://arxiv.org/abs/1411.4038).

    Input (N, 3, H, W); output a dict with the logits "out" (N, num_classes, H, W), and "aux" if
    there is an auxiliary classifier.

    Args:
        backbone: gives a dict of features "out" and perhaps "aux".
        classifier: see `FCNHead`.
        aux_classifier: the same for "aux"; used in training.
    """


class FCNHead(nn.Sequential):
    """From features (N, in_channels, H, W) to logits (N, channels, H, W).

    Args:
        in_channels: the number of channels of the features.
        channels: the number of classes.
    """

    def __init__(self, in_channels: int, channels: int) -> None:
        middle = in_channels // 4
        super().__init__(
            nn.Conv2d(in_channels, middle, 3, padding=1, bias=False),
            nn.BatchNorm2d(middle),
            nn.ReLU(),
            nn.Dropout(0.1),
            nn.Conv2d(middle, channels, 1),
        )


def _build(name: str, num_classes: int, aux_loss: bool, pretrained_backbone: bool) -> FCN:
    backbone = resnet_features(name, pretrained_backbone, aux=aux_loss)
    aux_classifier = FCNHead(1024, num_classes) if aux_loss else None
    return FCN(backbone, FCNHead(2048, num_classes), aux_classifier)


@register_model(paper=_PAPER, task=_TASK, url=f"{_WEIGHTS}/fcn_resnet50_coco-1167a1af.pth")
def fcn_resnet50_coco(
    num_classes: int = 21, aux_loss: bool = False, pretrained_backbone: bool = False
) -> FCN:
    """FCN on a ResNet-50: 33 million parameters.

    Args:
        num_classes: the number of classes.
        aux_loss: whether there is an auxiliary classifier.
        pretrained_backbone: whether to load weights of ImageNet into the backbone.
    """
    return _build("resnet50", num_classes, aux_loss, pretrained_backbone)


@register_model(paper=_PAPER, task=_TASK, url=f"{_WEIGHTS}/fcn_resnet101_coco-7ecb50ca.pth")
def fcn_resnet101_coco(
    num_classes: int = 21, aux_loss: bool = False, pretrained_backbone: bool = False
) -> FCN:
    """FCN on a ResNet-101: 52 million parameters; see `fcn_resnet50_coco`."""
    return _build("resnet101", num_classes, aux_loss, pretrained_backbone)
