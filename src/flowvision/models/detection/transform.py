"""From images of all sizes to a batch, and from the results for the batch back to the images."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence

import numpy as np

import oneflow as flow
from flowvision.models.detection.image_list import ImageList
from flowvision.models.detection.masks import paste_masks_in_image
from oneflow import Tensor, nn
from oneflow.nn import functional as F

Target = dict[str, Tensor]


class GeneralizedRCNNTransform(nn.Module):
    """Normalizes and resizes images with their boxes and masks, and makes a batch of them.

    Takes a list of images (C, H, W) with values in [0, 1], and the targets if there are any;
    returns an `ImageList` and the targets.

    Args:
        min_size: the length of the shorter side afterwards; several: a random one while training,
            the last one otherwise.
        max_size: what the longer side is at most.
        image_mean: subtracted from each channel.
        image_std: by which each channel is divided then.
        size_divisible: sides of the batch are multiples of it.
        fixed_size: width and height afterwards, instead of `min_size` and `max_size`.
    """

    def __init__(
        self,
        min_size: int | Sequence[int],
        max_size: int,
        image_mean: Sequence[float],
        image_std: Sequence[float],
        size_divisible: int = 32,
        fixed_size: tuple[int, int] | None = None,
    ) -> None:
        super().__init__()
        self.min_size = (min_size,) if isinstance(min_size, int) else tuple(min_size)
        self.max_size = max_size
        self.image_mean = image_mean
        self.image_std = image_std
        self.size_divisible = size_divisible
        self.fixed_size = fixed_size

    def forward(
        self, images: Sequence[Tensor], targets: Sequence[Target] | None = None
    ) -> tuple[ImageList, list[Target] | None]:
        resized, moved = [], []
        for index, image in enumerate(images):
            if image.ndim != 3:
                raise ValueError(
                    f"images must have the shape (channels, height, width), got {list(image.shape)}"
                )
            target = None if targets is None else dict(targets[index])
            image, target = self.resize(self.normalize(image), target)
            resized.append(image)
            moved.append(target)
        sizes = [(image.shape[-2], image.shape[-1]) for image in resized]
        batch = ImageList(self.batch_images(resized, self.size_divisible), sizes)
        return batch, None if targets is None else moved

    def normalize(self, image: Tensor) -> Tensor:
        """Subtract the mean of each channel, and divide by its standard deviation.

        Raises:
            TypeError: if the image holds integers.
        """
        if not image.is_floating_point():
            raise TypeError(
                f"images must hold floating point numbers in [0, 1], got {image.dtype}; "
                "divide by 255"
            )
        mean, std = (
            flow.tensor(values, dtype=image.dtype, device=image.device)[:, None, None]
            for values in (self.image_mean, self.image_std)
        )
        return (image - mean) / std

    def resize(self, image: Tensor, target: Target | None = None) -> tuple[Tensor, Target | None]:
        """Resize an image with the boxes and masks in its target."""
        old = (image.shape[-2], image.shape[-1])
        new = self._size(old)
        image = F.interpolate(image[None], size=new, mode="bilinear", align_corners=False)[0]
        if target is None:
            return image, None
        target = {**target, "boxes": resize_boxes(target["boxes"], old, new)}
        if "masks" in target:
            masks = target["masks"][:, None].float()
            masks = F.interpolate(masks, size=new, mode="nearest") if len(masks) else masks
            target["masks"] = masks.reshape(-1, *new).to(flow.uint8)
        return image, target

    def _size(self, size: tuple[int, int]) -> tuple[int, int]:
        if self.fixed_size is not None:
            return self.fixed_size[1], self.fixed_size[0]
        min_side = random.choice(self.min_size) if self.training else self.min_size[-1]
        # In single precision, as published models were trained.
        scale = min(
            np.float32(min_side) / np.float32(min(size)),
            np.float32(self.max_size) / np.float32(max(size)),
        )
        height, width = (math.floor(side * float(scale)) for side in size)
        return height, width

    def max_by_axis(self, the_list: Sequence[Sequence[int]]) -> list[int]:
        """Return the largest number at each place."""
        return [max(numbers) for numbers in zip(*the_list, strict=True)]

    def batch_images(self, images: Sequence[Tensor], size_divisible: int = 32) -> Tensor:
        """Stack images, filled up with zeros to a multiple of `size_divisible`: (N, C, H, W)."""
        _, *sides = self.max_by_axis([image.shape for image in images])
        height, width = (-(-side // size_divisible) * size_divisible for side in sides)
        return flow.stack(
            [
                F.pad(image, (0, width - image.shape[2], 0, height - image.shape[1]))
                for image in images
            ]
        )

    def postprocess(
        self,
        result: list[Target],
        image_shapes: Sequence[tuple[int, int]],
        original_image_sizes: Sequence[tuple[int, int]],
    ) -> list[Target]:
        """Move detections in resized images to the original ones.

        Args:
            result: "boxes", and perhaps "masks", for each image; other entries stay.
            image_shapes: heights and widths of the resized images.
            original_image_sizes: heights and widths of the original ones.
        """
        if self.training:
            return result
        moved = []
        for detections, new, old in zip(result, image_shapes, original_image_sizes, strict=True):
            boxes = resize_boxes(detections["boxes"], new, old)
            entry = {**detections, "boxes": boxes}
            if "masks" in detections:
                entry["masks"] = paste_masks_in_image(detections["masks"], boxes, old)
            moved.append(entry)
        return moved


def resize_boxes(
    boxes: Tensor, original_size: tuple[int, int], new_size: tuple[int, int]
) -> Tensor:
    """Return the boxes (n, 4) of a resized image.

    Args:
        boxes: boxes in the original image.
        original_size: its height and width.
        new_size: height and width of the resized image.
    """
    height, width = (
        float(np.float32(new) / np.float32(old))
        for new, old in zip(new_size, original_size, strict=True)
    )
    return boxes * flow.tensor(
        [width, height, width, height], dtype=boxes.dtype, device=boxes.device
    )
