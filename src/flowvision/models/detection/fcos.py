"""FCOS: every element of the features is its own anchor."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import oneflow as flow
from flowvision.models.detection.anchor_utils import AnchorGenerator
from flowvision.models.detection.backbone_utils import resnet_fpn_backbone, trainable_layers
from flowvision.models.detection.det_utils import BoxLinearCoder
from flowvision.models.detection.faster_rcnn import IMAGENET_MEAN, IMAGENET_STD
from flowvision.models.detection.one_stage import (
    HeadOutputs,
    OneStageDetector,
    best_of_levels,
    by_anchor,
    image_outputs,
    one_hot,
    suppress_in_image,
)
from flowvision.models.detection.retinanet import init_normal_
from flowvision.models.detection.targets import matched_objects
from flowvision.models.detection.transform import GeneralizedRCNNTransform
from flowvision.models.registry import register_model
from flowvision.ops import box_area
from flowvision.ops.feature_pyramid_network import LastLevelP6P7
from flowvision.ops.focal_loss import sigmoid_focal_loss
from flowvision.ops.giou_loss import generalized_box_iou_loss
from oneflow import Tensor, nn
from oneflow.nn import functional as F

Norm = Callable[[int], nn.Module]


def _group_norm(channels: int) -> nn.Module:
    return nn.GroupNorm(32, channels)


class _ConvBranch(nn.Module):
    """3 x 3 convolutions with normalizations and rectifiers, which keep the shape."""

    def __init__(self, in_channels: int, num_convs: int, norm_layer: Norm | None) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        for _ in range(num_convs):
            layers.append(nn.Conv2d(in_channels, in_channels, 3, padding=1))
            layers.append((norm_layer or _group_norm)(in_channels))
            layers.append(nn.ReLU())
        self.conv = nn.Sequential(*layers)


class FCOSClassificationHead(_ConvBranch):
    """From features (N, in_channels, H_i, W_i) to logits (N, anchors, num_classes).

    Args:
        in_channels: the number of channels of the features.
        num_anchors: how many anchors an element has.
        num_classes: the number of classes of the logits.
        num_convs: the number of convolutions before the last.
        prior_probability: the probability of an object, at first.
        norm_layer: makes a normalization from the number of channels; by default of 32 groups.
    """

    def __init__(
        self,
        in_channels: int,
        num_anchors: int,
        num_classes: int,
        num_convs: int = 4,
        prior_probability: float = 0.01,
        norm_layer: Norm | None = None,
    ) -> None:
        super().__init__(in_channels, num_convs, norm_layer)
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


class FCOSRegressionHead(_ConvBranch):
    """From features (N, in_channels, H_i, W_i) to distances (N, anchors, 4) and logits of centres.

    The distances are those of the four sides from the element, in parts of the anchor's sides; the
    logits (N, anchors, 1) say how central the element is in its object.

    Args:
        in_channels: the number of channels of the features.
        num_anchors: how many anchors an element has.
        num_convs: the number of convolutions before the last.
        norm_layer: makes a normalization from the number of channels; by default of 32 groups.
    """

    def __init__(
        self,
        in_channels: int,
        num_anchors: int,
        num_convs: int = 4,
        norm_layer: Norm | None = None,
    ) -> None:
        super().__init__(in_channels, num_convs, norm_layer)
        self.bbox_reg = nn.Conv2d(in_channels, num_anchors * 4, 3, padding=1)
        self.bbox_ctrness = nn.Conv2d(in_channels, num_anchors, 3, padding=1)
        init_normal_(self)

    def forward(self, x: Sequence[Tensor]) -> tuple[Tensor, Tensor]:
        hidden = [self.conv(features) for features in x]
        distances = [by_anchor(F.relu(self.bbox_reg(features)), 4) for features in hidden]
        centerness = [by_anchor(self.bbox_ctrness(features), 1) for features in hidden]
        return flow.cat(distances, 1), flow.cat(centerness, 1)


class FCOSHead(nn.Module):
    """Both heads: a dict with "cls_logits", "bbox_regression" and "bbox_ctrness".

    Args:
        in_channels: the number of channels of the features.
        num_anchors: how many anchors an element has.
        num_classes: the number of classes of the logits.
        num_convs: the number of convolutions before the last.
    """

    def __init__(
        self, in_channels: int, num_anchors: int, num_classes: int, num_convs: int = 4
    ) -> None:
        super().__init__()
        self.classification_head = FCOSClassificationHead(
            in_channels, num_anchors, num_classes, num_convs
        )
        self.regression_head = FCOSRegressionHead(in_channels, num_anchors, num_convs)
        self.box_coder = BoxLinearCoder(normalize_by_size=True)

    def forward(self, x: Sequence[Tensor]) -> HeadOutputs:
        distances, centerness = self.regression_head(x)
        return {
            "cls_logits": self.classification_head(x),
            "bbox_regression": distances,
            "bbox_ctrness": centerness,
        }

    def compute_loss(
        self,
        targets: Sequence[Mapping[str, Tensor]],
        head_outputs: HeadOutputs,
        anchors: Sequence[Tensor],
        matched_idxs: Sequence[Tensor],
    ) -> dict[str, Tensor]:
        """Return the losses of all images, divided by the number of elements with an object.

        Args:
            targets: dictionaries with "boxes" and "labels" for each image.
            head_outputs: what the heads return.
            anchors: the anchors of each image.
            matched_idxs: the object of each anchor, negative for none.
        """
        parts = []
        for index, image in enumerate(zip(targets, anchors, matched_idxs, strict=True)):
            parts.append(self._image_losses(image_outputs(head_outputs, index), *image))
        sums = [flow.stack(losses).sum() for losses in zip(*parts, strict=True)]
        count = sums.pop().clamp(min=1)
        names = ("classification", "bbox_regression", "bbox_ctrness")
        return {name: total / count for name, total in zip(names, sums, strict=True)}

    def _image_losses(
        self,
        outputs: HeadOutputs,
        target: Mapping[str, Tensor],
        anchors: Tensor,
        matches: Tensor,
    ) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Return the three losses, and the number of elements with an object."""
        is_matched = matches >= 0
        objects, labels = matched_objects(target, matches, anchors)
        logits = outputs["cls_logits"]
        classification = sigmoid_focal_loss(
            logits, one_hot(labels, logits.shape[1], is_matched)
        ).sum()
        boxes = self.box_coder.decode_single(outputs["bbox_regression"], anchors)
        regression = generalized_box_iou_loss(boxes, objects)
        sides = self.box_coder.encode_single(objects, anchors)
        centerness = (_balance(sides[:, 0::2]) * _balance(sides[:, 1::2])).sqrt()
        losses = F.binary_cross_entropy_with_logits(
            outputs["bbox_ctrness"].squeeze(1),
            flow.where(is_matched, centerness, 0.0),
            reduction="none",
        )
        return (
            classification,
            flow.where(is_matched, regression, 0.0).sum(),
            flow.where(is_matched, losses, 0.0).sum(),
            is_matched.float().sum(),
        )


