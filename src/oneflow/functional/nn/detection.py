"""Boxes of detectors and top-k answers of classifiers."""

from __future__ import annotations

from oneflow.base.dtype import Category
from oneflow.base.shape import as_integer
from oneflow.functional.elementwise.logic import isfinite
from oneflow.functional.index.gather import gather
from oneflow.functional.registry import function
from oneflow.primitives.operators import roi_align as p
from oneflow.primitives.operators.boxes import nms_mask
from oneflow.tensor.call import call
from oneflow.tensor.operands import as_float
from oneflow.tensor.tensor import Tensor


@function()
def nms(boxes: Tensor, scores: Tensor, iou_threshold: float, keep_n: int = -1) -> Tensor:
    """Non-maximum suppression: the boxes that no better kept box overlaps too much.

    Args:
        boxes: ``[n, 4]``, each ``(x1, y1, x2, y2)`` with ``x1 < x2`` and ``y1 < y2``.
        scores: ``[n]``.
        iou_threshold: boxes are dropped if their intersection with a better one is more than this
            part of the union.
        keep_n: how many boxes to keep at most, the best; fewer take less time. A negative number:
            all.

    Returns:
        int64 positions of the kept boxes, the best first.

    Raises:
        RuntimeError: the shapes are others.

    Example:
        >>> import oneflow as flow
        >>> boxes = flow.tensor([[0.0, 0, 2, 2], [0, 0, 2, 1.9], [5, 5, 6, 6]])
        >>> flow.nms(boxes, flow.tensor([0.5, 0.9, 0.7]), 0.5)
        tensor([1, 2], dtype=oneflow.int64)
    """
    order, keep_mask = flags_of_nms(boxes, scores, iou_threshold, keep_n)
    return order[keep_mask]


def flags_of_nms(
    boxes: Tensor, scores: Tensor, iou_threshold: float, keep_n: int
) -> tuple[Tensor, Tensor]:
    """Return the positions of the boxes by falling score, and which of these `nms` keeps."""
    if boxes.ndim != 2 or boxes.shape[1] != 4:
        raise RuntimeError(f"`boxes` must have shape [n, 4], got {list(boxes.shape)}")
    if scores.ndim != 1 or scores.shape[0] != boxes.shape[0]:
        raise RuntimeError(
            f"`scores` must have shape [{boxes.shape[0]}], one for each of `boxes`, got "
            f"{list(scores.shape)}"
        )
    return call(
        nms_mask,
        boxes.detach(),
        scores.detach(),
        as_float(iou_threshold, "iou_threshold"),
        int(keep_n),
    )


@function(method=False)
def roi_align(
    x: Tensor,
    rois: Tensor,
    spatial_scale: float,
    pooled_h: int,
    pooled_w: int,
    sampling_ratio: int,
    aligned: bool,
) -> Tensor:
    """Features of rectangles, each divided into bins; a bin holds the mean of interpolated samples.

    He et al., Mask R-CNN, https://arxiv.org/abs/1703.06870.

    Args:
        x: ``[n, c, h, w]``.
        rois: ``[r, 5]``: number of the image in `x`, then x1, y1, x2, y2. No gradient is taken.
        spatial_scale: elements of `x` per unit of `rois`.
        pooled_h: bins of a rectangle one below the other.
        pooled_w: bins side by side.
        sampling_ratio: samples per bin and direction; 0 or less: one per element, rounded up.
        aligned: coordinates are of corners, half an element from the centres. Without it they are
            of centres, and rectangles are taken to be at least one element large.

    Returns:
        Tensor ``[r, c, pooled_h, pooled_w]``. Samples more than one element outside count as 0.

    Raises:
        RuntimeError: the shapes are others, or there are no bins.
        IndexError: `rois` names an image that `x` does not hold.

    Example:
        >>> import oneflow as flow
        >>> x = flow.arange(16.0).reshape(1, 1, 4, 4)
        >>> flow.roi_align(x, flow.tensor([[0.0, 1, 1, 3, 3]]), 1.0, 2, 2, 2, False)
        tensor([[[[ 7.5000,  8.5000],
                  [11.5000, 12.5000]]]], dtype=oneflow.float32)
    """
    if x.ndim != 4 or rois.ndim != 2 or rois.shape[1] != 5:
        raise RuntimeError(
            "roi_align needs `x` of shape [n, c, h, w] and `rois` of shape [r, 5], got "
            f"{list(x.shape)} and {list(rois.shape)}"
        )
    pooled_h, pooled_w = as_integer(pooled_h, "pooled_h"), as_integer(pooled_w, "pooled_w")
    sampling_ratio = as_integer(sampling_ratio, "sampling_ratio")
    if pooled_h < 1 or pooled_w < 1:
        raise RuntimeError(
            f"`pooled_h` and `pooled_w` must be at least 1, got {pooled_h} and {pooled_w}"
        )
    return call(
        p.roi_align,
        x,
        rois.detach(),
        as_float(spatial_scale, "spatial_scale"),
        pooled_h=int(pooled_h),
        pooled_w=int(pooled_w),
        sampling_ratio=max(int(sampling_ratio), 0),
        aligned=bool(aligned),
    )


@function()
def in_top_k(targets: Tensor, predictions: Tensor, k: int) -> Tensor:
    """Test for each row if the prediction for the target class is among the `k` largest.

    Classes that tie with the last of the `k` count as among them; a prediction that is not finite
    does not.

    Args:
        targets: int32 or int64 ``[n]``.
        predictions: ``[n, classes]``.
        k: the number of predictions that count.

    Returns:
        bool tensor ``[n]``.

    Raises:
        RuntimeError: the shapes are others, or `targets` holds no integers.

    Example:
        >>> import oneflow as flow
        >>> predictions = flow.tensor([[0.8, 0.6, 0.3], [0.1, 0.6, 0.4]])
        >>> flow.in_top_k(flow.tensor([1, 0]), predictions, 2)
        tensor([ True, False], dtype=oneflow.bool)
    """
    if targets.ndim != 1 or predictions.ndim != 2 or len(targets) != len(predictions):
        raise RuntimeError(
            "in_top_k needs `targets` of shape [n] and `predictions` of shape [n, classes], got "
            f"{list(targets.shape)} and {list(predictions.shape)}"
        )
    if targets.dtype.category is not Category.INTEGER:
        raise RuntimeError(f"in_top_k needs integers as `targets`, got {targets.dtype!r}")
    target_scores = gather(predictions, 1, targets.long().unsqueeze(1))
    return ((predictions > target_scores).sum(1) < k) & isfinite(target_scores).squeeze(1)
