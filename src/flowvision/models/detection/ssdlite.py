"""SSDLite: SSD of depthwise convolutions."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from flowvision.layers.blocks import ConvBnAct
from flowvision.models.detection.anchor_utils import DefaultBoxGenerator
from flowvision.models.detection.backbone_utils import trainable_layers
from flowvision.models.detection.one_stage import HeadOutputs
from flowvision.models.detection.ssd import SSD, SSDScoringHead
from flowvision.models.registry import ModelCreator, register_model
from flowvision.models.segmentation.seg_utils import block_channels, stage_starts
from oneflow import Tensor, nn

Norm = Callable[[int], nn.Module]
_NORM = functools.partial(nn.BatchNorm2d, eps=0.001, momentum=0.03)


def _prediction(in_channels: int, out_channels: int, norm_layer: Norm) -> nn.Sequential:
    """Return a depthwise convolution and one of 1 x 1."""
    return nn.Sequential(
        ConvBnAct(
            in_channels,
            in_channels,
            3,
            groups=in_channels,
            norm_layer=norm_layer,
            act_layer=nn.ReLU6,
        ),
        nn.Conv2d(in_channels, out_channels, 1),
    )


def _extra(in_channels: int, out_channels: int, norm_layer: Norm) -> nn.Sequential:
    """Return three convolutions; the depthwise one in the middle halves height and width."""
    middle = out_channels // 2
    options: dict[str, Any] = {"norm_layer": norm_layer, "act_layer": nn.ReLU6}
    return nn.Sequential(
        ConvBnAct(in_channels, middle, 1, **options),
        ConvBnAct(middle, middle, 3, 2, groups=middle, **options),
        ConvBnAct(middle, out_channels, 1, **options),
    )


def _init_normal(module: nn.Module) -> None:
    for layer in module.modules():
        if isinstance(layer, nn.Conv2d):
            nn.init.normal_(layer.weight, std=0.03)
            if layer.bias is not None:
                nn.init.zeros_(layer.bias)


class SSDLiteClassificationHead(SSDScoringHead):
    """Logits (N, boxes, num_classes) by depthwise convolutions.

    Args:
        in_channels: the number of channels of each of the features.
        num_anchors: how many boxes an element of each has.
        num_classes: the number of classes, with the background.
        norm_layer: makes a normalization from the number of channels.
    """

    def __init__(
        self,
        in_channels: Sequence[int],
        num_anchors: Sequence[int],
        num_classes: int,
        norm_layer: Norm,
    ) -> None:
        super().__init__(
            _output_layers(in_channels, num_anchors, num_classes, norm_layer), num_classes
        )


class SSDLiteRegressionHead(SSDScoringHead):
    """Offsets (N, boxes, 4) by depthwise convolutions.

    Args:
        in_channels: the number of channels of each of the features.
        num_anchors: how many boxes an element of each has.
        norm_layer: makes a normalization from the number of channels.
    """

    def __init__(
        self, in_channels: Sequence[int], num_anchors: Sequence[int], norm_layer: Norm
    ) -> None:
        super().__init__(_output_layers(in_channels, num_anchors, 4, norm_layer), 4)


def _output_layers(
    in_channels: Sequence[int], num_anchors: Sequence[int], columns: int, norm_layer: Norm
) -> nn.ModuleList:
    modules = nn.ModuleList(
        _prediction(channels, columns * kinds, norm_layer)
        for channels, kinds in zip(in_channels, num_anchors, strict=True)
    )
    _init_normal(modules)
    return modules


class SSDLiteHead(nn.Module):
    """Both heads: a dict with "bbox_regression" and "cls_logits".

    Args:
        in_channels: the number of channels of each of the features.
        num_anchors: how many boxes an element of each has.
        num_classes: the number of classes, with the background.
        norm_layer: makes a normalization from the number of channels.
    """

    def __init__(
        self,
        in_channels: Sequence[int],
        num_anchors: Sequence[int],
        num_classes: int,
        norm_layer: Norm,
    ) -> None:
        super().__init__()
        self.classification_head = SSDLiteClassificationHead(
            in_channels, num_anchors, num_classes, norm_layer
        )
        self.regression_head = SSDLiteRegressionHead(in_channels, num_anchors, norm_layer)

    def forward(self, x: Sequence[Tensor]) -> HeadOutputs:
        return {
            "bbox_regression": self.regression_head(x),
            "cls_logits": self.classification_head(x),
        }


class SSDLiteFeatureExtractorMobileNet(nn.Module):
    """Features of a MobileNet and of further convolutions.

    Input (N, 3, H, W); output a dict of six features: of 320 x 320 pixels with heights and widths
    20, 10, 5, 3, 2 and 1.

    Args:
        backbone: the blocks of a MobileNetV3.
        c4_pos: the position of the block with the fourth stride; its expansion ends the first part.
        norm_layer: makes a normalization from the number of channels.
        width_mult: the factor by which the channels of the further convolutions are multiplied.
        min_depth: their smallest number of channels.

    Raises:
        ValueError: if that block has a shortcut, which cannot be cut.
    """

    def __init__(
        self,
        backbone: nn.Module,
        c4_pos: int,
        norm_layer: Norm,
        width_mult: float = 1.0,
        min_depth: int = 16,
    ) -> None:
        super().__init__()
        blocks = list(backbone.children())
        cut = blocks[c4_pos]
        if cut.use_res_connect:
            raise ValueError(f"block {c4_pos} of the backbone has a shortcut and cannot be cut")
        self.features = nn.Sequential(
            nn.Sequential(*blocks[:c4_pos], cut.block[0]),
            nn.Sequential(cut.block[1:], *blocks[c4_pos + 1 :]),
        )
        channels = [block_channels(cut.block[0]), block_channels(blocks[-1])]
        more_convs = nn.ModuleList()
        for width in (512, 256, 256, 128):
            out_channels = max(min_depth, int(width * width_mult))
            more_convs.append(_extra(channels[-1], out_channels, norm_layer))
            channels.append(out_channels)
        _init_normal(more_convs)
        self.extra = more_convs
        self.out_channels = channels

    def forward(self, x: Tensor) -> dict[str, Tensor]:
        results = []
        for block in (*self.features, *self.extra):
            x = block(x)
            results.append(x)
        return {str(number): result for number, result in enumerate(results)}


@register_model(
    paper="1801.04381",
    task="object detection",
    image_size=320,
    url="https://download.pytorch.org/models/ssdlite320_mobilenet_v3_large_coco-a79551df.pth",
)
def ssdlite320_mobilenet_v3_large(
    num_classes: int = 91,
    pretrained_backbone: bool = False,
    trainable_backbone_layers: int | None = None,
    norm_layer: Norm = _NORM,
    **kwargs: Any,
) -> SSD:
    """SSDLite on a MobileNetV3 for images of 320 x 320 pixels: 3.4 million parameters.

    Args:
        num_classes: the number of classes, with the background.
        pretrained_backbone: whether to load weights of ImageNet into the backbone, whose last stage
            then has all its channels instead of half of them.
        trainable_backbone_layers: how many of the backbone's six stages are trained; default: all.
        norm_layer: makes a normalization from the number of channels.
        **kwargs: further arguments of `SSD`.
    """
    model = ModelCreator.create_model(
        "mobilenet_v3_large",
        pretrained=pretrained_backbone,
        norm_layer=norm_layer,
        reduced_tail=not pretrained_backbone,
    )
    features = model.get_submodule("features")
    blocks = list(features.children())
    starts = stage_starts(blocks)
    trained = trainable_layers(
        trainable_backbone_layers, pretrained=pretrained_backbone, default=6, most=6
    )
    for block in blocks[: starts[6 - trained] if trained else len(blocks)]:
        block.requires_grad_(False)
    backbone = SSDLiteFeatureExtractorMobileNet(features, starts[-2], norm_layer)
    anchors = DefaultBoxGenerator([[2, 3]] * 6, min_ratio=0.2, max_ratio=0.95)
    kinds = anchors.num_anchors_per_location()
    options = {
        "score_thresh": 0.001,
        "nms_thresh": 0.55,
        "detections_per_img": 300,
        "topk_candidates": 300,
        "image_mean": [0.5, 0.5, 0.5],
        "image_std": [0.5, 0.5, 0.5],
        "head": SSDLiteHead(backbone.out_channels, kinds, num_classes, norm_layer),
        **kwargs,
    }
    return SSD(backbone, anchors, (320, 320), num_classes, **options)
