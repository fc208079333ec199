"""The masks of Mask R-CNN: training targets, loss, and pasting them into images."""

from __future__ import annotations

from collections.abc import Sequence

import oneflow as flow
from flowvision.ops.roi_align import roi_align
from oneflow import Tensor
from oneflow.nn import functional as F


def maskrcnn_inference(x: Tensor, labels: Sequence[Tensor]) -> list[Tensor]:
    """Return the probabilities of the masks of the predicted classes.

    Args:
        x: logits of shape (n, classes, M, M), for the boxes of all images.
        labels: the classes of the boxes of each image, n together.

    Returns:
        For each image a tensor of shape (boxes, 1, M, M).
    """
    every = flow.cat(list(labels))
    probabilities = x.sigmoid()[flow.arange(len(every), device=x.device), every][:, None]
    return list(probabilities.split([len(image_labels) for image_labels in labels]))


def project_masks_on_boxes(gt_masks: Tensor, boxes: Tensor, matched_idxs: Tensor, M: int) -> Tensor:
    """Return the parts of masks in boxes.

    Args:
        gt_masks: the masks of the objects of an image, (objects, height, width).
        boxes: a tensor of shape (n, 4).
        matched_idxs: for each box its object.
        M: height and width of the result.

    Returns:
        Tensor of shape (n, M, M).
    """
    rois = flow.cat([matched_idxs[:, None].to(boxes.dtype), boxes], 1)
    return roi_align(gt_masks[:, None].to(boxes.dtype), rois, M)[:, 0]


def maskrcnn_loss(
    mask_logits: Tensor,
    proposals: Sequence[Tensor],
    gt_masks: Sequence[Tensor],
    gt_labels: Sequence[Tensor],
    mask_matched_idxs: Sequence[Tensor],
) -> Tensor:
    """Return the mean binary cross entropy of the masks of the true classes.

    Args:
        mask_logits: a tensor of shape (n, classes, M, M), for the proposals of all images.
        proposals: the boxes of each image, n together.
        gt_masks: for each image (objects, height, width).
        gt_labels: for each image the classes of the objects.
        mask_matched_idxs: for each image the objects of the boxes; boxes with a negative number do
            not count.

    Returns:
        A number; 0 without any box.
    """
    if not len(mask_logits):
        return mask_logits.sum() * 0
    size = mask_logits.shape[-1]
    objects = [index.clamp(min=0) for index in mask_matched_idxs]
    labels = flow.cat(
        [image_labels[index] for image_labels, index in zip(gt_labels, objects, strict=True)]
    )
    targets = flow.cat(
        [
            project_masks_on_boxes(masks, boxes, index, size)
            for masks, boxes, index in zip(gt_masks, proposals, objects, strict=True)
            if len(boxes)
        ]
    )
    logits = mask_logits[flow.arange(len(labels), device=labels.device), labels]
    loss = F.binary_cross_entropy_with_logits(logits, targets, reduction="none").mean((1, 2))
    counts = flow.cat(list(mask_matched_idxs)) >= 0
    return flow.where(counts, loss, 0.0).sum() / counts.sum().clamp(min=1)


def expand_masks(mask: Tensor, padding: int) -> tuple[Tensor, float]:
    """Return masks (n, 1, M, M) with a border of zeros, and the factor by which they grew."""
    size = mask.shape[-1]
    return F.pad(mask, (padding,) * 4), (size + 2 * padding) / size


def expand_boxes(boxes: Tensor, scale: float) -> Tensor:
    """Return boxes (n, 4) with the same centres and sides `scale` times as long."""
    center = (boxes[:, :2] + boxes[:, 2:]) * 0.5
    half = (boxes[:, 2:] - boxes[:, :2]) * 0.5 * scale
    return flow.cat([center - half, center + half], 1)


def paste_mask_in_image(mask: Tensor, box: Tensor, im_h: int, im_w: int) -> Tensor:
    """Return an image (im_h, im_w) with the mask (M, M) stretched over its box (4,).

    The corners of the box are integers that belong to it.
    """
    return _resize(mask[None], box[None], im_h, im_w)[0]


def paste_masks_in_image(
    masks: Tensor, boxes: Tensor, img_shape: tuple[int, int], padding: int = 1
) -> Tensor:
    """Stretch masks over their boxes.

    Args:
        masks: a tensor of shape (n, 1, M, M).
        boxes: a tensor of shape (n, 4).
        img_shape: height and width of the image.
        padding: width of a border of zeros that the masks get, so that they fade there.

    Returns:
        Tensor of shape (n, 1, *img_shape), 0 outside the boxes.
    """
    masks, scale = expand_masks(masks, padding)
    boxes = expand_boxes(boxes, scale).long()
    return _resize(masks[:, 0], boxes, *img_shape)[:, None]


def _resize(masks: Tensor, boxes: Tensor, height: int, width: int) -> Tensor:
    """Interpolate masks (n, M, M) linearly: weights of rows @ mask @ weights of columns."""
    boxes = boxes.to(masks.dtype)
    rows = _interpolation(boxes[:, 1], boxes[:, 3], masks.shape[1], height)
    columns = _interpolation(boxes[:, 0], boxes[:, 2], masks.shape[2], width)
    return flow.matmul(flow.matmul(rows, masks), columns.transpose(1, 2))


def _interpolation(low: Tensor, high: Tensor, size: int, pixels: int) -> Tensor:
    """Return how much each of `size` elements between `low` and `high` weighs at each pixel.

    The result has the shape (n, pixels, size).
    """
    length = (high - low + 1).clamp(min=1)[:, None]
    positions = flow.arange(pixels, dtype=low.dtype, device=low.device) - low[:, None]
    inside = (positions >= 0) & (positions < length)
    source = ((positions + 0.5) * (size / length) - 0.5).clamp(0, size - 1)
    elements = flow.arange(size, dtype=low.dtype, device=low.device)
    weights = (1 - (source[..., None] - elements).abs()).clamp(min=0)
    return flow.where(inside[..., None], weights, 0.0)
