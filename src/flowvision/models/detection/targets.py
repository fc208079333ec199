"""The objects that detectors learn to find, and padding, so that graphs see one number of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import oneflow as flow
from flowvision.ops import box_iou
from oneflow import Tensor
from oneflow.nn import functional as F

Target = Mapping[str, Tensor]
# The class of objects that only pad a target.
PADDING = -1


def pad_targets(targets: Sequence[Target], length: int) -> list[dict[str, Tensor]]:
    """Return targets with the same number of objects, so that one graph trains with all of them.

    The objects that are added have the class -1, and losses do not count them.

    Args:
        targets: for each image "boxes" (objects, 4), "labels" (objects,) and perhaps "masks"
            (objects, H, W); other entries are left out.
        length: the number of objects afterwards.

    Raises:
        ValueError: if an image has more objects.

    Example:
        >>> import oneflow as flow
        >>> from flowvision.models.detection import pad_targets
        >>> target = {"boxes": flow.tensor([[2.0, 3, 8, 9]]), "labels": flow.tensor([5])}
        >>> (padded,) = pad_targets([target], 3)
        >>> padded["boxes"].shape, padded["labels"].tolist()
        (oneflow.Size([3, 4]), [5, -1, -1])
    """
    padded = []
    for number, target in enumerate(targets):
        boxes, labels = target["boxes"], target["labels"]
        missing = length - len(boxes)
        if missing < 0:
            raise ValueError(
                f"target {number} has {len(boxes)} objects, more than the `length` {length}"
            )
        pixel = flow.tensor([0, 0, 1, 1], dtype=boxes.dtype, device=boxes.device)
        sample = {
            "boxes": flow.cat([boxes, pixel.expand(missing, 4)]),
            "labels": F.pad(labels, (0, missing), value=PADDING),
        }
        if "masks" in target:
            sample["masks"] = F.pad(target["masks"], (0, 0, 0, 0, 0, missing))
        padded.append(sample)
    return padded


def match_quality(target: Target, boxes: Tensor) -> Tensor:
    """Return how much boxes (n, 4) overlap the objects of a target, (objects, n).

    It is the intersection over union, and -1 for objects that only pad.
    """
    iou = box_iou(target["boxes"], boxes)
    return flow.where(target["labels"][:, None] < 0, -1.0, iou)


def matched_objects(target: Target, matches: Tensor, anchors: Tensor) -> tuple[Tensor, Tensor]:
    """Return the box and the label that each anchor matches.

    Anchors without a match get the first object, or without any object themselves and 0; losses do
    not count them.

    Args:
        target: a dictionary with "boxes" and "labels".
        matches: the position of the object of each anchor, negative for none.
        anchors: a tensor of shape (n, 4).
    """
    return matched_boxes(target, matches, anchors), matched_labels(target, matches)


def matched_boxes(target: Target, matches: Tensor, anchors: Tensor) -> Tensor:
    """Return the box that each anchor matches, see `matched_objects`."""
    return target["boxes"][matches.clamp(min=0)] if len(target["boxes"]) else anchors


def matched_labels(target: Target, matches: Tensor) -> Tensor:
    """Return the label that each anchor matches, see `matched_objects`."""
    if not len(target["labels"]):
        return flow.zeros_like(matches)
    return target["labels"][matches.clamp(min=0)].long().clamp(min=0)
