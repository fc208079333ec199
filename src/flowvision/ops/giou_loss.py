"""The loss of the generalized intersection over union."""

from __future__ import annotations

import oneflow as flow
from flowvision.ops.boxes import box_area
from flowvision.ops.reduction import reduce_loss
from oneflow import Tensor


def generalized_box_iou_loss(
    boxes1: Tensor, boxes2: Tensor, reduction: str = "none", eps: float = 1e-7
) -> Tensor:
    """Return 1 less the generalized intersection over union of boxes (https://arxiv.org/abs/1902.09630).

    Unlike the plain one it has a gradient where boxes do not touch.

    Args:
        boxes1: a tensor of shape (n, 4).
        boxes2: a tensor of shape (n, 4), each compared with the box at the same place.
        reduction: "none", "mean" or "sum".
        eps: added to what is divided by.

    Returns:
        The losses in [0, 2], of shape (n,), or their mean or sum.

    Raises:
        ValueError: if there is no such reduction.

    Example:
        >>> import oneflow as flow
        >>> from flowvision.ops.giou_loss import generalized_box_iou_loss
        >>> a, b = flow.tensor([[0.0, 0, 1, 1]]), flow.tensor([[3.0, 0, 4, 1]])
        >>> generalized_box_iou_loss(a, b, eps=0.0).tolist()
        [1.5]
    """
    low, high = boxes1[..., :2], boxes1[..., 2:]
    other_low, other_high = boxes2[..., :2], boxes2[..., 2:]
    overlap = flow.minimum(high, other_high) - flow.maximum(low, other_low)
    is_empty = (overlap <= 0).any(-1)
    intersection = flow.where(is_empty, 0.0, overlap[..., 0] * overlap[..., 1])
    union = box_area(boxes1) + box_area(boxes2) - intersection
    around = flow.maximum(high, other_high) - flow.minimum(low, other_low)
    closure = around[..., 0] * around[..., 1]
    giou = intersection / (union + eps) - (closure - union) / (closure + eps)
    return reduce_loss(1 - giou, reduction)
