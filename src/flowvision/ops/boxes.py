"""Boxes in images.

A box is (x1, y1, x2, y2) with x1 <= x2 and y1 <= y2, unless a function says otherwise.
"""

from __future__ import annotations

import math

import oneflow as flow
from oneflow import Tensor


def nms(boxes: Tensor, scores: Tensor, iou_threshold: float, keep_n: int = -1) -> Tensor:
    """Non-maximum suppression: the boxes that no better kept box overlaps too much.

    A box with zero area or NaN coordinates overlaps no other, so that it is kept and suppresses
    nothing. Takes O(n log n + kept * n).

    Args:
        boxes: a tensor of shape (n, 4).
        scores: a tensor of shape (n,).
        iou_threshold: boxes are dropped if their intersection over union with a better one is
            larger.
        keep_n: how many boxes to keep at most, the best; fewer take less time. A negative number:
            all.

    Returns:
        The int64 positions of the kept boxes, the best first.

    Raises:
        RuntimeError: if the shapes are others.

    Example:
        >>> from flowvision.ops import nms
        >>> import oneflow as flow
        >>> boxes = flow.tensor([[0.0, 0, 2, 2], [0, 0, 2, 1.9], [5, 5, 6, 6]])
        >>> nms(boxes, flow.tensor([0.5, 0.9, 0.7]), 0.5).tolist()
        [1, 2]
    """
    return flow.nms(boxes, scores, iou_threshold, keep_n)


def batched_nms(
    boxes: Tensor, scores: Tensor, idxs: Tensor, iou_threshold: float, keep_n: int = -1
) -> Tensor:
    """Non-maximum suppression within each category.

    Args:
        boxes: a tensor of shape (n, 4).
        scores: a tensor of shape (n,).
        idxs: the categories, integers of shape (n,); boxes of different ones do not suppress
            each other.
        iou_threshold: see `nms`.
        keep_n: see `nms`.

    Returns:
        The int64 positions of the kept boxes, the best first.

    Raises:
        RuntimeError: if the shapes are others.

    Example:
        >>> from flowvision.ops import batched_nms
        >>> import oneflow as flow
        >>> boxes = flow.tensor([[0.0, 0, 2, 2], [0, 0, 2, 1.9], [0, 0, 2, 2]])
        >>> batched_nms(boxes, flow.tensor([0.5, 0.9, 0.7]), flow.tensor([0, 1, 1]), 0.5).tolist()
        [1, 0]
    """
    return nms(_center_distance(boxes, scores, idxs), scores, iou_threshold, keep_n)


def batched_nms_padded(
    boxes: Tensor, scores: Tensor, idxs: Tensor, iou_threshold: float, keep_n: int
) -> tuple[Tensor, Tensor]:
    """Non-maximum suppression within each category, whose result has a fixed size.

    It can be part of an `nn.Graph`, where sizes must not depend on values.

    Args:
        boxes: a tensor of shape (n, 4).
        scores: a tensor of shape (n,); boxes with a score of -inf are never kept.
        idxs: see `batched_nms`.
        iou_threshold: see `nms`.
        keep_n: how many boxes to keep at most.

    Returns:
        m = min(n, keep_n) int64 positions, those of the kept boxes first and the best of them
        first, and m flags that are true for these.

    Raises:
        RuntimeError: if the shapes are others.

    Example:
        >>> from flowvision.ops import batched_nms_padded
        >>> import oneflow as flow
        >>> boxes = flow.tensor([[0.0, 0, 2, 2], [0, 0, 2, 1.9], [0, 0, 2, 2]])
        >>> scores, idxs = flow.tensor([0.5, 0.9, 0.7]), flow.tensor([0, 1, 1])
        >>> positions, kept = batched_nms_padded(boxes, scores, idxs, 0.5, keep_n=3)
        >>> positions[kept].tolist()
        [1, 0]
    """
    order = scores.argsort(descending=True)
    best = _center_distance(boxes, scores, idxs)[order]
    mask = flow._C.nms(best, iou_threshold, keep_n).bool() & (scores[order] > -float("inf"))
    first = (~mask).int().argsort(stable=True)[:keep_n]
    return order[first], mask[first]


