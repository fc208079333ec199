"""RoIPool: the maxima of the bins of rectangles."""

from __future__ import annotations

import math
from collections.abc import Sequence

import oneflow as flow
from flowvision.ops._utils import as_rois, pair
from oneflow import Tensor, nn

# Rectangles are taken so many at a time: the rows of each are a copy of its image.
_AT_ONCE = 64


def roi_pool(
    input: Tensor,
    boxes: Tensor | Sequence[Tensor],
    output_size: int | tuple[int, int],
    spatial_scale: float = 1.0,
) -> Tensor:
    """Features of rectangles, each divided into bins; a bin holds its largest element.

    Girshick, Fast R-CNN, https://arxiv.org/abs/1504.08083. Corners are rounded to elements, and a
    rectangle is at least one element large. Differentiable in `input`; one of several equal maxima
    gets the gradient.

    Args:
        input: a tensor of shape (n, c, h, w).
        boxes: a tensor of shape (r, 5), the number of the image before each box, or a list with the
            boxes of each image.
        output_size: bins below each other and side by side, or one number for both.
        spatial_scale: elements of `input` per unit of `boxes`.

    Returns:
        Tensor of shape ``(r, c, *output_size)``; 0 for bins outside of the image.

    Raises:
        ValueError: if `boxes` has another shape.
        IndexError: if `boxes` names an image that `input` does not hold.

    Example:
        >>> from flowvision.ops import roi_pool
        >>> import oneflow as flow
        >>> x = flow.arange(16.0).reshape(1, 1, 4, 4)
        >>> roi_pool(x, [flow.tensor([[1.0, 1, 3, 3]])], 1).tolist()
        [[[[15.0]]]]
    """
    rois = as_rois(boxes)
    size = pair(output_size)
    if len(rois) <= _AT_ONCE:
        return _pooled(input, rois, size, spatial_scale)
    return flow.cat([_pooled(input, part, size, spatial_scale) for part in rois.split(_AT_ONCE)])


def _pooled(input: Tensor, rois: Tensor, size: tuple[int, int], spatial_scale: float) -> Tensor:
    """Return the maxima first over the rows of each bin, then over its columns."""
    scaled = rois.detach()[:, 1:].float() * spatial_scale
    corners = (scaled.abs() + 0.5).floor() * scaled.sign()  # halves are rounded away from 0
    images = input[rois[:, 0].long()]
    by_row = [
        flow.where(inside[:, None, :, None], images, -math.inf).max(2)[0]
        for inside in _bins(corners[:, 1], corners[:, 3], size[0], input.shape[2])
    ]
    rows = flow.stack(by_row, 2)
    by_column = [
        flow.where(inside[:, None, None, :], rows, -math.inf).max(3)[0]
        for inside in _bins(corners[:, 0], corners[:, 2], size[1], input.shape[3])
    ]
    result = flow.stack(by_column, 3)
    return flow.where(result == -math.inf, flow.zeros_like(result), result)


def _bins(low: Tensor, high: Tensor, bins: int, size: int) -> list[Tensor]:
    """Return for each bin which elements along one side belong to it, of shape (r, size)."""
    step = (high - low + 1).clamp(min=1) / bins
    elements = flow.arange(size, dtype=flow.float32, device=low.device)
    inside = []
    for index in range(bins):
        first = (index * step).floor() + low
        end = ((index + 1) * step).ceil() + low
        inside.append((elements >= first[:, None]) & (elements < end[:, None]))
    return inside


class RoIPool(nn.Module):
    """`roi_pool` as a layer: takes the input and the boxes, returns features of shape (r, c, ...).

    Args:
        output_size: see `roi_pool`.
        spatial_scale: see `roi_pool`.

    Example:
        >>> import oneflow as flow
        >>> from flowvision.ops import RoIPool
        >>> boxes = [flow.tensor([[0.0, 0.0, 4.0, 4.0]])]
        >>> RoIPool(2, 1.0)(flow.ones(1, 3, 8, 8), boxes).shape
        oneflow.Size([1, 3, 2, 2])
    """

    def __init__(self, output_size: int | tuple[int, int], spatial_scale: float) -> None:
        super().__init__()
        self.output_size = output_size
        self.spatial_scale = spatial_scale

    def forward(self, input: Tensor, rois: Tensor | Sequence[Tensor]) -> Tensor:
        """Return the maxima of the bins, see `roi_pool`."""
        return roi_pool(input, rois, self.output_size, self.spatial_scale)
