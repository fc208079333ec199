"""Crops and flips of images at random."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from oneflow.data.randomness import random_numbers
from oneflow.data.vision import image as im
from oneflow.data.vision.random_box import random_box
from oneflow.data.vision.resize import (
    InterpolationMode,
    interpolation_mode,
    resized_crop,
)
from oneflow.data.vision.transforms import ImageTransform


class RandomCrop(ImageTransform):
    """A random rectangle of the image.

    Args:
        size: height and width, or one number for both.
        padding: border to add before, as in `Pad`.
        pad_if_needed: add a border where the image is too small.
        fill: value of a constant border.
        padding_mode: ``"constant"``, ``"edge"``, ``"reflect"`` or ``"symmetric"``.

    Example:
        >>> import oneflow as flow
        >>> from oneflow.utils.vision import transforms
        >>> image = flow.arange(12).reshape(1, 3, 4)
        >>> transforms.RandomCrop(2)(image).shape
        oneflow.Size([1, 2, 2])
    """

    def __init__(
        self,
        size: int | Sequence[int],
        padding: int | Sequence[int] | None = None,
        pad_if_needed: bool = False,
        fill: Any = 0,
        padding_mode: str = "constant",
    ) -> None:
        super().__init__()
        self.size = im.pair(size)
        self.padding = padding
        self.pad_if_needed = pad_if_needed
        self.fill = fill
        self.padding_mode = padding_mode

    @staticmethod
    def get_params(img: Any, output_size: tuple[int, int]) -> tuple[int, int, int, int]:
        """Return a random rectangle of `img`: top, left, height and width.

        Raises:
            ValueError: the image is smaller than `output_size`.
        """
        (height, width), (h, w) = im.size_of(img), output_size
        if height < h or width < w:
            raise ValueError(
                f"Required crop size {output_size} is larger than input image size {height, width}"
            )
        random = random_numbers()
        return int(random.integers(height - h + 1)), int(random.integers(width - w + 1)), h, w

    def forward(self, img: Any) -> Any:
        """Return a crop."""
        if self.padding is not None:
            img = im.pad(img, self.padding, self.fill, self.padding_mode)
        height, width = im.size_of(img)
        missing = max(self.size[0] - height, 0), max(self.size[1] - width, 0)
        if self.pad_if_needed and any(missing):
            img = im.pad(img, (missing[1], missing[0]), self.fill, self.padding_mode)
        return im.crop(img, *self.get_params(img, self.size))

    def extra_repr(self) -> str:
        """Return the options that the repr shows."""
        return self.options_repr("size", "padding")


class RandomResizedCrop(ImageTransform):
    """A random rectangle of random size and form, in a fixed size.

    Args:
        size: height and width of the result, or one number for both.
        scale: range of the rectangle's share of the area.
        ratio: range of its width divided by its height.
        interpolation: how new pixels come from old ones.
        antialias: of a tensor, whether a pixel averages over all old ones it stands for.

    Example:
        >>> import oneflow as flow
        >>> from oneflow.utils.vision import transforms
        >>> transforms.RandomResizedCrop(4)(flow.ones(3, 8, 8)).shape
        oneflow.Size([3, 4, 4])
    """

    def __init__(
        self,
        size: int | Sequence[int],
        scale: Sequence[float] = (0.08, 1.0),
        ratio: Sequence[float] = (3.0 / 4.0, 4.0 / 3.0),
        interpolation: Any = InterpolationMode.BILINEAR,
        antialias: bool | None = True,
    ) -> None:
        super().__init__()
        self.size = im.pair(size)
        if scale[0] > scale[1] or ratio[0] > ratio[1]:
            raise ValueError(f"scale and ratio should be (min, max), got {scale} and {ratio}")
        self.scale = scale
        self.ratio = ratio
        self.interpolation = interpolation_mode(interpolation)
        self.antialias = antialias

    @staticmethod
    def get_params(
        img: Any, scale: Sequence[float], ratio: Sequence[float]
    ) -> tuple[int, int, int, int]:
        """Return a random rectangle (top, left, height, width) with area and form in the ranges."""
        return random_box(*im.size_of(img), scale, ratio, random_numbers())

    def forward(self, img: Any) -> Any:
        """Return a crop, resized."""
        box = self.get_params(img, self.scale, self.ratio)
        return resized_crop(img, *box, self.size, self.interpolation, self.antialias)

    def extra_repr(self) -> str:
        """Return the options that the repr shows."""
        scale, ratio = (tuple(round(x, 4) for x in bounds) for bounds in (self.scale, self.ratio))
        rest = self.options_repr("interpolation", "antialias")
        return f"{self.options_repr('size')}, scale={scale}, ratio={ratio}, {rest}"


class RandomHorizontalFlip(ImageTransform):
    """The image mirrored left to right, with a probability.

    Args:
        p: the probability.

    Example:
        >>> import oneflow as flow
        >>> from oneflow.utils.vision import transforms
        >>> transforms.RandomHorizontalFlip(p=1.0)(flow.tensor([[[1, 2, 3]]]))
        tensor([[[3, 2, 1]]], dtype=oneflow.int64)
    """

    def __init__(self, p: float = 0.5) -> None:
        super().__init__()
        self.p = p

    def forward(self, img: Any) -> Any:
        """Return the image, mirrored or not."""
        return im.hflip(img) if random_numbers().random() < self.p else img


class RandomVerticalFlip(ImageTransform):
    """The image mirrored upside down, with a probability.

    Args:
        p: the probability.

    Example:
        >>> import oneflow as flow
        >>> from oneflow.utils.vision import transforms
        >>> transforms.RandomVerticalFlip(p=1.0)(flow.tensor([[[1], [2]]]))
        tensor([[[2],
                 [1]]], dtype=oneflow.int64)
    """

    def __init__(self, p: float = 0.5) -> None:
        super().__init__()
        self.p = p

    def forward(self, img: Any) -> Any:
        """Return the image, mirrored or not."""
        return im.vflip(img) if random_numbers().random() < self.p else img


# Name of earlier versions.
RandomSizedCrop = RandomResizedCrop
