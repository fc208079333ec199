"""The common parts of detectors with one stage: anchors, a head, losses or detections."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import oneflow as flow
from flowvision.models.detection.candidates import only_where, suppress
from flowvision.models.detection.inputs import check_inputs
from flowvision.ops import clip_boxes_to_image
from oneflow import Tensor, nn
from oneflow.nn import functional as F

HeadOutputs = dict[str, Tensor]


class OneStageDetector(nn.Module):
    """A detector whose head classifies and moves anchors; subclasses say how.

    Takes a list of images (C, H, W) with values in [0, 1]. While training it takes the targets,
    too, and returns a dict of losses; otherwise a list of dicts of what is in each image.

    Args:
        backbone: from a batch of images to a dict of features.
        anchor_generator: see `AnchorGenerator`.
        head: from the features to a dict of predictions (N, anchors, ...).
        transform: makes a batch, see `GeneralizedRCNNTransform`.
    """

    def __init__(
        self,
        backbone: nn.Module,
        anchor_generator: nn.Module,
        head: nn.Module,
        transform: nn.Module,
    ) -> None:
        super().__init__()
        self.backbone = backbone
        self.anchor_generator = anchor_generator
        self.head = head
        self.transform = transform

    def losses(
        self,
        targets: Sequence[Mapping[str, Tensor]],
        head_outputs: HeadOutputs,
        anchors: Sequence[Tensor],
        num_anchors_per_level: Sequence[int],
    ) -> dict[str, Tensor]:
        """Return the losses by name."""
        raise NotImplementedError(f"{type(self).__name__} must define `losses`")

    def detections(
        self, outputs: HeadOutputs, anchors: Tensor, shape: tuple[int, int], levels: Sequence[int]
    ) -> dict[str, Tensor]:
        """Return the "boxes", "scores" and "labels" in an image.

        Args:
            outputs: the predictions for the image, (anchors, ...).
            anchors: a tensor of shape (anchors, 4).
            shape: height and width of the image.
            levels: the number of anchors of each level.
        """
        raise NotImplementedError(f"{type(self).__name__} must define `detections`")

    def forward(
        self, images: Sequence[Tensor], targets: Sequence[Mapping[str, Tensor]] | None = None
    ) -> dict[str, Tensor] | list[dict[str, Tensor]]:
        check_inputs(images, targets, training=self.training)
        original_sizes = [(image.shape[-2], image.shape[-1]) for image in images]
        batch, targets = self.transform(images, targets)
        features = self.backbone(batch.tensors)
        maps = [features] if isinstance(features, Tensor) else list(features.values())
        outputs = self.head(maps)
        anchors = self.anchor_generator(batch, maps)
        kinds = self.anchor_generator.num_anchors_per_location()
        levels = [
            features.shape[-2] * features.shape[-1] * kind
            for features, kind in zip(maps, kinds, strict=True)
        ]
        if self.training:
            return self.losses(targets or (), outputs, anchors, levels)
        detections = self._detections(outputs, anchors, batch.image_sizes, levels)
        return self.transform.postprocess(detections, batch.image_sizes, original_sizes)

    def postprocess_detections(
        self,
        head_outputs: Mapping[str, Sequence[Tensor]],
        anchors: Sequence[Sequence[Tensor]],
        image_shapes: Sequence[tuple[int, int]],
    ) -> list[dict[str, Tensor]]:
        """Return the "boxes", "scores" and "labels" in each image.

        Args:
            head_outputs: for each name the predictions of each level, (N, anchors, ...).
            anchors: for each image those of each level, (anchors, 4).
            image_shapes: height and width of each image.
        """
        levels = [len(level) for level in anchors[0]] if len(anchors) else []
        outputs = {
            name: flow.cat(list(levels_of_output), 1)
            for name, levels_of_output in head_outputs.items()
        }
        return self._detections(
            outputs,
            [flow.cat(list(image_anchors)) for image_anchors in anchors],
            image_shapes,
            levels,
        )

    def _detections(
        self,
        outputs: HeadOutputs,
        anchors: Sequence[Tensor],
        image_shapes: Sequence[tuple[int, int]],
        levels: Sequence[int],
    ) -> list[dict[str, Tensor]]:
        detections = []
        for index, (boxes, shape) in enumerate(zip(anchors, image_shapes, strict=True)):
            detections.append(self.detections(image_outputs(outputs, index), boxes, shape, levels))
        return detections


def image_outputs(outputs: HeadOutputs, index: int) -> dict[str, Tensor]:
    """Return the predictions for the image at `index` of a batch."""
    return {name: values[index] for name, values in outputs.items()}


def best_of_levels(
    scores: Tensor,
    offsets: Tensor,
    anchors: Tensor,
    levels: Sequence[int],
    decode: Callable[[Tensor, Tensor], Tensor],
    score_thresh: float,
    topk_candidates: int,
) -> tuple[Tensor, Tensor, Tensor]:
    """Return the boxes, scores and classes of the most probable pairs of anchor and class.

    Args:
        scores: a tensor of shape (anchors, classes).
        offsets: a tensor of shape (anchors, 4).
        anchors: a tensor of shape (anchors, 4).
        levels: the number of anchors of each level.
        decode: makes boxes of offsets and anchors.
        score_thresh: pairs with a smaller score are dropped.
        topk_candidates: how many pairs of each level remain at most.
    """
    boxes, kept_scores, labels = [], [], []
    split = [values.split(list(levels)) for values in (scores, offsets, anchors)]
    for score, offset, anchor in zip(*split, strict=True):
        pairs = score.flatten()
        best, index = pairs.topk(min(topk_candidates, len(pairs)))
        best, index = only_where(best > score_thresh, best, index)
        row = index // score.shape[1]
        boxes.append(decode(offset[row], anchor[row]))
        kept_scores.append(best)
        labels.append(index % score.shape[1])
    return flow.cat(boxes), flow.cat(kept_scores), flow.cat(labels)


def suppress_in_image(
    boxes: Tensor,
    scores: Tensor,
    labels: Tensor,
    shape: tuple[int, int],
    nms_thresh: float,
    detections_per_img: int,
) -> dict[str, Tensor]:
    """Return the best detections that do not overlap others of their class.

    Args:
        boxes: a tensor of shape (n, 4); parts outside the image are cut off.
        scores: a tensor of shape (n,).
        labels: a tensor of shape (n,).
        shape: height and width of the image.
        nms_thresh: the threshold of non-maximum suppression.
        detections_per_img: how many remain at most.
    """
    boxes = clip_boxes_to_image(boxes, shape)
    return suppress(boxes, scores, labels, nms_thresh, detections_per_img)


def by_anchor(outputs: Tensor, columns: int) -> Tensor:
    """Bring predictions from (N, A * columns, H, W) to (N, H * W * A, columns)."""
    images, _, height, width = outputs.shape
    return (
        outputs.reshape(images, -1, columns, height, width)
        .permute(0, 3, 4, 1, 2)
        .reshape(images, -1, columns)
    )


def one_hot(labels: Tensor, classes: int, mask: Tensor) -> Tensor:
    """Return float rows (n, classes) with a one at the label; zeros where `mask` is False."""
    return F.one_hot(labels, classes).float() * mask[:, None]