def _center_distance(boxes: Tensor, scores: Tensor, idxs: Tensor) -> Tensor:
    """Return the boxes, moved apart so that boxes of different categories do not overlap."""
    if idxs.shape != scores.shape:
        raise RuntimeError(
            f"`idxs` must have the shape of `scores`, {list(scores.shape)}, got {list(idxs.shape)}"
        )
    if not boxes.numel():
        return boxes
    # Double precision is needed: far from the origin, single precision would round the boxes.
    wide = boxes.double()
    finite = flow.where(flow.isfinite(wide), wide, 0.0)
    offsets = idxs.double() * (finite.max() - finite.min() + 1)
    return wide + offsets.unsqueeze(1)


def remove_small_boxes(boxes: Tensor, min_size: float) -> Tensor:
    """Return the positions of the boxes whose width and height are at least `min_size`.

    Args:
        boxes: a tensor of shape (n, 4).
        min_size: the smallest side that is kept; NaN sides are not.

    Returns:
        int64 positions in order.

    Example:
        >>> from flowvision.ops import remove_small_boxes
        >>> import oneflow as flow
        >>> remove_small_boxes(flow.tensor([[0.0, 0, 9, 9], [0, 0, 9, 0.5]]), 1.0).tolist()
        [0]
    """
    width, height = _box_sizes(boxes)
    return ((width >= min_size) & (height >= min_size)).nonzero(as_tuple=True)[0]


def clip_boxes_to_image(boxes: Tensor, size: tuple[int, int]) -> Tensor:
    """Move corners outside an image to its border.

    Args:
        boxes: a tensor of shape (..., 4).
        size: height and width of the image.

    Returns:
        Boxes of the same shape.

    Example:
        >>> from flowvision.ops import clip_boxes_to_image
        >>> import oneflow as flow
        >>> clip_boxes_to_image(flow.tensor([[-1.0, 2, 30, 40]]), (10, 20)).tolist()
        [[0.0, 2.0, 20.0, 10.0]]
    """
    height, width = size
    x = boxes[..., 0::2].clamp(0, width)
    y = boxes[..., 1::2].clamp(0, height)
    return flow.stack([x, y], -1).reshape(boxes.shape)


def box_convert(boxes: Tensor, in_fmt: str, out_fmt: str) -> Tensor:
    """Convert boxes between formats.

    Args:
        boxes: a tensor of shape (..., 4).
        in_fmt: "xyxy" (two corners), "xywh" (corner, width and height) or "cxcywh" (centre, width
            and height).
        out_fmt: one of these.

    Returns:
        Boxes of the same shape.

    Raises:
        ValueError: if there is no such format.

    Example:
        >>> from flowvision.ops import box_convert
        >>> import oneflow as flow
        >>> box_convert(flow.tensor([[0.0, 0, 2, 4]]), "xyxy", "cxcywh").tolist()
        [[1.0, 2.0, 2.0, 4.0]]
    """
    # The distance of the named point from the first corner, in parts of width and height.
    anchors = {"xyxy": 0.0, "xywh": 0.0, "cxcywh": 0.5}
    for format_ in (in_fmt, out_fmt):
        if format_ not in anchors:
            raise ValueError(f"formats of boxes are {list(anchors)}, not {format_!r}")
    if in_fmt == out_fmt:
        return boxes.clone()
    point, size = boxes[..., :2], boxes[..., 2:]
    if in_fmt == "xyxy":
        size = size - point
    corner = point - anchors[in_fmt] * size if anchors[in_fmt] else point
    if out_fmt == "xyxy":
        return flow.cat([corner, corner + size], -1)
    return flow.cat([corner + anchors[out_fmt] * size if anchors[out_fmt] else corner, size], -1)


