"""RetinaNet: a detector with one stage, made possible by the focal loss."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import oneflow as flow
from flowvision.models.detection.anchor_utils import AnchorGenerator
from flowvision.models.detection.backbone_utils import (
    frozen_norm,
    resnet_fpn_backbone,
    trainable_layers,
)
from flowvision.models.detection.det_utils import BoxCoder, Matcher
from flowvision.models.detection.faster_rcnn import IMAGENET_MEAN, IMAGENET_STD
from flowvision.models.detection.one_stage import (
    HeadOutputs,
    OneStageDetector,
    best_of_levels,
    by_anchor,
    one_hot,
    suppress_in_image,
)
from flowvision.models.detection.targets import (
    match_quality,
    matched_boxes,
    matched_labels,
)
from flowvision.models.detection.transform import GeneralizedRCNNTransform
from flowvision.models.registry import register_model
from flowvision.ops.feature_pyramid_network import (
    LastLevelP6P7,
    rename_wrapped_convolution,
)
from flowvision.ops.focal_loss import sigmoid_focal_loss
from oneflow import Tensor, nn
from oneflow.nn import functional as F

_PAPER = "1708.02002"
_TASK = "object detection"


class _ConvStack(nn.Module):
    """Four 3 x 3 convolutions with rectifiers, which keep the shape."""

    def __init__(self, in_channels: int) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        for _ in range(4):
            layers += [nn.Conv2d(in_channels, in_channels, 3, padding=1), nn.ReLU()]
        self.conv = nn.Sequential(*layers)

    def _load_from_state_dict(
        self, state_dict: dict[str, Any], prefix: str, *rest: Any, **options: Any
    ) -> None:
        # Newer files number blocks of a convolution and a rectifier instead of both.
        if f"{prefix}conv.1.0.weight" in state_dict:
            for block in reversed(range(4)):
                rename_wrapped_convolution(state_dict, f"{prefix}conv.{block}.")
                for kind in ("weight", "bias"):
                    value = state_dict.pop(f"{prefix}conv.{block}.{kind}")
                    state_dict[f"{prefix}conv.{2 * block}.{kind}"] = value
        super()._load_from_state_dict(state_dict, prefix, *rest, **options)


class RetinaNetClassificationHead(_ConvStack):
    """From features (N, in_channels, H_i, W_i) to logits (N, anchors, num_classes).

    Args:
        in_channels: the number of channels of the features.
        num_anchors: how many anchors an element has.
        num_classes: the number of classes of the logits.
        prior_probability: the probability of an object, at first; it keeps the many anchors without
            one from dominating the loss.
    """

    def __init__(
        self,
        in_channels: int,
        num_anchors: int,
        num_classes: int,
        prior_probability: float = 0.01,
    ) -> None:
        super().__init__(in_channels)
        self.cls_logits = nn.Conv2d(in_channels, num_anchors * num_classes, 3, padding=1)
        self.num_classes = num_classes
        init_normal_(self)
        nn.init.constant_(
            self.cls_logits.bias, -math.log((1 - prior_probability) / prior_probability)
        )

    def forward(self, x: Sequence[Tensor]) -> Tensor:
        logits = [
            by_anchor(self.cls_logits(self.conv(features)), self.num_classes) for features in x
        ]
        return flow.cat(logits, 1)

    def compute_loss(
        self,
        targets: Sequence[Mapping[str, Tensor]],
        head_outputs: HeadOutputs,
        matched_idxs: Sequence[Tensor],
    ) -> Tensor:
        """Return the mean of the images' focal losses, each by the number of its matches.

        Args:
            targets: dictionaries with "boxes" and "labels" for each image.
            head_outputs: "cls_logits" (N, anchors, num_classes).
            matched_idxs: the object of each anchor, or one of `Matcher`'s negative numbers.
        """
        losses = []
        parts = zip(targets, head_outputs["cls_logits"], matched_idxs, strict=True)
        for target, logits, matches in parts:
            is_matched = matches >= 0
            classes = one_hot(matched_labels(target, matches), logits.shape[1], is_matched)
            loss = sigmoid_focal_loss(logits, classes).sum(1)
            counts = matches != Matcher.BETWEEN_THRESHOLDS
            losses.append(flow.where(counts, loss, 0.0).sum() / is_matched.sum().clamp(min=1))
        return flow.stack(losses).mean()


class RetinaNetRegressionHead(_ConvStack):
    """From features (N, in_channels, H_i, W_i) to offsets (N, anchors, 4).

    Args:
        in_channels: the number of channels of the features.
        num_anchors: how many anchors an element has.
    """

    def __init__(self, in_channels: int, num_anchors: int) -> None:
        super().__init__(in_channels)
        self.bbox_reg = nn.Conv2d(in_channels, num_anchors * 4, 3, padding=1)
        self.box_coder = BoxCoder((1.0, 1.0, 1.0, 1.0))
        init_normal_(self)

    def forward(self, x: Sequence[Tensor]) -> Tensor:
        return flow.cat([by_anchor(self.bbox_reg(self.conv(features)), 4) for features in x], 1)

    def compute_loss(
        self,
        targets: Sequence[Mapping[str, Tensor]],
        head_outputs: HeadOutputs,
        anchors: Sequence[Tensor],
        matched_idxs: Sequence[Tensor],
    ) -> Tensor:
        """Return the mean of the images' distances, each by the number of its matches.

        Args:
            targets: dictionaries with "boxes" and "labels" for each image.
            head_outputs: "bbox_regression" (N, anchors, 4).
            anchors: the anchors of each image.
            matched_idxs: the object of each anchor, negative for none.
        """
        losses = []
        parts = zip(targets, head_outputs["bbox_regression"], anchors, matched_idxs, strict=True)
        for target, offsets, boxes, matches in parts:
            is_matched = matches >= 0
            objects = matched_boxes(target, matches, boxes)
            regression = self.box_coder.encode_single(objects, boxes)
            distance = F.l1_loss(offsets, regression, reduction="none").sum(1)
            losses.append(
                flow.where(is_matched, distance, 0.0).sum() / is_matched.sum().clamp(min=1)
            )
        return flow.stack(losses).mean()


class RetinaNetHead(nn.Module):
    """Both heads: a dict with "cls_logits" and "bbox_regression".

    Args:
        in_channels: the number of channels of the features.
        num_anchors: how many anchors an element has.
        num_classes: the number of classes of the logits.
    """

    def __init__(self, in_channels: int, num_anchors: int, num_classes: int) -> None:
        super().__init__()
        self.classification_head = RetinaNetClassificationHead(
            in_channels, num_anchors, num_classes
        )
        self.regression_head = RetinaNetRegressionHead(in_channels, num_anchors)

    def forward(self, x: Sequence[Tensor]) -> HeadOutputs:
        return {
            "cls_logits": self.classification_head(x),
            "bbox_regression": self.regression_head(x),
        }

    def compute_loss(
        self,
        targets: Sequence[Mapping[str, Tensor]],
        head_outputs: HeadOutputs,
        anchors: Sequence[Tensor],
        matched_idxs: Sequence[Tensor],
    ) -> dict[str, Tensor]:
        """Return the losses of both heads by name."""
        return {
            "classification": self.classification_head.compute_loss(
                targets, head_outputs, matched_idxs
            ),
            "bbox_regression": self.regression_head.compute_loss(
                targets, head_outputs, anchors, matched_idxs
            ),
        }


class RetinaNet(OneStageDetector):
    """RetinaNet (https://arxiv.org/abs/1708.02002).

    Takes a list of images (3, H, W) with values in [0, 1], of any sizes. In evaluation it returns
    for each image a dict of "boxes" (n, 4) in pixels, "scores" (n,) and "labels" (n,), the best
    first. While training it takes a list of targets with "boxes" and "labels", too, and returns the
    losses "classification" and "bbox_regression".

    Args:
        backbone: gives a dict of features; has an attribute `out_channels`.
        num_classes: the number of classes of labels; 0 is one of them.
        min_size: see `GeneralizedRCNNTransform`.
        max_size: see `GeneralizedRCNNTransform`.
        image_mean: see `GeneralizedRCNNTransform`; by default of ImageNet.
        image_std: see `GeneralizedRCNNTransform`; by default of ImageNet.
        anchor_generator: by default three sizes and three proportions at each of five levels.
        head: by default `RetinaNetHead`.
        proposal_matcher: by default one with the following thresholds.
        score_thresh: detections with a smaller score are dropped.
        nms_thresh: the threshold of non-maximum suppression within a class.
        detections_per_img: how many detections remain at most.
        fg_iou_thresh: anchors that overlap an object at least as much learn its class.
        bg_iou_thresh: anchors that overlap all objects less are background.
        topk_candidates: how many of each level remain before non-maximum suppression.
    """

    def __init__(
        self,
        backbone: nn.Module,
        num_classes: int,
        min_size: int | Sequence[int] = 800,
        max_size: int = 1333,
        image_mean: Sequence[float] | None = None,
        image_std: Sequence[float] | None = None,
        anchor_generator: nn.Module | None = None,
        head: nn.Module | None = None,
        proposal_matcher: Matcher | None = None,
        score_thresh: float = 0.05,
        nms_thresh: float = 0.5,
        detections_per_img: int = 300,
        fg_iou_thresh: float = 0.5,
        bg_iou_thresh: float = 0.4,
        topk_candidates: int = 1000,
    ) -> None:
        anchors = anchor_generator or AnchorGenerator(
            tuple(
                (size, int(size * 2 ** (1 / 3)), int(size * 2 ** (2 / 3)))
                for size in (32, 64, 128, 256, 512)
            ),
            ((0.5, 1.0, 2.0),) * 5,
        )
        kinds = anchors.num_anchors_per_location()[0]
        super().__init__(
            backbone,
            anchors,
            head or RetinaNetHead(backbone.out_channels, kinds, num_classes),
            GeneralizedRCNNTransform(
                min_size, max_size, image_mean or IMAGENET_MEAN, image_std or IMAGENET_STD
            ),
        )
        self.proposal_matcher = proposal_matcher or Matcher(fg_iou_thresh, bg_iou_thresh, True)
        self.box_coder = BoxCoder((1.0, 1.0, 1.0, 1.0))
        self.score_thresh = score_thresh
        self.nms_thresh = nms_thresh
        self.detections_per_img = detections_per_img
        self.topk_candidates = topk_candidates

    def losses(
        self,
        targets: Sequence[Mapping[str, Tensor]],
        head_outputs: HeadOutputs,
        anchors: Sequence[Tensor],
        num_anchors_per_level: Sequence[int],
    ) -> dict[str, Tensor]:
        return self.compute_loss(targets, head_outputs, anchors)

    def compute_loss(
        self,
        targets: Sequence[Mapping[str, Tensor]],
        head_outputs: HeadOutputs,
        anchors: Sequence[Tensor],
    ) -> dict[str, Tensor]:
        """Return the head's losses, with anchors that are matched by their overlaps."""
        matches = [
            self.proposal_matcher(match_quality(target, boxes))
            for target, boxes in zip(targets, anchors, strict=True)
        ]
        return self.head.compute_loss(targets, head_outputs, anchors, matches)

    def detections(
        self, outputs: HeadOutputs, anchors: Tensor, shape: tuple[int, int], levels: Sequence[int]
    ) -> dict[str, Tensor]:
        candidates = best_of_levels(
            outputs["cls_logits"].sigmoid(),
            outputs["bbox_regression"],
            anchors,
            levels,
            self.box_coder.decode_single,
            self.score_thresh,
            self.topk_candidates,
        )
        return suppress_in_image(*candidates, shape, self.nms_thresh, self.detections_per_img)


def init_normal_(module: nn.Module) -> None:
    """Draw the weights of all convolutions from a narrow normal distribution; biases become 0."""
    for layer in module.modules():
        if isinstance(layer, nn.Conv2d):
            nn.init.normal_(layer.weight, std=0.01)
            nn.init.zeros_(layer.bias)


def _with_resnet(
    name: str,
    num_classes: int,
    pretrained_backbone: bool,
    trainable: int | None,
    norm_eps: float,
    options: Any,
) -> RetinaNet:
    trained = trainable_layers(trainable, pretrained=pretrained_backbone, default=3, most=5)
    backbone = resnet_fpn_backbone(
        name,
        pretrained_backbone,
        frozen_norm(norm_eps),
        trainable_layers=trained,
        returned_layers=(2, 3, 4),
        extra_blocks=LastLevelP6P7(256, 256),
    )
    return RetinaNet(backbone, num_classes, **options)


@register_model(
    paper=_PAPER,
    task=_TASK,
    url="https://download.pytorch.org/models/retinanet_resnet50_fpn_coco-eeacb38b.pth",
    pretrained_options={"norm_eps": 0.0},
)
def retinanet_resnet50_fpn(
    num_classes: int = 91,
    pretrained_backbone: bool = False,
    trainable_backbone_layers: int | None = None,
    norm_eps: float = 1e-5,
    **kwargs: Any,
) -> RetinaNet:
    """RetinaNet on a ResNet-50 with a feature pyramid: 34 million parameters.

    Args:
        num_classes: the number of classes of labels.
        pretrained_backbone: whether to load weights of ImageNet into the backbone.
        trainable_backbone_layers: how many of the backbone's five parts are trained; by default 3,
            and all of a backbone with random weights.
        norm_eps: added to the variance by the backbone's normalizations.
        **kwargs: further arguments of `RetinaNet`.
    """
    return _with_resnet(
        "resnet50", num_classes, pretrained_backbone, trainable_backbone_layers, norm_eps, kwargs
    )


@register_model(paper=_PAPER, task=_TASK)
def retinanet_resnet101_fpn(
    num_classes: int = 91,
    pretrained_backbone: bool = False,
    trainable_backbone_layers: int | None = None,
    norm_eps: float = 1e-5,
    **kwargs: Any,
) -> RetinaNet:
    """RetinaNet on a ResNet-101: 53 million parameters; see `retinanet_resnet50_fpn`."""
    return _with_resnet(
        "resnet101", num_classes, pretrained_backbone, trainable_backbone_layers, norm_eps, kwargs
    )


@register_model(paper=_PAPER, task=_TASK)
def retinanet_resnext50_32x4d_fpn(
    num_classes: int = 91,
    pretrained_backbone: bool = False,
    trainable_backbone_layers: int | None = None,
    norm_eps: float = 1e-5,
    **kwargs: Any,
) -> RetinaNet:
    """RetinaNet on a ResNeXt-50: 33 million parameters; see `retinanet_resnet50_fpn`."""
    return _with_resnet(
        "resnext50_32x4d",
        num_classes,
        pretrained_backbone,
        trainable_backbone_layers,
        norm_eps,
        kwargs,
    )
