"""Boxes and non-maximum suppression under the names of the layers; see `flowvision.ops.boxes`."""

from __future__ import annotations

import numpy as np

from flowvision.ops.boxes import (
    batched_nms as batched_nms,
    box_area as box_area,
    box_iou as box_iou,
    clip_boxes_to_image as clip_boxes_to_image,
    nms as nms,
    remove_small_boxes as remove_small_boxes,
)


def box_area_np(boxes: np.ndarray) -> np.ndarray:
    """Return the areas of boxes (x1, y1, x2, y2) in an array of shape (n, 4).

    Example:
        >>> import numpy as np
        >>> from flowvision.layers.blocks.boxes import box_area_np
        >>> box_area_np(np.array([[0.0, 0, 2, 4]])).tolist()
        [8.0]
    """
    return (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])


def box_iou_np(boxes1: np.ndarray, boxes2: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the intersection over union of all pairs of boxes, and the unions.

    Args:
        boxes1: an array of shape (n, 4).
        boxes2: an array of shape (m, 4).

    Returns:
        Two arrays of shape (n, m).

    Example:
        >>> import numpy as np
        >>> from flowvision.layers.blocks.boxes import box_iou_np
        >>> iou, union = box_iou_np(np.array([[0.0, 0, 2, 2]]), np.array([[0.0, 0, 2, 4]]))
        >>> iou.tolist(), union.tolist()
        ([[0.5]], [[8.0]])
    """
    low = np.maximum(boxes1[:, None, :2], boxes2[:, :2])
    high = np.minimum(boxes1[:, None, 2:], boxes2[:, 2:])
    intersection = (high - low).clip(min=0).prod(2)
    union = box_area_np(boxes1)[:, None] + box_area_np(boxes2) - intersection
    return intersection / union, union
