"""Anchors: the boxes that detectors refine."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

import oneflow as flow
from flowvision.models.detection.image_list import ImageList
from oneflow import Tensor, nn


class AnchorGenerator(nn.Module):
    """Anchors of given areas and proportions around every element of every feature map.

    Takes the images and their feature maps, and returns for each image the anchors (n, 4) of all
    maps one after another, (x1, y1, x2, y2) in pixels; within a map by row, column and kind.

    Args:
        sizes: for each feature map the square roots of areas, in pixels.
        aspect_ratios: for each feature map heights divided by widths.

    Raises:
        ValueError: if the two do not belong to the same number of feature maps.
    """

    def __init__(
        self,
        sizes: Sequence[Sequence[int]] = ((128, 256, 512),),
        aspect_ratios: Sequence[Sequence[float]] = ((0.5, 1.0, 2.0),),
    ) -> None:
        super().__init__()
        if len(sizes) != len(aspect_ratios):
            raise ValueError(
                "`sizes` and `aspect_ratios` have one element for each feature map, got "
                f"{len(sizes)} and {len(aspect_ratios)}"
            )
        self.sizes = sizes
        self.aspect_ratios = aspect_ratios
        self.cell_anchors = [
            _cell_anchors(level_sizes, ratios)
            for level_sizes, ratios in zip(sizes, aspect_ratios, strict=True)
        ]

    def num_anchors_per_location(self) -> list[int]:
        """Return for each feature map how many anchors an element has."""
        return [len(anchors) for anchors in self.cell_anchors]

    def forward(self, image_list: ImageList, feature_maps: Sequence[Tensor]) -> list[Tensor]:
        if len(feature_maps) != len(self.cell_anchors):
            raise ValueError(
                f"there are {len(feature_maps)} feature maps, but `sizes` and `aspect_ratios` "
                f"describe the anchors of {len(self.cell_anchors)}"
            )
        height, width = image_list.tensors.shape[-2:]
        anchors = []
        for base, feature in zip(self.cell_anchors, feature_maps, strict=True):
            rows, columns = feature.shape[-2:]
            shifts = _grid(
                np.arange(rows) * (height // rows), np.arange(columns) * (width // columns)
            )
            anchors.append((np.tile(shifts, 2)[:, None] + base).reshape(-1, 4))
        values = flow.tensor(
            np.concatenate(anchors), dtype=feature_maps[0].dtype, device=feature_maps[0].device
        )
        return [values] * len(image_list.image_sizes)


class DefaultBoxGenerator(nn.Module):
    """The default boxes of SSD, see https://arxiv.org/abs/1512.02325, equation 4.

    Takes and returns what `AnchorGenerator` does.

    Args:
        aspect_ratios: for each feature map the proportions besides 1, each with its inverse.
        min_ratio: the scale of the first feature map, in parts of the image.
        max_ratio: the scale of the last one.
        scales: the scale of each feature map, and one more; by default between `min_ratio` and
            `max_ratio`.
        steps: pixels per element of each feature map; by default from the shapes.
        clip: whether widths and heights are at most those of the image.
    """

    def __init__(
        self,
        aspect_ratios: Sequence[Sequence[int]],
        min_ratio: float = 0.15,
        max_ratio: float = 0.9,
        scales: Sequence[float] | None = None,
        steps: Sequence[int] | None = None,
        clip: bool = True,
    ) -> None:
        super().__init__()
        if steps is not None and len(steps) != len(aspect_ratios):
            raise ValueError(
                f"`steps` must have {len(aspect_ratios)} elements, one for each feature map, "
                f"got {len(steps)}"
            )
        count = len(aspect_ratios)
        if scales is None:
            step = (max_ratio - min_ratio) / (count - 1) if count > 1 else 0.0
            scales = [min_ratio + step * level for level in range(count)]
            scales.append(1.0 if count > 1 else max_ratio)
        self.aspect_ratios = aspect_ratios
        self.steps = steps
        self.clip = clip
        self.scales = list(scales)
        self._box_sizes = [
            _default_sizes(scale, next_scale, ratios, clip)
            for scale, next_scale, ratios in zip(scales, scales[1:], aspect_ratios, strict=False)
        ]

    def num_anchors_per_location(self) -> list[int]:
        """Return for each feature map how many boxes an element has."""
        return [len(sides) for sides in self._box_sizes]

    def forward(self, image_list: ImageList, feature_maps: Sequence[Tensor]) -> list[Tensor]:
        height, width = image_list.tensors.shape[-2:]
        boxes = []
        for level, (sides, feature) in enumerate(zip(self._box_sizes, feature_maps, strict=True)):
            rows, columns = feature.shape[-2:]
            step = None if self.steps is None else self.steps[level]
            shifts = _grid(
                ((np.arange(rows) + 0.5) / (height / step if step else rows)).astype(np.float32),
                ((np.arange(columns) + 0.5) / (width / step if step else columns)).astype(
                    np.float32
                ),
            )
            both = np.broadcast_arrays(shifts[:, None], sides)
            boxes.append(np.concatenate(both, 2).reshape(-1, 4))
        base_boxes = np.concatenate(boxes).astype(np.float32)
        corners = np.concatenate(
            [
                base_boxes[:, :2] - 0.5 * base_boxes[:, 2:],
                base_boxes[:, :2] + 0.5 * base_boxes[:, 2:],
            ],
            1,
        ) * np.array([width, height, width, height], np.float32)
        values = flow.tensor(corners, dtype=feature_maps[0].dtype, device=feature_maps[0].device)
        return [values] * len(image_list.image_sizes)


def _grid(rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Return (x, y) of all elements row by row: [rows * columns, 2]."""
    y, x = np.meshgrid(rows, columns, indexing="ij")
    return np.stack([x.ravel(), y.ravel()], 1)


def _cell_anchors(sizes: Sequence[int], aspect_ratios: Sequence[float]) -> np.ndarray:
    """Return the anchors around the origin, rounded to pixels: [ratios * sizes, 4]."""
    h_ratios = np.sqrt(np.asarray(aspect_ratios, np.float32))
    scales = np.asarray(sizes, np.float32)
    width = ((1 / h_ratios)[:, None] * scales).ravel()
    height = (h_ratios[:, None] * scales).ravel()
    return (np.stack([-width, -height, width, height], 1) / 2).round()


def _default_sizes(
    scale: float, next_scale: float, aspect_ratios: Sequence[int], clip: bool
) -> np.ndarray:
    """Return widths and heights of the default boxes of a feature map: [boxes, 2]."""
    between = math.sqrt(scale * next_scale)
    sides = [(scale, scale), (between, between)]
    for ratio in aspect_ratios:
        wide, narrow = scale * math.sqrt(ratio), scale / math.sqrt(ratio)
        sides += [(wide, narrow), (narrow, wide)]
    both = np.asarray(sides, np.float32)
    return both.clip(0, 1) if clip else both