def box_area(boxes: Tensor) -> Tensor:
    """Return the areas of boxes.

    Args:
        boxes: a tensor of shape (..., 4).

    Returns:
        Areas of shape (...); those of integer and half-precision boxes are computed in a type in
        which they do not overflow.

    Example:
        >>> from flowvision.ops import box_area
        >>> import oneflow as flow
        >>> box_area(flow.tensor([[0.0, 0, 2, 4]])).tolist()
        [8.0]
    """
    width, height = _box_sizes(_upcast(boxes))
    return width * height


def box_iou(boxes1: Tensor, boxes2: Tensor) -> Tensor:
    """Return the intersection over union of all pairs of boxes.

    Args:
        boxes1: a tensor of shape (n, 4).
        boxes2: a tensor of shape (m, 4).

    Returns:
        Values in [0, 1] of shape (n, m); NaN between two boxes of zero area.

    Example:
        >>> from flowvision.ops import box_iou
        >>> import oneflow as flow
        >>> box_iou(flow.tensor([[0.0, 0, 2, 2]]), flow.tensor([[1.0, 0, 3, 2]])).tolist()
        [[0.3333333432674408]]
    """
    intersection, union = _intersection_and_union(boxes1, boxes2)
    return intersection / union


def generalized_box_iou(boxes1: Tensor, boxes2: Tensor) -> Tensor:
    """Return the generalized intersection over union of all pairs of boxes.

    The part of the smallest enclosing box that neither covers is subtracted, so that boxes that are
    apart differ, too (https://arxiv.org/abs/1902.09630).

    Args:
        boxes1: a tensor of shape (n, 4).
        boxes2: a tensor of shape (m, 4).

    Returns:
        Values in [-1, 1] of shape (n, m).

    Example:
        >>> from flowvision.ops import generalized_box_iou
        >>> import oneflow as flow
        >>> a, b = flow.tensor([[0.0, 0, 1, 1]]), flow.tensor([[3.0, 0, 4, 1]])
        >>> generalized_box_iou(a, b).tolist()
        [[-0.5]]
    """
    intersection, union = _intersection_and_union(boxes1, boxes2)
    width, height = _outer_size(boxes1, boxes2)
    outer_area = width * height
    return intersection / union - (outer_area - union) / outer_area


def distance_box_iou(boxes1: Tensor, boxes2: Tensor, eps: float = 1e-7) -> Tensor:
    """Return the intersection over union of all pairs, less the relative distance of their centres.

    The squared distance is divided by the squared diagonal of the smallest enclosing box
    (https://arxiv.org/abs/1911.08287).

    Args:
        boxes1: a tensor of shape (n, 4).
        boxes2: a tensor of shape (m, 4).
        eps: added to what is divided by.

    Returns:
        Values in [-1, 1] of shape (n, m).

    Example:
        >>> from flowvision.ops import distance_box_iou
        >>> import oneflow as flow
        >>> distance_box_iou(flow.tensor([[0.0, 0, 1, 1]]), flow.tensor([[0.0, 0, 1, 1]])).tolist()
        [[1.0]]
    """
    boxes1, boxes2 = _upcast(boxes1), _upcast(boxes2)
    width, height = _outer_size(boxes1, boxes2)
    diagonal = width**2 + height**2 + eps
    center1, center2 = ((boxes[:, :2] + boxes[:, 2:]) / 2 for boxes in (boxes1, boxes2))
    distance = ((center1[:, None] - center2) ** 2).sum(-1)
    return box_iou(boxes1, boxes2) - distance / diagonal