class FCOS(OneStageDetector):
    """FCOS (https://arxiv.org/abs/1904.01355).

    Takes a list of images (3, H, W) with values in [0, 1], of any sizes. In evaluation it returns
    for each image a dict of "boxes" (n, 4) in pixels, "scores" (n,) and "labels" (n,), the best
    first. While training it takes a list of targets with "boxes" and "labels", too, and returns the
    losses "classification", "bbox_regression" and "bbox_ctrness".

    Args:
        backbone: gives a dict of features; has an attribute `out_channels`.
        num_classes: the number of classes of labels; 0 is one of them.
        min_size: see `GeneralizedRCNNTransform`.
        max_size: see `GeneralizedRCNNTransform`.
        image_mean: see `GeneralizedRCNNTransform`; by default of ImageNet.
        image_std: see `GeneralizedRCNNTransform`; by default of ImageNet.
        anchor_generator: one anchor for each element, as large as the stride.
        head: by default `FCOSHead`.
        center_sampling_radius: elements learn of objects whose centre is nearer, in strides.
        score_thresh: detections with a smaller score are dropped.
        nms_thresh: the threshold of non-maximum suppression within a class.
        detections_per_img: how many detections remain at most.
        topk_candidates: how many of each level remain before non-maximum suppression.

    Raises:
        ValueError: if elements have several anchors.
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
        center_sampling_radius: float = 1.5,
        score_thresh: float = 0.2,
        nms_thresh: float = 0.6,
        detections_per_img: int = 100,
        topk_candidates: int = 1000,
    ) -> None:
        anchors = anchor_generator or AnchorGenerator(
            ((8,), (16,), (32,), (64,), (128,)), ((1.0,),) * 5
        )
        kinds = anchors.num_anchors_per_location()
        if set(kinds) != {1}:
            raise ValueError(
                f"`anchor_generator` must make one anchor for each element, it makes {kinds}"
            )
        super().__init__(
            backbone,
            anchors,
            head or FCOSHead(backbone.out_channels, 1, num_classes),
            GeneralizedRCNNTransform(
                min_size, max_size, image_mean or IMAGENET_MEAN, image_std or IMAGENET_STD
            ),
        )
        self.box_coder = BoxLinearCoder(normalize_by_size=True)
        self.center_sampling_radius = center_sampling_radius
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
        return self.compute_loss(targets, head_outputs, anchors, num_anchors_per_level)

    def compute_loss(
        self,
        targets: Sequence[Mapping[str, Tensor]],
        head_outputs: HeadOutputs,
        anchors: Sequence[Tensor],
        num_anchors_per_level: Sequence[int],
    ) -> dict[str, Tensor]:
        """Return the head's losses, with anchors that are matched by where their centres are."""
        matches = [
            self._match(target, boxes, num_anchors_per_level)
            for target, boxes in zip(targets, anchors, strict=True)
        ]
        return self.head.compute_loss(targets, head_outputs, anchors, matches)

    def _match(
        self, target: Mapping[str, Tensor], anchors: Tensor, levels: Sequence[int]
    ) -> Tensor:
        """Return the object of each anchor, -1 for none: the smallest that the anchor is inside of.

        Its centre must be near, and its size that of the anchor's level.
        """
        objects = target["boxes"]
        if not len(objects):
            return flow.full((len(anchors),), -1, dtype=flow.int64, device=anchors.device)
        points = (anchors[:, :2] + anchors[:, 2:]) / 2
        sizes = anchors[:, 2] - anchors[:, 0]
        middle = (objects[:, :2] + objects[:, 2:]) / 2
        distance = (points[:, None] - middle).abs().max(2)[0]
        near = distance < self.center_sampling_radius * sizes[:, None]
        sides = flow.cat([points[:, None] - objects[:, :2], objects[:, 2:] - points[:, None]], 2)
        lower, upper = sizes * 4, sizes * 8
        lower[: levels[0]] = 0
        upper[-levels[-1] :] = float("inf")
        longest = sides.max(2)[0]
        in_range = (longest > lower[:, None]) & (longest < upper[:, None])
        possible = near & in_range & (sides.min(2)[0] > 0) & (target["labels"] >= 0)
        area = flow.where(possible, box_area(objects), float("inf"))
        return flow.where(possible.any(1), area.argmin(1), -1)

    def detections(
        self, outputs: HeadOutputs, anchors: Tensor, shape: tuple[int, int], levels: Sequence[int]
    ) -> dict[str, Tensor]:
        probabilities = outputs["cls_logits"].sigmoid() * outputs["bbox_ctrness"].sigmoid()
        candidates = best_of_levels(
            probabilities.sqrt(),
            outputs["bbox_regression"],
            anchors,
            levels,
            self.box_coder.decode_single,
            self.score_thresh,
            self.topk_candidates,
        )
        return suppress_in_image(*candidates, shape, self.nms_thresh, self.detections_per_img)


