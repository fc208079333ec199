"""RoIAlign on several levels of a feature pyramid."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import oneflow as flow
from flowvision.ops._utils import convert_boxes_to_roi_format
from flowvision.ops.boxes import box_area
from flowvision.ops.roi_align import roi_align
from oneflow import Tensor, nn


class LevelMapper:
    """The level of a feature pyramid for boxes of a size (https://arxiv.org/abs/1612.03144, eq. 1).

    Args:
        k_min: the first level there is.
        k_max: the last level there is.
        canonical_scale: the square root of the area of boxes that belong to `canonical_level`.
        canonical_level: a level; boxes of twice the size belong to the next.
        eps: added to the level, so that boxes of exactly twice the size count as such.

    Example:
        >>> import oneflow as flow
        >>> from flowvision.ops.poolers import LevelMapper
        >>> LevelMapper(2, 5)([flow.tensor([[0.0, 0, 10, 10], [0, 0, 224, 224]])]).tolist()
        [0, 2]
    """

    def __init__(
        self,
        k_min: int,
        k_max: int,
        canonical_scale: int = 224,
        canonical_level: int = 4,
        eps: float = 1e-6,
    ) -> None:
        self.k_min = k_min
        self.k_max = k_max
        self.s0 = canonical_scale
        self.lvl0 = canonical_level
        self.eps = eps

    def __call__(self, boxlists: Sequence[Tensor]) -> Tensor:
        """Return the levels of all boxes one after another, counted from `k_min`."""
        sizes = flow.cat([box_area(boxes) for boxes in boxlists]).sqrt()
        levels = flow.floor(self.lvl0 + flow.log2(sizes / self.s0) + self.eps)
        return (levels.clamp(self.k_min, self.k_max) - self.k_min).long()


def initLevelMapper(
    k_min: int,
    k_max: int,
    canonical_scale: int = 224,
    canonical_level: int = 4,
    eps: float = 1e-6,
) -> LevelMapper:
    """Return a `LevelMapper`, which has the same arguments."""
    return LevelMapper(k_min, k_max, canonical_scale, canonical_level, eps)


class MultiScaleRoIAlign(nn.Module):
    """RoIAlign that reads each box from the level of a feature pyramid that fits its size.

    Takes a dict of features (N, C, H_i, W_i), the boxes of each image (n_j, 4) and the sizes of the
    images, and returns features ``(n_1 + n_2 + ..., C, *output_size)``.

    Args:
        featmap_names: which of the features are used, the largest first.
        output_size: height and width of the result, or one number for both.
        sampling_ratio: samples per bin and direction, see `flowvision.ops.roi_align`.
        canonical_scale: see `LevelMapper`.
        canonical_level: see `LevelMapper`.

    Example:
        >>> import oneflow as flow
        >>> from flowvision.ops.poolers import MultiScaleRoIAlign
        >>> pool = MultiScaleRoIAlign(["0"], 7, 2)
        >>> boxes = flow.tensor([[0.0, 0, 20, 20], [5, 5, 30, 30]])
        >>> tuple(pool({"0": flow.rand(1, 5, 8, 8)}, [boxes], [(32, 32)]).shape)
        (2, 5, 7, 7)
    """

    def __init__(
        self,
        featmap_names: Sequence[str],
        output_size: int | Sequence[int],
        sampling_ratio: int,
        *,
        canonical_scale: int = 224,
        canonical_level: int = 4,
    ) -> None:
        super().__init__()
        height, width = (output_size, output_size) if isinstance(output_size, int) else output_size
        self.featmap_names = list(featmap_names)
        self.output_size = (height, width)
        self.sampling_ratio = sampling_ratio
        self.canonical_scale = canonical_scale
        self.canonical_level = canonical_level

    def forward(
        self,
        x: Mapping[str, Tensor],
        boxes: Sequence[Tensor],
        image_shapes: Sequence[tuple[int, int]],
    ) -> Tensor:
        features = [x[name] for name in self.featmap_names if name in x]
        if not features:
            raise ValueError(f"none of the features {self.featmap_names} is in {list(x)}")
        scales = [_scale(feature, image_shapes) for feature in features]
        rois = convert_boxes_to_roi_format(boxes)
        if len(features) == 1:
            return roi_align(features[0], rois, self.output_size, scales[0], self.sampling_ratio)
        mapper = LevelMapper(
            round(-math.log2(scales[0])),
            round(-math.log2(scales[-1])),
            self.canonical_scale,
            self.canonical_level,
        )
        return self._from_levels(features, scales, rois, mapper(boxes))

    def _from_levels(
        self, features: list[Tensor], scales: list[float], rois: Tensor, levels: Tensor
    ) -> Tensor:
        pooled = features[0].new_zeros(len(rois), features[0].shape[1], *self.output_size)
        for level, (feature, scale) in enumerate(zip(features, scales, strict=True)):
            if rois.is_lazy:  # in `build` of a graph it is unknown how many belong to the level
                every = roi_align(feature, rois, self.output_size, scale, self.sampling_ratio)
                pooled = flow.where((levels == level)[:, None, None, None], every, pooled)
                continue
            here = (levels == level).nonzero(as_tuple=True)[0]
            pooled[here] = roi_align(
                feature, rois[here], self.output_size, scale, self.sampling_ratio
            )
        return pooled

    def extra_repr(self) -> str:
        return (
            f"featmap_names={self.featmap_names}, output_size={self.output_size}, "
            f"sampling_ratio={self.sampling_ratio}"
        )


def _scale(feature: Tensor, image_shapes: Sequence[tuple[int, int]]) -> float:
    """Return elements of `feature` per pixel, a power of two."""
    height = max(shape[0] for shape in image_shapes)
    return 2.0 ** round(math.log2(feature.shape[-2] / height))
