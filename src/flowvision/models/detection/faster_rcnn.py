"""Faster R-CNN: boxes from a region proposal network, classified and refined."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from flowvision.models.detection.anchor_utils import AnchorGenerator
from flowvision.models.detection.backbone_utils import (
    frozen_norm,
    mobilenet_backbone,
    resnet_fpn_backbone,
    trainable_layers,
)
from flowvision.models.detection.generalized_rcnn import GeneralizedRCNN
from flowvision.models.detection.roi_heads import RoIHeads
from flowvision.models.detection.rpn import RegionProposalNetwork, RPNHead
from flowvision.models.detection.transform import GeneralizedRCNNTransform
from flowvision.models.registry import register_model
from flowvision.ops._utils import pair
from flowvision.ops.poolers import MultiScaleRoIAlign
from oneflow import Tensor, nn
from oneflow.nn import functional as F

_PAPER = "1506.01497"
_TASK = "object detection"
_WEIGHTS = "https://download.pytorch.org/models"
IMAGENET_MEAN = (0.485, 0.456, 0.406)
IMAGENET_STD = (0.229, 0.224, 0.225)


@dataclass(frozen=True)
class RCNNNumbers:
    """The numbers that set up the two stages of R-CNN.

    Attributes:
        rpn_pre_nms_top_n_train: see `RegionProposalNetwork`, as for the following; while training.
        rpn_pre_nms_top_n_test: the same in evaluation.
        rpn_post_nms_top_n_train: while training.
        rpn_post_nms_top_n_test: the same in evaluation.
        rpn_nms_thresh: see there.
        rpn_fg_iou_thresh: see there.
        rpn_bg_iou_thresh: see there.
        rpn_batch_size_per_image: see there.
        rpn_positive_fraction: see there.
        rpn_score_thresh: see there.
        box_score_thresh: see `RoIHeads`, as for the following.
        box_nms_thresh: see there.
        box_detections_per_img: see there.
        box_fg_iou_thresh: see there.
        box_bg_iou_thresh: see there.
        box_batch_size_per_image: see there.
        box_positive_fraction: see there.
        bbox_reg_weights: see there.
    """

    rpn_pre_nms_top_n_train: int = 2000
    rpn_pre_nms_top_n_test: int = 1000
    rpn_post_nms_top_n_train: int = 2000
    rpn_post_nms_top_n_test: int = 1000
    rpn_nms_thresh: float = 0.7
    rpn_fg_iou_thresh: float = 0.7
    rpn_bg_iou_thresh: float = 0.3
    rpn_batch_size_per_image: int = 256
    rpn_positive_fraction: float = 0.5
    rpn_score_thresh: float = 0.0
    box_score_thresh: float = 0.05
    box_nms_thresh: float = 0.5
    box_detections_per_img: int = 100
    box_fg_iou_thresh: float = 0.5
    box_bg_iou_thresh: float = 0.5
    box_batch_size_per_image: int = 512
    box_positive_fraction: float = 0.25
    bbox_reg_weights: tuple[float, float, float, float] | None = None


class FasterRCNN(GeneralizedRCNN):
    """Faster R-CNN (https://arxiv.org/abs/1506.01497).

    Takes a list of images (3, H, W) with values in [0, 1], of any sizes. In evaluation it returns
    for each image a dict of "boxes" (n, 4) in pixels, "labels" (n,) and "scores" (n,), the best
    first. While training it takes a list of targets with "boxes" and "labels" (from 1; 0 is
    background), too, and returns the losses "loss_classifier", "loss_box_reg", "loss_objectness"
    and "loss_rpn_box_reg".

    Args:
        backbone: gives a dict of features, or one tensor; has an attribute `out_channels`.
        num_classes: the number of classes, with the background; None if there is a `box_predictor`.
        min_size: see `GeneralizedRCNNTransform`.
        max_size: see `GeneralizedRCNNTransform`.
        image_mean: see `GeneralizedRCNNTransform`; by default of ImageNet.
        image_std: see `GeneralizedRCNNTransform`; by default of ImageNet.
        rpn_anchor_generator: by default one size for each of five levels, in three proportions.
        rpn_head: see `RPNHead`.
        box_roi_pool: see `RoIHeads`.
        box_head: by default `TwoMLPHead`.
        box_predictor: by default `FastRCNNPredictor`.
        mask_heads: `mask_roi_pool`, `mask_head` and `mask_predictor` of `RoIHeads`.
        **numbers: see `RCNNNumbers`.

    Raises:
        ValueError: if not exactly one of `num_classes` and `box_predictor` is given, or if the
            backbone does not say its channels.
        TypeError: if there is no such number.
    """

    def __init__(
        self,
        backbone: nn.Module,
        num_classes: int | None = None,
        min_size: int | Sequence[int] = 800,
        max_size: int = 1333,
        image_mean: Sequence[float] | None = None,
        image_std: Sequence[float] | None = None,
        rpn_anchor_generator: nn.Module | None = None,
        rpn_head: nn.Module | None = None,
        box_roi_pool: nn.Module | None = None,
        box_head: nn.Module | None = None,
        box_predictor: nn.Module | None = None,
        mask_heads: Mapping[str, nn.Module] | None = None,
        **numbers: Any,
    ) -> None:
        channels = _check(backbone, num_classes, box_predictor)
        settings = RCNNNumbers(**numbers)
        pool = box_roi_pool or MultiScaleRoIAlign(["0", "1", "2", "3"], 7, 2)
        heads = (
            pool,
            box_head or TwoMLPHead(channels * math.prod(pair(pool.output_size)), 1024),
            box_predictor or FastRCNNPredictor(1024, num_classes or 0),
        )
        super().__init__(
            backbone,
            _proposal_network(channels, rpn_anchor_generator, rpn_head, settings),
            _roi_heads(heads, mask_heads or {}, settings),
            GeneralizedRCNNTransform(
                min_size, max_size, image_mean or IMAGENET_MEAN, image_std or IMAGENET_STD
            ),
        )


def _proposal_network(
    channels: int,
    anchor_generator: nn.Module | None,
    head: nn.Module | None,
    numbers: RCNNNumbers,
) -> RegionProposalNetwork:
    anchors = anchor_generator or AnchorGenerator(
        ((32,), (64,), (128,), (256,), (512,)), ((0.5, 1.0, 2.0),) * 5
    )
    return RegionProposalNetwork(
        anchors,
        head or RPNHead(channels, anchors.num_anchors_per_location()[0]),
        numbers.rpn_fg_iou_thresh,
        numbers.rpn_bg_iou_thresh,
        numbers.rpn_batch_size_per_image,
        numbers.rpn_positive_fraction,
        {
            "training": numbers.rpn_pre_nms_top_n_train,
            "testing": numbers.rpn_pre_nms_top_n_test,
        },
        {
            "training": numbers.rpn_post_nms_top_n_train,
            "testing": numbers.rpn_post_nms_top_n_test,
        },
        numbers.rpn_nms_thresh,
        numbers.rpn_score_thresh,
    )


def _roi_heads(
    box_heads: tuple[nn.Module, nn.Module, nn.Module],
    mask_heads: Mapping[str, nn.Module],
    numbers: RCNNNumbers,
) -> RoIHeads:
    return RoIHeads(
        *box_heads,
        numbers.box_fg_iou_thresh,
        numbers.box_bg_iou_thresh,
        numbers.box_batch_size_per_image,
        numbers.box_positive_fraction,
        numbers.bbox_reg_weights,
        numbers.box_score_thresh,
        numbers.box_nms_thresh,
        numbers.box_detections_per_img,
        **mask_heads,
    )


def _check(backbone: nn.Module, num_classes: int | None, predictor: nn.Module | None) -> int:
    """Return the channels of the backbone."""
    if not hasattr(backbone, "out_channels"):
        raise ValueError(
            "`backbone` must have an attribute `out_channels` with the channels of its features"
        )
    if (num_classes is None) == (predictor is None):
        raise ValueError(
            "give either `num_classes` or `box_predictor`, which knows the number of classes; got "
            f"{num_classes} and {predictor}"
        )
    return backbone.out_channels


class TwoMLPHead(nn.Module):
    """Two linear layers with rectifiers: from (n, in_channels in all) to (n, representation_size).

    Args:
        in_channels: features of a box, channels times height times width.
        representation_size: the number of features of the output.
    """

    def __init__(self, in_channels: int, representation_size: int) -> None:
        super().__init__()
        self.fc6 = nn.Linear(in_channels, representation_size)
        self.fc7 = nn.Linear(representation_size, representation_size)

    def forward(self, x: Tensor) -> Tensor:
        return F.relu(self.fc7(F.relu(self.fc6(x.flatten(1)))))


class FastRCNNPredictor(nn.Module):
    """From features (n, in_channels) to logits (n, num_classes) and offsets (n, 4 * num_classes).

    Args:
        in_channels: the number of channels of the features.
        num_classes: the number of classes, with the background.
    """

    def __init__(self, in_channels: int, num_classes: int) -> None:
        super().__init__()
        self.cls_score = nn.Linear(in_channels, num_classes)
        self.bbox_pred = nn.Linear(in_channels, num_classes * 4)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        x = x.flatten(1)
        return self.cls_score(x), self.bbox_pred(x)


def _with_resnet(
    name: str,
    num_classes: int,
    pretrained_backbone: bool,
    trainable: int | None,
    norm_eps: float,
    options: Any,
) -> FasterRCNN:
    trained = trainable_layers(trainable, pretrained=pretrained_backbone, default=3, most=5)
    backbone = resnet_fpn_backbone(
        name, pretrained_backbone, frozen_norm(norm_eps), trainable_layers=trained
    )
    return FasterRCNN(backbone, num_classes, **options)


def _with_mobilenet(
    num_classes: int, pretrained_backbone: bool, trainable: int | None, options: Any
) -> FasterRCNN:
    trained = trainable_layers(trainable, pretrained=pretrained_backbone, default=3, most=6)
    backbone = mobilenet_backbone(
        "mobilenet_v3_large", pretrained_backbone, trainable_layers=trained
    )
    anchors = AnchorGenerator(((32, 64, 128, 256, 512),) * 3, ((0.5, 1.0, 2.0),) * 3)
    return FasterRCNN(backbone, num_classes, rpn_anchor_generator=anchors, **options)


@register_model(
    paper=_PAPER,
    task=_TASK,
    url=f"{_WEIGHTS}/fasterrcnn_resnet50_fpn_coco-258fb6c6.pth",
    pretrained_options={"norm_eps": 0.0},
)
def fasterrcnn_resnet50_fpn(
    num_classes: int = 91,
    pretrained_backbone: bool = False,
    trainable_backbone_layers: int | None = None,
    norm_eps: float = 1e-5,
    **kwargs: Any,
) -> FasterRCNN:
    """Faster R-CNN on a ResNet-50 with a feature pyramid: 42 million parameters.

    Args:
        num_classes: the number of classes, with the background.
        pretrained_backbone: whether to load weights of ImageNet into the backbone.
        trainable_backbone_layers: how many of the backbone's five parts are trained; by default 3,
            and all of a backbone with random weights.
        norm_eps: added to the variance by the backbone's normalizations.
        **kwargs: further arguments of `FasterRCNN`.
    """
    return _with_resnet(
        "resnet50", num_classes, pretrained_backbone, trainable_backbone_layers, norm_eps, kwargs
    )


@register_model(paper=_PAPER, task=_TASK)
def fasterrcnn_resnet101_fpn(
    num_classes: int = 91,
    pretrained_backbone: bool = False,
    trainable_backbone_layers: int | None = None,
    norm_eps: float = 1e-5,
    **kwargs: Any,
) -> FasterRCNN:
    """Faster R-CNN on a ResNet-101: 61 million parameters; see `fasterrcnn_resnet50_fpn`."""
    return _with_resnet(
        "resnet101", num_classes, pretrained_backbone, trainable_backbone_layers, norm_eps, kwargs
    )


@register_model(
    paper=_PAPER,
    task=_TASK,
    url=f"{_WEIGHTS}/fasterrcnn_mobilenet_v3_large_fpn-fb6a3cc7.pth",
)
def fasterrcnn_mobilenet_v3_large_fpn(
    num_classes: int = 91,
    pretrained_backbone: bool = False,
    trainable_backbone_layers: int | None = None,
    **kwargs: Any,
) -> FasterRCNN:
    """Faster R-CNN on a MobileNetV3: 19 million parameters; see `fasterrcnn_resnet50_fpn`."""
    options = {"rpn_score_thresh": 0.05, **kwargs}
    return _with_mobilenet(num_classes, pretrained_backbone, trainable_backbone_layers, options)


@register_model(
    paper=_PAPER,
    task=_TASK,
    image_size=320,
    url=f"{_WEIGHTS}/fasterrcnn_mobilenet_v3_large_320_fpn-907ea3f9.pth",
)
def fasterrcnn_mobilenet_v3_large_320_fpn(
    num_classes: int = 91,
    pretrained_backbone: bool = False,
    trainable_backbone_layers: int | None = None,
    **kwargs: Any,
) -> FasterRCNN:
    """Faster R-CNN on a MobileNetV3 for small images; see `fasterrcnn_mobilenet_v3_large_fpn`."""
    options = {
        "min_size": 320,
        "max_size": 640,
        "rpn_pre_nms_top_n_test": 150,
        "rpn_post_nms_top_n_test": 150,
        "rpn_score_thresh": 0.05,
        **kwargs,
    }
    return _with_mobilenet(num_classes, pretrained_backbone, trainable_backbone_layers, options)