def _balance(sides: Tensor) -> Tensor:
    """Return the smaller distance in parts of the larger one; 0 for elements outside."""
    return (sides.min(1)[0] / sides.max(1)[0].clamp(min=1e-12)).clamp(min=0)


@register_model(
    paper="1904.01355",
    task="object detection",
    url="https://download.pytorch.org/models/fcos_resnet50_fpn_coco-99b0c9b7.pth",
)
def fcos_resnet50_fpn(
    num_classes: int = 91,
    pretrained_backbone: bool = False,
    trainable_backbone_layers: int | None = None,
    **kwargs: Any,
) -> FCOS:
    """FCOS on a ResNet-50 with a feature pyramid: 32 million parameters.

    Args:
        num_classes: the number of classes of labels.
        pretrained_backbone: whether to load weights of ImageNet into the backbone.
        trainable_backbone_layers: how many of the backbone's five parts are trained; by default 3,
            and all of a backbone with random weights.
        **kwargs: further arguments of `FCOS`.
    """
    trained = trainable_layers(
        trainable_backbone_layers, pretrained=pretrained_backbone, default=3, most=5
    )
    backbone = resnet_fpn_backbone(
        "resnet50",
        pretrained_backbone,
        trainable_layers=trained,
        returned_layers=(2, 3, 4),
        extra_blocks=LastLevelP6P7(256, 256),
    )
    return FCOS(backbone, num_classes, **kwargs)
