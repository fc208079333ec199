"""DeepLabV3: dilated convolutions at several rates side by side."""

from __future__ import annotations

from collections.abc import Sequence

import oneflow as flow
from flowvision.models.registry import register_model
from flowvision.models.segmentation.fcn import FCNHead
from flowvision.models.segmentation.seg_utils import (
    SegmentationModel,
    mobilenet_features,
    resize_to,
    resnet_features,
)
from oneflow import Tensor, nn

_PAPER = "1706.05587"
_TASK = "semantic segmentation"
_WEIGHTS = "https://download.pytorch.org/models"


class DeepLabV3(SegmentationModel):
    """DeepLabV3 (https://arxiv.org/abs/1706.05587).

    Input (N, 3, H, W); output a dict with the logits "out" (N, num_classes, H, W), and "aux" if
    there is an auxiliary classifier.

    Args:
        backbone: gives a dict of features "out" and perhaps "aux".
        classifier: see `DeepLabHead`.
        aux_classifier: see `FCNHead`, for "aux"; used in training.
    """


class DeepLabHead(nn.Sequential):
    """From features (N, in_channels, H, W) to logits (N, num_classes, H, W).

    Args:
        in_channels: the number of channels of the features.
        num_classes: the number of classes.
    """

    def __init__(self, in_channels: int, num_classes: int) -> None:
        super().__init__(
            ASPP(in_channels, [12, 24, 36]),
            nn.Conv2d(256, 256, 3, padding=1, bias=False),
            nn.BatchNorm2d(256),
            nn.ReLU(),
            nn.Conv2d(256, num_classes, 1),
        )


class ASPPConv(nn.Sequential):
    """A dilated 3 x 3 convolution with normalization and rectifier; keeps height and width.

    Args:
        in_channels: the number of channels of the input.
        out_channels: the number of channels of the output.
        dilation: the dilation of the convolution.
    """

    def __init__(self, in_channels: int, out_channels: int, dilation: int) -> None:
        super().__init__(
            nn.Conv2d(
                in_channels, out_channels, 3, padding=dilation, dilation=dilation, bias=False
            ),
            nn.BatchNorm2d(out_channels),
            nn.ReLU(),
        )


class ASPPPooling(nn.Sequential):
    """The mean of the whole image, convolved and spread over it again.

    Args:
        in_channels: the number of channels of the input.
        out_channels: the number of channels of the output.
    """

    def __init__(self, in_channels: int, out_channels: int) -> None:
        super().__init__(
            nn.AdaptiveAvgPool2d(1),
            nn.Conv2d(in_channels, out_channels, 1, bias=False),
            nn.BatchNorm2d(out_channels),
            nn.ReLU(),
        )

    def forward(self, input: Tensor) -> Tensor:
        return resize_to(super().forward(input), input)


class ASPP(nn.Module):
    """Atrous spatial pyramid pooling: convolutions of several reaches, and a projection of all.

    Input (N, in_channels, H, W), output (N, out_channels, H, W).

    Args:
        in_channels: the number of channels of the input.
        atrous_rates: the dilations.
        out_channels: the number of channels of each convolution and of the output.
    """

    def __init__(
        self, in_channels: int, atrous_rates: Sequence[int], out_channels: int = 256
    ) -> None:
        super().__init__()
        pointwise = nn.Sequential(
            nn.Conv2d(in_channels, out_channels, 1, bias=False),
            nn.BatchNorm2d(out_channels),
            nn.ReLU(),
        )
        self.convs = nn.ModuleList(
            [
                pointwise,
                *(ASPPConv(in_channels, out_channels, rate) for rate in atrous_rates),
                ASPPPooling(in_channels, out_channels),
            ]
        )
        self.project = nn.Sequential(
            nn.Conv2d(len(self.convs) * out_channels, out_channels, 1, bias=False),
            nn.BatchNorm2d(out_channels),
            nn.ReLU(),
            nn.Dropout(0.5),
        )

    def forward(self, x: Tensor) -> Tensor:
        return self.project(flow.cat([conv(x) for conv in self.convs], 1))


def _with_resnet(
    name: str, num_classes: int, aux_loss: bool, pretrained_backbone: bool
) -> DeepLabV3:
    backbone = resnet_features(name, pretrained_backbone, aux=aux_loss)
    aux_classifier = FCNHead(1024, num_classes) if aux_loss else None
    return DeepLabV3(backbone, DeepLabHead(2048, num_classes), aux_classifier)


@register_model(paper=_PAPER, task=_TASK, url=f"{_WEIGHTS}/deeplabv3_resnet50_coco-cd0a2569.pth")
def deeplabv3_resnet50_coco(
    num_classes: int = 21, aux_loss: bool = False, pretrained_backbone: bool = False
) -> DeepLabV3:
    """DeepLabV3 on a ResNet-50: 40 million parameters.

    Args:
        num_classes: the number of classes.
        aux_loss: whether there is an auxiliary classifier.
        pretrained_backbone: whether to load weights of ImageNet into the backbone.
    """
    return _with_resnet("resnet50", num_classes, aux_loss, pretrained_backbone)


@register_model(paper=_PAPER, task=_TASK, url=f"{_WEIGHTS}/deeplabv3_resnet101_coco-586e9e4e.pth")
def deeplabv3_resnet101_coco(
    num_classes: int = 21, aux_loss: bool = False, pretrained_backbone: bool = False
) -> DeepLabV3:
    """DeepLabV3 on a ResNet-101: 59 million parameters; see `deeplabv3_resnet50_coco`."""
    return _with_resnet("resnet101", num_classes, aux_loss, pretrained_backbone)


@register_model(
    paper=_PAPER, task=_TASK, url=f"{_WEIGHTS}/deeplabv3_mobilenet_v3_large-fc3c493d.pth"
)
def deeplabv3_mobilenet_v3_large_coco(
    num_classes: int = 21, aux_loss: bool = False, pretrained_backbone: bool = False
) -> DeepLabV3:
    """DeepLabV3 on a MobileNetV3: 11 million parameters; see `deeplabv3_resnet50_coco`."""
    backbone, channels = mobilenet_features(pretrained_backbone, {"out": -1, "aux": -4}, aux_loss)
    aux_classifier = FCNHead(channels["aux"], num_classes) if aux_loss else None
    return DeepLabV3(backbone, DeepLabHead(channels["out"], num_classes), aux_classifier)
