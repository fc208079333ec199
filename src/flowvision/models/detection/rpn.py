"""The region proposal network of Faster R-CNN."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import oneflow as flow
from flowvision.models.detection.anchor_utils import AnchorGenerator as AnchorGenerator
from flowvision.models.detection.candidates import are_large, only_where, suppress
from flowvision.models.detection.det_utils import (
    BalancedPositiveNegativeSampler,
    BoxCoder,
    Matcher,
)
from flowvision.models.detection.image_list import ImageList
from flowvision.models.detection.targets import match_quality
from flowvision.ops import clip_boxes_to_image
from flowvision.ops.feature_pyramid_network import rename_wrapped_convolution
from oneflow import Tensor, nn
from oneflow.nn import functional as F


class RPNHead(nn.Module):
    """Predicts for each anchor whether there is an object, and how to move the anchor.

    Takes features (N, in_channels, H_i, W_i); returns logits (N, num_anchors, H_i, W_i) and offsets
    (N, 4 * num_anchors, H_i, W_i) of each level.

    Args:
        in_channels: channels of all features.
        num_anchors: how many anchors an element has.
    """

    def __init__(self, in_channels: int, num_anchors: int) -> None:
        super().__init__()
        self.conv = nn.Conv2d(in_channels, in_channels, 3, padding=1)
        self.cls_logits = nn.Conv2d(in_channels, num_anchors, 1)
        self.bbox_pred = nn.Conv2d(in_channels, num_anchors * 4, 1)
        for module in (self.conv, self.cls_logits, self.bbox_pred):
            nn.init.normal_(module.weight, std=0.01)
            nn.init.zeros_(module.bias)

    def _load_from_state_dict(
        self, state_dict: dict[str, Any], prefix: str, *rest: Any, **options: Any
    ) -> None:
        rename_wrapped_convolution(state_dict, f"{prefix}conv.0.")
        rename_wrapped_convolution(state_dict, f"{prefix}conv.")
        super()._load_from_state_dict(state_dict, prefix, *rest, **options)

    def forward(self, x: Sequence[Tensor]) -> tuple[list[Tensor], list[Tensor]]:
        hidden = [F.relu(self.conv(feature)) for feature in x]
        return [self.cls_logits(features) for features in hidden], [
            self.bbox_pred(features) for features in hidden
        ]


def permute_and_flatten(layer: Tensor, N: int, A: int, C: int, H: int, W: int) -> Tensor:
    """Bring predictions from (N, A * C, H, W) to (N, H * W * A, C)."""
    return layer.reshape(N, A, C, H, W).permute(0, 3, 4, 1, 2).reshape(N, -1, C)


def concat_box_prediction_layers(
    box_cls: Sequence[Tensor], box_regression: Sequence[Tensor]
) -> tuple[Tensor, Tensor]:
    """Bring the predictions of all levels into the order of the anchors.

    Args:
        box_cls: for each level logits of shape (N, A * classes, H_i, W_i).
        box_regression: for each level offsets of shape (N, A * 4, H_i, W_i).

    Returns:
        Logits of shape (N * anchors, classes), and offsets of shape (N * anchors, 4).
    """
    logits, offsets = [], []
    for scores, deltas in zip(box_cls, box_regression, strict=True):
        images, _, height, width = scores.shape
        kinds = deltas.shape[1] // 4
        classes = scores.shape[1] // kinds
        logits.append(permute_and_flatten(scores, images, kinds, classes, height, width))
        offsets.append(permute_and_flatten(deltas, images, kinds, 4, height, width))
    return flow.cat(logits, 1).flatten(0, -2), flow.cat(offsets, 1).reshape(-1, 4)


class RegionProposalNetwork(nn.Module):
    """The region proposal network (https://arxiv.org/abs/1506.01497).

    Takes the images, their features by name and, while training, the targets; returns the proposed
    boxes (n_i, 4) of each image, the best first, and the losses.

    Args:
        anchor_generator: makes the anchors.
        head: see `RPNHead`.
        fg_iou_thresh: anchors that overlap an object at least as much learn to find it.
        bg_iou_thresh: anchors that overlap all objects less are background.
        batch_size_per_image: how many anchors of an image the losses are computed for.
        positive_fraction: the largest part of those that find an object.
        pre_nms_top_n: how many proposals of each level remain before non-maximum suppression, by
            "training" and "testing".
        post_nms_top_n: how many proposals of an image remain after it.
        nms_thresh: the threshold of non-maximum suppression.
        score_thresh: proposals with a smaller probability are dropped.
    """

    def __init__(
        self,
        anchor_generator: nn.Module,
        head: nn.Module,
        fg_iou_thresh: float,
        bg_iou_thresh: float,
        batch_size_per_image: int,
        positive_fraction: float,
        pre_nms_top_n: Mapping[str, int],
        post_nms_top_n: Mapping[str, int],
        nms_thresh: float,
        score_thresh: float = 0.0,
    ) -> None:
        super().__init__()
        self.anchor_generator = anchor_generator
        self.head = head
        self.box_coder = BoxCoder((1.0, 1.0, 1.0, 1.0))
        self.proposal_matcher = Matcher(fg_iou_thresh, bg_iou_thresh, True)
        self.fg_bg_sampler = BalancedPositiveNegativeSampler(
            batch_size_per_image, positive_fraction
        )
        self._pre_nms_top_n = pre_nms_top_n
        self._post_nms_top_n = post_nms_top_n
        self.nms_thresh = nms_thresh
        self.score_thresh = score_thresh
        self.min_size = 1e-3

    def pre_nms_top_n(self) -> int:
        """Return how many proposals of a level remain before non-maximum suppression."""
        return self._pre_nms_top_n["training" if self.training else "testing"]

    def post_nms_top_n(self) -> int:
        """Return how many proposals of an image remain after non-maximum suppression."""
        return self._post_nms_top_n["training" if self.training else "testing"]

    def forward(
        self,
        images: ImageList,
        features: Mapping[str, Tensor],
        targets: Sequence[Mapping[str, Tensor]] | None = None,
    ) -> tuple[list[Tensor], dict[str, Tensor]]:
        maps = list(features.values())
        objectness, deltas = self.head(maps)
        anchors = self.anchor_generator(images, maps)
        per_level = [scores[0].numel() for scores in objectness]
        objectness, deltas = concat_box_prediction_layers(objectness, deltas)
        proposals = self.box_coder.decode(deltas.detach(), anchors)
        proposals = proposals.reshape(len(anchors), -1, 4)
        boxes, _ = self.filter_proposals(proposals, objectness, images.image_sizes, per_level)
        if not self.training:
            return boxes, {}
        if targets is None:
            raise ValueError("`targets` must be given while training")
        labels, matched = self.assign_targets_to_anchors(anchors, targets)
        regression_targets = self.box_coder.encode(matched, anchors)
        loss_objectness, loss_box = self.compute_loss(
            objectness, deltas, labels, regression_targets
        )
        return boxes, {"loss_objectness": loss_objectness, "loss_rpn_box_reg": loss_box}

    def assign_targets_to_anchors(
        self, anchors: Sequence[Tensor], targets: Sequence[Mapping[str, Tensor]]
    ) -> tuple[list[Tensor], list[Tensor]]:
        """Match anchors with objects.

        Args:
            anchors: the anchors (n, 4) of each image.
            targets: dictionaries with "boxes" (objects, 4) and "labels" (objects,) for each image.

        Returns:
            For each image float labels (n,), 1 for objects, 0 for background, -1 for neither, and
            the boxes (n, 4) of the matched objects.
        """
        labels, matched_boxes = [], []
        for boxes, target in zip(anchors, targets, strict=True):
            objects = target["boxes"]
            if not len(objects):
                labels.append(flow.zeros(len(boxes), device=boxes.device))
                matched_boxes.append(boxes)
                continue
            matches = self.proposal_matcher(match_quality(target, boxes))
            label = (matches >= 0).float()
            label = flow.where(matches == Matcher.BETWEEN_THRESHOLDS, -1.0, label)
            labels.append(label)
            matched_boxes.append(objects[matches.clamp(min=0)])
        return labels, matched_boxes

    def filter_proposals(
        self,
        proposals: Tensor,
        objectness: Tensor,
        image_shapes: Sequence[tuple[int, int]],
        num_anchors_per_level: Sequence[int],
    ) -> tuple[list[Tensor], list[Tensor]]:
        """Keep the best proposals that do not overlap.

        Args:
            proposals: a tensor of shape (N, anchors, 4).
            objectness: the logits, N * anchors of them.
            image_shapes: heights and widths.
            num_anchors_per_level: together as many as there are anchors.

        Returns:
            The boxes (n_i, 4) and the probabilities (n_i,) of each image, the best first.
        """
        objectness = objectness.detach().reshape(len(proposals), -1)
        positions, levels, offset = [], [], 0
        for level, logits in enumerate(objectness.split(list(num_anchors_per_level), 1)):
            count = min(self.pre_nms_top_n(), logits.shape[1])
            positions.append(logits.topk(count, 1)[1] + offset)
            levels.append(flow.full((count,), level, dtype=flow.int64, device=logits.device))
            offset += logits.shape[1]
        indices, level_numbers = flow.cat(positions, 1), flow.cat(levels)
        results, scores = [], []
        for boxes, logits, index, shape in zip(
            proposals, objectness, indices, image_shapes, strict=True
        ):
            box, score = self._best(boxes[index], logits[index].sigmoid(), level_numbers, shape)
            results.append(box)
            scores.append(score)
        return results, scores

    def _best(
        self, boxes: Tensor, scores: Tensor, levels: Tensor, shape: tuple[int, int]
    ) -> tuple[Tensor, Tensor]:
        boxes = clip_boxes_to_image(boxes, shape)
        good = are_large(boxes, self.min_size) & (scores >= self.score_thresh)
        scores, boxes, levels = only_where(good, scores, boxes, levels)
        proposals = suppress(boxes, scores, levels, self.nms_thresh, self.post_nms_top_n())
        return proposals["boxes"], proposals["scores"]

    def compute_loss(
        self,
        objectness: Tensor,
        pred_bbox_deltas: Tensor,
        labels: Sequence[Tensor],
        regression_targets: Sequence[Tensor],
    ) -> tuple[Tensor, Tensor]:
        """Return the losses of the logits and of the offsets.

        Args:
            objectness: a tensor of shape (N * anchors, 1).
            pred_bbox_deltas: a tensor of shape (N * anchors, 4).
            labels: see `assign_targets_to_anchors`.
            regression_targets: for each image the offsets (anchors, 4) of the matched objects.
        """
        positives, negatives = self.fg_bg_sampler(labels)
        positive = flow.cat(positives)
        sampled = positive | flow.cat(negatives)
        count = sampled.sum().clamp(min=1)
        box_loss = F.smooth_l1_loss(
            pred_bbox_deltas, flow.cat(list(regression_targets)), beta=1 / 9, reduction="none"
        ).sum(1)
        box_loss = flow.where(positive, box_loss, 0.0).sum() / count
        loss = F.binary_cross_entropy_with_logits(
            objectness.flatten(), flow.cat(list(labels)), reduction="none"
        )
        return flow.where(sampled, loss, 0.0).sum() / count, box_loss
