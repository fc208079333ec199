"""Random images."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from flowvision.datasets.vision import VisionDataset
from oneflow.data.vision.pillow import Image


class FakeData(VisionDataset):
    """Random images with random class numbers: the same ones each time.

    Args:
        size: number of images.
        image_size: channels (1 or 3), height and width.
        num_classes: number of classes.
        transform: applied to each image, a Pillow image.
        target_transform: applied to each class number.
        random_offset: added to the seed of each image, which is its position.

    Example:
        >>> from flowvision.datasets import FakeData
        >>> image, target = FakeData(2, (3, 4, 6))[1]
        >>> image.size, FakeData(2, (3, 4, 6))[1][1] == target
        ((6, 4), True)
    """

    def __init__(
        self,
        size: int = 1000,
        image_size: tuple[int, int, int] = (3, 224, 224),
        num_classes: int = 10,
        transform: Callable[..., Any] | None = None,
        target_transform: Callable[..., Any] | None = None,
        random_offset: int = 0,
    ) -> None:
        super().__init__("", transform=transform, target_transform=target_transform)
        self.size = size
        self.image_size = image_size
        self.num_classes = num_classes
        self.random_offset = random_offset

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        if not 0 <= index < self.size:
            raise IndexError(f"index {index} is out of range for {self.size} images")
        random = np.random.default_rng(index + self.random_offset)
        channels, *size = self.image_size
        noise = random.integers(0, 256, (*size, channels), dtype=np.uint8)
        image = Image.fromarray(noise[..., 0] if channels == 1 else noise)
        return self.transformed(image, int(random.integers(self.num_classes)))

    def __len__(self) -> int:
        return self.size
