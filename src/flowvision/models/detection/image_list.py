"""A batch of images of different sizes."""

from __future__ import annotations

from collections.abc import Sequence

import oneflow as flow
from oneflow import Tensor


class ImageList:
    """Images of different sizes in one tensor, filled up with zeros on the right and below.

    Args:
        tensors: a tensor of shape (N, C, H, W).
        image_sizes: height and width of each image before it was filled up.
    """

    def __init__(self, tensors: Tensor, image_sizes: Sequence[tuple[int, int]]) -> None:
        self.tensors = tensors
        self.image_sizes = list(image_sizes)

    def to(self, device: flow.device | str) -> ImageList:
        """Return the images on another device."""
        return ImageList(self.tensors.to(device), self.image_sizes)
