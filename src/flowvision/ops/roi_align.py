"""RoIAlign: features of rectangles of an image, all of one size."""

from __future__ import annotations

from collections.abc import Sequence

import oneflow as flow
from flowvision.ops._utils import as_rois, pair
from oneflow import Tensor, nn


def roi_align(
    input: Tensor,
    boxes: Tensor | Sequence[Tensor],
    output_size: int | tuple[int, int],
    spatial_scale: float = 1.0,
    sampling_ratio: int = -1,
    aligned: bool = False,
) -> Tensor:
    """Features of rectangles, each divided into bins; a bin holds the mean of interpolated samples.

    He et al., Mask R-CNN, https://arxiv.org/abs/1703.06870. Differentiable in `input`.

    Args:
        input: a tensor of shape (n, c, h, w).
        boxes: a tensor of shape (r, 5), the number of the image before each box, or a list with the
            boxes of each image.
        output_size: bins below each other and side by side, or one number for both.
        spatial_scale: elements of `input` per unit of `boxes`.
        sampling_ratio: samples per bin and direction; 0 or less: one per element, rounded up.
        aligned: coordinates are of corners, half an element from the centres. Without it they are
            of centres, and rectangles are taken to be at least one element large.

    Returns:
        Tensor of shape ``(r, c, *output_size)``.

    Raises:
        ValueError: if `boxes` has another shape.
        IndexError: if `boxes` names an image that `input` does not hold.

    Example:
        >>> from flowvision.ops import roi_align
        >>> import oneflow as flow
        >>> x = flow.arange(16.0).reshape(1, 1, 4, 4)
        >>> roi_align(x, [flow.tensor([[1.0, 1, 3, 3]])], 2, sampling_ratio=2).tolist()
        [[[[7.5, 8.5], [11.5, 12.5]]]]
    """
    rois = as_rois(boxes)
    height, width = pair(output_size)
    return flow.roi_align(input, rois, spatial_scale, height, width, sampling_ratio, aligned)


def ps_roi_align(
    input: Tensor,
    boxes: Tensor | Sequence[Tensor],
    output_size: int | tuple[int, int],
    spatial_scale: float = 1.0,
    sampling_ratio: int = -1,
) -> Tensor:
    """Position-sensitive RoIAlign: every bin reads channels of its own.

    Li et al., Light-Head R-CNN, https://arxiv.org/abs/1711.07264. Coordinates are of corners, as
    with `aligned` in `roi_align`.

    Args:
        input: a tensor of shape (n, c * output_size[0] * output_size[1], h, w).
        boxes: see `roi_align`.
        output_size: see `roi_align`.
        spatial_scale: see `roi_align`.
        sampling_ratio: see `roi_align`.

    Returns:
        Tensor of shape ``(r, c, *output_size)``.

    Raises:
        ValueError: if the channels cannot be divided among the bins, or `boxes` has another shape.

    Example:
        >>> from flowvision.ops import ps_roi_align
        >>> import oneflow as flow
        >>> x = flow.arange(4.0).reshape(1, 4, 1, 1).expand(1, 4, 6, 6)
        >>> ps_roi_align(x, [flow.tensor([[1.0, 1, 5, 5]])], 2, sampling_ratio=1).tolist()
        [[[[0.0, 1.0], [2.0, 3.0]]]]
    """
    height, width = pair(output_size)
    bins = height * width
    if input.shape[1] % bins:
        raise ValueError(
            f"`input` must have a multiple of {bins} channels, one set for each bin, "
            f"got {input.shape[1]}"
        )
    every = roi_align(input, boxes, output_size, spatial_scale, sampling_ratio, aligned=True)
    by_bin = every.reshape(len(every), input.shape[1] // bins, bins, bins)
    bins_of_channels = flow.diagonal(by_bin, dim1=2, dim2=3)
    return bins_of_channels.reshape(len(every), input.shape[1] // bins, height, width)


class RoIAlign(nn.Module):
    """`roi_align` as a layer: takes the input and the boxes, returns features of shape (r, c, ...).

    Args:
        output_size: see `roi_align`.
        spatial_scale: see `roi_align`.
        sampling_ratio: see `roi_align`.
        aligned: see `roi_align`.

    Example:
        >>> import oneflow as flow
        >>> from flowvision.ops import RoIAlign
        >>> boxes = [flow.tensor([[0.0, 0.0, 4.0, 4.0]])]
        >>> RoIAlign(2, 1.0, 2)(flow.ones(1, 3, 8, 8), boxes).shape
        oneflow.Size([1, 3, 2, 2])
    """

    def __init__(
        self,
        output_size: int | tuple[int, int],
        spatial_scale: float,
        sampling_ratio: int,
        aligned: bool = False,
    ) -> None:
        super().__init__()
        self.output_size = output_size
        self.spatial_scale = spatial_scale
        self.sampling_ratio = sampling_ratio
        self.aligned = aligned

    def forward(self, input: Tensor, rois: Tensor | Sequence[Tensor]) -> Tensor:
        """Return the features of rectangles, see `roi_align`."""
        return roi_align(
            input, rois, self.output_size, self.spatial_scale, self.sampling_ratio, self.aligned
        )


class PSRoIAlign(nn.Module):
    """`ps_roi_align` as a layer: takes the input and the boxes, returns features (r, c, ...).

    Args:
        output_size: see `ps_roi_align`.
        spatial_scale: see `ps_roi_align`.
        sampling_ratio: see `ps_roi_align`.

    Example:
        >>> import oneflow as flow
        >>> from flowvision.ops import PSRoIAlign
        >>> boxes = [flow.tensor([[0.0, 0.0, 4.0, 4.0]])]
        >>> PSRoIAlign(2, 1.0, 2)(flow.ones(1, 8, 8, 8), boxes).shape
        oneflow.Size([1, 2, 2, 2])
    """

    def __init__(
        self, output_size: int | tuple[int, int], spatial_scale: float, sampling_ratio: int
    ) -> None:
        super().__init__()
        self.output_size = output_size
        self.spatial_scale = spatial_scale
        self.sampling_ratio = sampling_ratio

    def forward(self, input: Tensor, rois: Tensor | Sequence[Tensor]) -> Tensor:
        """Return the features of rectangles, see `ps_roi_align`."""
        return ps_roi_align(input, rois, self.output_size, self.spatial_scale, self.sampling_ratio)
