"""The second stage of R-CNN: classes, boxes and masks of proposals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import oneflow as flow
from flowvision.models.detection.candidates import (
    are_large,
    only_where,
    positions_of,
    suppress,
)
from flowvision.models.detection.det_utils import (
    BalancedPositiveNegativeSampler,
    BoxCoder,
    Matcher,
)
from flowvision.models.detection.masks import (
    expand_boxes as expand_boxes,
    expand_masks as expand_masks,
    maskrcnn_inference as maskrcnn_inference,
    maskrcnn_loss as maskrcnn_loss,
    paste_mask_in_image as paste_mask_in_image,
    paste_masks_in_image as paste_masks_in_image,
    project_masks_on_boxes as project_masks_on_boxes,
)
from flowvision.models.detection.targets import match_quality
from flowvision.ops import box_area, clip_boxes_to_image
from oneflow import Tensor, nn
from oneflow.nn import functional as F

Target = Mapping[str, Tensor]
# Smaller boxes, in pixels, are no detections.
_SMALLEST_SIDE = 1e-2


def fastrcnn_loss(
    class_logits: Tensor,
    box_regression: Tensor,
    labels: Sequence[Tensor],
    regression_targets: Sequence[Tensor],
) -> tuple[Tensor, Tensor]:
    """Return the losses of classes and of boxes.

    Args:
        class_logits: a tensor of shape (n, classes), for the proposals of all images.
        box_regression: a tensor of shape (n, classes * 4).
        labels: the classes of the proposals of each image, 0 for background; those with a negative
            one do not count.
        regression_targets: the offsets (n_i, 4) of the matched objects.

    Returns:
        The mean cross entropy, and the smooth L1 loss of proposals with an object, divided by the
        number of all proposals. Both are 0 without any proposal.
    """
    every = flow.cat(list(labels))
    count = (every >= 0).sum().clamp(min=1)
    loss = F.cross_entropy(class_logits, every, ignore_index=-1, reduction="sum") / count
    by_class = box_regression.reshape(len(every), box_regression.shape[-1] // 4, 4)
    offsets = by_class[flow.arange(len(every), device=every.device), every.clamp(min=0)]
    box_loss = F.smooth_l1_loss(
        offsets, flow.cat(list(regression_targets)), beta=1 / 9, reduction="none"
    ).sum(1)
    return loss, flow.where(every > 0, box_loss, 0.0).sum() / count


class RoIHeads(nn.Module):
    """The heads of R-CNN.

    Takes features by name, the proposals of each image, the heights and widths of the images and,
    while training, the targets. Returns "boxes", "labels", "scores" (and "masks") of each image,
    and the losses; while training nothing but the losses.

    Args:
        box_roi_pool: see `MultiScaleRoIAlign`.
        box_head: from what it gives to features (n, F).
        box_predictor: from those to logits (n, classes) and offsets (n, classes * 4).
        fg_iou_thresh: proposals that overlap an object at least as much learn its class.
        bg_iou_thresh: proposals that overlap all objects less are background.
        batch_size_per_image: how many proposals of an image the losses are computed for.
        positive_fraction: the largest part of those with an object.
        bbox_reg_weights: the factor by which offsets are multiplied.
        score_thresh: detections with a smaller probability are dropped.
        nms_thresh: the threshold of non-maximum suppression within a class.
        detections_per_img: how many detections remain at most.
        mask_roi_pool: the same for masks; none: no masks.
        mask_head: from what it gives to features (n, F, M, M).
        mask_predictor: from those to logits (n, classes, M', M').
    """

    def __init__(
        self,
        box_roi_pool: nn.Module,
        box_head: nn.Module,
        box_predictor: nn.Module,
        fg_iou_thresh: float,
        bg_iou_thresh: float,
        batch_size_per_image: int,
        positive_fraction: float,
        bbox_reg_weights: tuple[float, float, float, float] | None,
        score_thresh: float,
        nms_thresh: float,
        detections_per_img: int,
        mask_roi_pool: nn.Module | None = None,
        mask_head: nn.Module | None = None,
        mask_predictor: nn.Module | None = None,
    ) -> None:
        super().__init__()
        self.proposal_matcher = Matcher(fg_iou_thresh, bg_iou_thresh)
        self.fg_bg_sampler = BalancedPositiveNegativeSampler(
            batch_size_per_image, positive_fraction
        )
        self.box_coder = BoxCoder(bbox_reg_weights or (10.0, 10.0, 5.0, 5.0))
        self.box_roi_pool = box_roi_pool
        self.box_head = box_head
        self.box_predictor = box_predictor
        self.score_thresh = score_thresh
        self.nms_thresh = nms_thresh
        self.detections_per_img = detections_per_img
        self.mask_roi_pool = mask_roi_pool
        self.mask_head = mask_head
        self.mask_predictor = mask_predictor

    def has_mask(self) -> bool:
        """Return whether masks are predicted."""
        return self.mask_predictor is not None

    def forward(
        self,
        features: Mapping[str, Tensor],
        proposals: Sequence[Tensor],
        image_shapes: Sequence[tuple[int, int]],
        targets: Sequence[Target] | None = None,
    ) -> tuple[list[dict[str, Tensor]], dict[str, Tensor]]:
        if not self.training:
            logits, offsets = self._boxes(features, proposals, image_shapes)
            detections = self.postprocess_detections(logits, offsets, proposals, image_shapes)
            if self.has_mask():
                self._add_masks(detections, features, image_shapes)
            return detections, {}
        if targets is None:
            raise ValueError("`targets` must be given while training")
        proposals, matched, labels, regression_targets = self.select_training_samples(
            proposals, targets
        )
        logits, offsets = self._boxes(features, proposals, image_shapes)
        loss, box_loss = fastrcnn_loss(logits, offsets, labels, regression_targets)
        losses = {"loss_classifier": loss, "loss_box_reg": box_loss}
        if self.has_mask():
            losses["loss_mask"] = self._mask_loss(
                features, proposals, image_shapes, targets, matched, labels
            )
        return [], losses

    def _boxes(
        self,
        features: Mapping[str, Tensor],
        proposals: Sequence[Tensor],
        image_shapes: Sequence[tuple[int, int]],
    ) -> tuple[Tensor, Tensor]:
        pooled = self.box_roi_pool(features, proposals, image_shapes)
        return self.box_predictor(self.box_head(pooled))

    def assign_targets_to_proposals(
        self,
        proposals: Sequence[Tensor],
        gt_boxes: Sequence[Tensor],
        gt_labels: Sequence[Tensor],
    ) -> tuple[list[Tensor], list[Tensor]]:
        """Match proposals with objects.

        Returns:
            For each image the objects of the proposals, and their classes: 0 for background, -1
            for those that are neither.
        """
        matched, labels = [], []
        for boxes, objects, classes in zip(proposals, gt_boxes, gt_labels, strict=True):
            quality = match_quality({"boxes": objects, "labels": classes}, boxes)
            matches = self.proposal_matcher(quality)
            index = matches.clamp(min=0)
            label = classes[index].long() if len(objects) else flow.zeros_like(index)
            label = flow.where(matches == Matcher.BELOW_LOW_THRESHOLD, 0, label)
            labels.append(flow.where(matches == Matcher.BETWEEN_THRESHOLDS, -1, label))
            matched.append(index)
        return matched, labels

    def select_training_samples(
        self, proposals: Sequence[Tensor], targets: Sequence[Target]
    ) -> tuple[list[Tensor], list[Tensor], list[Tensor], list[Tensor]]:
        """Choose the proposals that losses are computed for; the true boxes are among them.

        Inside `build` of a graph there are always `batch_size_per_image` of them, if there are as
        many proposals; those that only fill up are boxes of one pixel with the class -1.

        Returns:
            For each image the boxes, the objects that they match, the classes, and the offsets of
            the objects.
        """
        dtype = proposals[0].dtype
        objects = [target["boxes"].to(dtype) for target in targets]
        proposals = [
            _add_objects(boxes, target["labels"], proposal)
            for boxes, target, proposal in zip(objects, targets, proposals, strict=True)
        ]
        matched, labels = self.assign_targets_to_proposals(
            proposals, objects, [target["labels"] for target in targets]
        )
        # Proposals that a graph filled up with have no area, nor have objects that only pad.
        labels = [
            flow.where(box_area(boxes) > 0, image_labels, -1)
            for boxes, image_labels in zip(proposals, labels, strict=True)
        ]
        positives, negatives = self.fg_bg_sampler(labels)
        pixel = flow.tensor([0, 0, 1, 1], dtype=dtype, device=proposals[0].device)
        chosen_objects = []
        for index, (positive, negative) in enumerate(zip(positives, negatives, strict=True)):
            positions, counts = positions_of(
                positive | negative, self.fg_bg_sampler.batch_size_per_image
            )
            proposals[index] = flow.where(counts[:, None], proposals[index][positions], pixel)
            labels[index] = flow.where(counts, labels[index][positions], -1)
            matched[index] = matched[index][positions]
            boxes = objects[index]
            chosen_objects.append(boxes[matched[index]] if len(boxes) else proposals[index])
        return proposals, matched, labels, self.box_coder.encode(chosen_objects, proposals)

    def postprocess_detections(
        self,
        class_logits: Tensor,
        box_regression: Tensor,
        proposals: Sequence[Tensor],
        image_shapes: Sequence[tuple[int, int]],
    ) -> list[dict[str, Tensor]]:
        """Return the "boxes", "labels" and "scores" of the detections in each image."""
        counts = [len(boxes) for boxes in proposals]
        all_boxes = self.box_coder.decode(box_regression, proposals).split(counts)
        scores = class_logits.softmax(-1).split(counts)
        return [
            self._detections(*image) for image in zip(all_boxes, scores, image_shapes, strict=True)
        ]

    def _detections(
        self, boxes: Tensor, scores: Tensor, image_shape: tuple[int, int]
    ) -> dict[str, Tensor]:
        classes = scores.shape[-1]
        labels = flow.arange(classes, device=scores.device).expand(scores.shape)
        # Class 0 is background.
        boxes = clip_boxes_to_image(boxes, image_shape)[:, 1:].reshape(-1, 4)
        scores, labels = scores[:, 1:].flatten(), labels[:, 1:].flatten()
        # Proposals that a graph filled up with have no area, nor have the detections in them.
        good = (scores > self.score_thresh) & are_large(boxes, _SMALLEST_SIDE)
        scores, boxes, labels = only_where(good, scores, boxes, labels)
        return suppress(boxes, scores, labels, self.nms_thresh, self.detections_per_img)

    def _masks(
        self,
        features: Mapping[str, Tensor],
        boxes: Sequence[Tensor],
        image_shapes: Sequence[tuple[int, int]],
    ) -> Tensor:
        assert self.mask_roi_pool is not None
        assert self.mask_head is not None
        assert self.mask_predictor is not None
        pooled = self.mask_roi_pool(features, boxes, image_shapes)
        return self.mask_predictor(self.mask_head(pooled))

    def _add_masks(
        self,
        detections: list[dict[str, Tensor]],
        features: Mapping[str, Tensor],
        image_shapes: Sequence[tuple[int, int]],
    ) -> None:
        logits = self._masks(features, [image["boxes"] for image in detections], image_shapes)
        masks = maskrcnn_inference(logits, [image["labels"] for image in detections])
        for image, probabilities in zip(detections, masks, strict=True):
            # Detections that only fill up a graph's rows have no mask in the image.
            image["masks"] = probabilities * (image["scores"] > 0)[:, None, None, None]

    def _mask_loss(
        self,
        features: Mapping[str, Tensor],
        proposals: Sequence[Tensor],
        image_shapes: Sequence[tuple[int, int]],
        targets: Sequence[Target],
        matched: Sequence[Tensor],
        labels: Sequence[Tensor],
    ) -> Tensor:
        boxes, objects = [], []
        for proposal, match, label, target in zip(proposals, matched, labels, targets, strict=True):
            most = self.fg_bg_sampler.most_positives if len(target["boxes"]) else 0
            positive, counts = positions_of(label > 0, most)
            boxes.append(proposal[positive])
            objects.append(flow.where(counts, match[positive], -1))
        return maskrcnn_loss(
            self._masks(features, boxes, image_shapes),
            boxes,
            [target["masks"] for target in targets],
            [target["labels"] for target in targets],
            objects,
        )


def _add_objects(objects: Tensor, labels: Tensor, proposals: Tensor) -> Tensor:
    """Return the boxes of objects and the proposals as one tensor (n, 4).

    The objects come first, but those that only pad last, and without area: so each box gets the
    same random number in a graph.
    """
    pads = flow.cat([labels < 0, flow.zeros(len(proposals), dtype=flow.bool, device=labels.device)])
    every = flow.where(pads[:, None], 0.0, flow.cat([objects, proposals]))
    return every[pads.int().argsort(stable=True)]
