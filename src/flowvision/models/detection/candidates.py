"""Choosing among boxes: as many as there are, or a fixed number inside `build` of an `nn.Graph`.

There, where sizes must not depend on values, candidates that are dropped stay with a score of -inf,
and results are filled up with zeros. An export to ONNX takes as many as there are.
"""

from __future__ import annotations

import oneflow as flow
from flowvision.ops import batched_nms, batched_nms_padded
from oneflow import Tensor


def only_where(condition: Tensor, scores: Tensor, *others: Tensor) -> tuple[Tensor, ...]:
    """Return the scores, and further properties, of the candidates for which a condition holds.

    Args:
        condition: bool, of shape (n,).
        scores: a tensor of shape (n,).
        others: tensors of shape (n, ...).
    """
    if _have_fixed_sizes(scores):
        return flow.where(condition, scores, -float("inf")), *others
    positions = condition.nonzero(as_tuple=True)[0]
    return tuple(values[positions] for values in (scores, *others))


def suppress(
    boxes: Tensor, scores: Tensor, labels: Tensor, iou_threshold: float, most: int
) -> dict[str, Tensor]:
    """Return the best candidates that do not overlap others of their class.

    Args:
        boxes: a tensor of shape (n, 4).
        scores: a tensor of shape (n,).
        labels: a tensor of shape (n,).
        iou_threshold: the threshold of non-maximum suppression.
        most: how many remain at most; inside `build` of a graph, exactly, if there are as many
            candidates.

    Returns:
        The "boxes", "labels" and "scores", the best first.
    """
    detections = {"boxes": boxes, "labels": labels, "scores": scores}
    if not _have_fixed_sizes(scores):
        positions = batched_nms(boxes, scores, labels, iou_threshold, most)
        return {name: values[positions] for name, values in detections.items()}
    positions, is_box = batched_nms_padded(boxes, scores, labels, iou_threshold, most)
    detections["boxes"] = flow.where(is_box[:, None], boxes[positions], 0.0)
    detections["labels"] = flow.where(is_box, labels[positions], 0)
    detections["scores"] = flow.where(is_box, scores[positions], 0.0)
    return detections


def positions_of(mask: Tensor, most: int) -> tuple[Tensor, Tensor]:
    """Return the positions of the candidates that are chosen, in order.

    Args:
        mask: which candidates are chosen, bool of shape (n,).
        most: how many are chosen at most; inside `build` of a graph, how many positions there are,
            if there are as many candidates.

    Returns:
        The positions (k,), and flags (k,) of those that do not only fill up.
    """
    if not _have_fixed_sizes(mask):
        positions = mask.nonzero(as_tuple=True)[0]
        return positions, flow.ones_like(positions, dtype=flow.bool)
    positions = mask.int().argsort(descending=True, stable=True)[:most]
    return positions, mask[positions]


def _have_fixed_sizes(scores: Tensor) -> bool:
    return scores.is_lazy and not flow.onnx.is_in_onnx_export()


def are_large(boxes: Tensor, min_size: float) -> Tensor:
    """Return flags (n,) of the boxes (n, 4) whose sides are at least `min_size`."""
    return (boxes[:, 2:] - boxes[:, :2] >= min_size).all(1)
