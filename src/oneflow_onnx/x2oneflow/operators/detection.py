"""Regions of images: pooling over them, and choosing among boxes."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

import oneflow as flow
from oneflow import Tensor
from oneflow_onnx.x2oneflow.registry import Evaluation, operator
from oneflow_onnx.x2oneflow.values import check_size, integer, number


@operator("RoiAlign", since=10, evaluation=Evaluation.TENSORS)
def roi_align_from_corners(
    x: Tensor,
    rois: Tensor,
    batch_indices: Tensor,
    *,
    mode: str = "avg",
    output_height: int = 1,
    output_width: int = 1,
    sampling_ratio: int = 0,
    spatial_scale: float = 1.0,
) -> Tensor:
    """Pool regions whose corners are centres of pixels, before operator set 16."""
    return roi_align(
        x,
        rois,
        batch_indices,
        coordinate_transformation_mode="output_half_pixel",
        mode=mode,
        output_height=output_height,
        output_width=output_width,
        sampling_ratio=sampling_ratio,
        spatial_scale=spatial_scale,
    )


@operator("RoiAlign", since=16, evaluation=Evaluation.TENSORS)
def roi_align(
    x: Tensor,
    rois: Tensor,
    batch_indices: Tensor,
    *,
    coordinate_transformation_mode: str = "half_pixel",
    mode: str = "avg",
    output_height: int = 1,
    output_width: int = 1,
    sampling_ratio: int = 0,
    spatial_scale: float = 1.0,
) -> Tensor:
    """Pool regions by samples between the pixels.

    Source: He et al., "Mask R-CNN".
    """
    aligned = coordinate_transformation_mode == "half_pixel"
    output_size = (output_height, output_width)
    if mode == "avg":
        boxes = flow.cat([batch_indices.reshape(-1, 1).to(rois.dtype), rois], 1)
        return flow.roi_align(x, boxes, spatial_scale, *output_size, sampling_ratio, aligned)
    corners = rois.numpy() * spatial_scale - (0.5 if aligned else 0.0)
    entries = [int(entry) for entry in batch_indices.numpy()]
    regions = [
        _region_maximum(x[entry], corner, output_size, sampling_ratio, aligned)
        for entry, corner in zip(entries, corners, strict=True)
    ]
    return flow.stack(regions, 0)


def _region_maximum(
    image: Tensor, corner: np.ndarray, output_size: tuple[int, int], ratio: int, aligned: bool
) -> Tensor:
    """Return the maximum over the weighted corners of the samples of every bin of one region."""
    left, top, right, bottom = (float(c) for c in corner)
    least = 0.0 if aligned else 1.0
    region = max(bottom - top, least), max(right - left, least)
    axes = []
    for start, span, bins, length in zip(
        (top, left), region, output_size, image.shape[1:], strict=True
    ):
        count = ratio or math.ceil(span / bins)
        offsets = (np.arange(bins * count) + 0.5) / count
        axes.append((_bilinear(start + offsets * span / bins, length), count))
    (rows, row_count), (columns, column_count) = axes
    best: Tensor | None = None
    for low, row_weight in rows:
        selected = flow.index_select(image, 1, flow.tensor(low))
        for near, column_weight in columns:
            weight = flow.tensor(row_weight[:, None] * column_weight, dtype=image.dtype)
            value = flow.index_select(selected, 2, flow.tensor(near)) * weight
            best = value if best is None else flow.maximum(best, value)
    assert best is not None
    split = best.reshape(image.shape[0], output_size[0], row_count, output_size[1], column_count)
    return flow.amax(split, [2, 4])


def _bilinear(positions: np.ndarray, length: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return the two neighbours of positions with their weights; outside the weights are 0."""
    inside = (positions >= -1) & (positions <= length)
    clamped = positions.clip(0, length - 1)
    low = np.floor(clamped).astype(np.int64)
    high = np.minimum(low + 1, length - 1)
    share = clamped - low
    return [(low, np.where(inside, 1 - share, 0)), (high, np.where(inside, share, 0))]


_MOST_BINS = 2**20


@operator("MaxRoiPool", evaluation=Evaluation.TENSORS)
def max_roi_pool(
    x: Tensor, rois: Tensor, *, pooled_shape: Sequence[int], spatial_scale: float = 1.0
) -> Tensor:
    """Return the maximum of every bin of regions, whose corners are whole pixels.

    Source: Girshick, "Fast R-CNN".
    """
    # Each bin is computed by an operation of its own.
    check_size([rois.shape[0], *pooled_shape], _MOST_BINS)
    regions = []
    for roi in rois.numpy():
        image = x[int(roi[0])]
        left, top, right, bottom = (math.floor(c * spatial_scale + 0.5) for c in roi[1:])
        rows = _bins(top, bottom, pooled_shape[0], image.shape[1])
        columns = _bins(left, right, pooled_shape[1], image.shape[2])
        bins = [_maximum(image[:, slice(*r), slice(*c)]) for r in rows for c in columns]
        regions.append(flow.stack(bins, -1).reshape(image.shape[0], *pooled_shape))
    return flow.stack(regions, 0)


def _bins(first: int, last: int, count: int, length: int) -> list[tuple[int, int]]:
    size = max(last - first + 1, 1) / count
    edges = [
        (math.floor(index * size) + first, math.ceil((index + 1) * size) + first)
        for index in range(count)
    ]
    return [(min(max(low, 0), length), min(max(high, 0), length)) for low, high in edges]


def _maximum(part: Tensor) -> Tensor:
    if 0 in part.shape:
        return flow.zeros(part.shape[0], dtype=part.dtype)
    return flow.amax(part, [1, 2])


@operator("NonMaxSuppression", since=10, host=(0, 1, 2, 3, 4))
def non_max_suppression(
    boxes: np.ndarray,
    scores: np.ndarray,
    max_output_boxes_per_class: np.ndarray | None = None,
    iou_threshold: np.ndarray | None = None,
    score_threshold: np.ndarray | None = None,
    *,
    center_point_box: int = 0,
) -> Tensor:
    """Choose boxes by score, without those that overlap a chosen one too much.

    Rows of the result are batch entry, class and box. Their number depends on the values.
    """
    most = 0 if max_output_boxes_per_class is None else integer(max_output_boxes_per_class)
    overlap = 0.0 if iou_threshold is None else number(iou_threshold)
    least = -math.inf if score_threshold is None else number(score_threshold)
    corners = _corners(boxes, bool(center_point_box))
    results: list[tuple[int, int, int]] = []
    for entry, by_class in enumerate(scores):
        for label, values in enumerate(by_class):
            candidates = np.flatnonzero(values > least)
            if not candidates.size or not most:
                continue
            indices = flow.nms(
                flow.tensor(corners[entry][candidates]),
                flow.tensor(values[candidates]),
                overlap,
            )
            selected = candidates[indices.numpy()][:most]
            results += [(entry, label, int(box)) for box in selected]
    return flow.tensor(results, dtype=flow.int64).reshape(-1, 3)


def _corners(boxes: np.ndarray, center_point_box: bool) -> np.ndarray:
    """Return boxes as left, top, right, bottom, whatever diagonal they are given by."""
    if center_point_box:
        x, y, width, height = np.moveaxis(boxes, -1, 0)
        corners = [x - width / 2, y - height / 2, x + width / 2, y + height / 2]
    else:
        a, b, c, d = np.moveaxis(boxes, -1, 0)
        corners = [np.minimum(b, d), np.minimum(a, c), np.maximum(b, d), np.maximum(a, c)]
    return np.stack(corners, -1).astype(np.float32)