def complete_box_iou(boxes1: Tensor, boxes2: Tensor, eps: float = 1e-7) -> Tensor:
    """Return the distance intersection over union, less a penalty for other proportions.

    https://arxiv.org/abs/1911.08287. The factor of the penalty counts as a constant in gradients.

    Args:
        boxes1: a tensor of shape (n, 4).
        boxes2: a tensor of shape (m, 4).
        eps: added to what is divided by.

    Returns:
        Values of shape (n, m).

    Example:
        >>> from flowvision.ops import complete_box_iou
        >>> import oneflow as flow
        >>> complete_box_iou(flow.tensor([[0.0, 0, 1, 1]]), flow.tensor([[0.0, 0, 1, 1]])).tolist()
        [[1.0]]
    """
    boxes1, boxes2 = _upcast(boxes1), _upcast(boxes2)
    (width1, height1), (width2, height2) = _box_sizes(boxes1), _box_sizes(boxes2)
    angles = flow.atan(width1 / height1)[:, None] - flow.atan(width2 / height2)
    ratio = (4 / math.pi**2) * angles**2
    factor = (ratio / (1 - box_iou(boxes1, boxes2) + ratio + eps)).detach()
    return distance_box_iou(boxes1, boxes2, eps) - factor * ratio


def masks_to_boxes(masks: Tensor) -> Tensor:
    """Return the smallest boxes around masks.

    Args:
        masks: a tensor of shape (n, height, width); what is not 0 belongs to the mask.

    Returns:
        float32 boxes of shape (n, 4), the first and the last column and row of each mask.

    Raises:
        ValueError: if a mask is empty, or if there are not three dimensions.

    Example:
        >>> from flowvision.ops import masks_to_boxes
        >>> import oneflow as flow
        >>> mask = flow.zeros(1, 4, 5)
        >>> mask[0, 1:3, 2:5] = 1
        >>> masks_to_boxes(mask).tolist()
        [[2.0, 1.0, 4.0, 2.0]]
    """
    if masks.ndim != 3:
        raise ValueError(f"`masks` must have shape (n, height, width), got {list(masks.shape)}")
    if not masks.numel():
        return flow.zeros(len(masks), 4, device=masks.device)
    set_ = masks != 0
    if not set_.any(2).any(1).all():
        raise ValueError("`masks` must not be empty: a mask without a pixel has no box")
    sides = [set_.any(1), set_.any(2)]
    first = [side.int().argmax(1) for side in sides]
    last = [side.shape[1] - 1 - side.flip(1).int().argmax(1) for side in sides]
    return flow.stack([*first, *last], 1).float()


def _box_sizes(boxes: Tensor) -> tuple[Tensor, Tensor]:
    """Return widths and heights."""
    return boxes[..., 2] - boxes[..., 0], boxes[..., 3] - boxes[..., 1]


def _upcast(boxes: Tensor) -> Tensor:
    if boxes.is_floating_point():
        return boxes if boxes.dtype in (flow.float32, flow.float64) else boxes.float()
    return boxes if boxes.dtype in (flow.int32, flow.int64) else boxes.int()


def _intersection_and_union(boxes1: Tensor, boxes2: Tensor) -> tuple[Tensor, Tensor]:
    boxes1, boxes2 = _upcast(boxes1), _upcast(boxes2)
    low = flow.maximum(boxes1[:, None, :2], boxes2[:, :2])
    high = flow.minimum(boxes1[:, None, 2:], boxes2[:, 2:])
    sides = (high - low).clamp(min=0)
    intersection = sides[..., 0] * sides[..., 1]
    return intersection, box_area(boxes1)[:, None] + box_area(boxes2) - intersection


def _outer_size(boxes1: Tensor, boxes2: Tensor) -> tuple[Tensor, Tensor]:
    """Return widths and heights of the smallest boxes around all pairs."""
    low = flow.minimum(boxes1[:, None, :2], boxes2[:, :2])
    high = flow.maximum(boxes1[:, None, 2:], boxes2[:, 2:])
    return (high - low)[..., 0], (high - low)[..., 1]
