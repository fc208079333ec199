"""Transforms of colors and sharpness; random ones draw from oneflow's default generator."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from flowvision.transforms import functional
from oneflow.utils.vision.transforms import ImageTransform, random_numbers


class Grayscale(ImageTransform):
    """The brightness of each pixel.

    Args:
        num_output_channels: 1, or 3 equal ones.

    Example:
        >>> import oneflow as flow
        >>> from flowvision import transforms
        >>> transforms.Grayscale()(flow.ones(3, 2, 2)).shape
        oneflow.Size([1, 2, 2])
    """

    def __init__(self, num_output_channels: int = 1) -> None:
        super().__init__()
        self.num_output_channels = num_output_channels

    def forward(self, img: Any) -> Any:
        return functional.rgb_to_grayscale(img, self.num_output_channels)


class ColorJitter(ImageTransform):
    """Random brightness, contrast, saturation and hue, in random order.

    Args:
        brightness: range of the factor; one number b stands for (max(0, 1 - b), 1 + b).
        contrast: likewise.
        saturation: likewise.
        hue: range of the turn within (-0.5, 0.5); one number h stands for (-h, h).

    Raises:
        ValueError: a negative number, or a range that is out of order or of bounds.

    Example:
        >>> import oneflow as flow
        >>> from flowvision import transforms
        >>> transforms.ColorJitter(brightness=0.5)(flow.rand(3, 8, 8)).shape
        oneflow.Size([3, 8, 8])
    """

    def __init__(
        self,
        brightness: float | Sequence[float] = 0,
        contrast: float | Sequence[float] = 0,
        saturation: float | Sequence[float] = 0,
        hue: float | Sequence[float] = 0,
    ) -> None:
        super().__init__()
        self.brightness = _factors(brightness, "brightness")
        self.contrast = _factors(contrast, "contrast")
        self.saturation = _factors(saturation, "saturation")
        self.hue = _hue_range(hue)

    @staticmethod
    def get_params(
        brightness: Sequence[float] | None,
        contrast: Sequence[float] | None,
        saturation: Sequence[float] | None,
        hue: Sequence[float] | None,
    ) -> tuple[np.ndarray, float | None, float | None, float | None, float | None]:
        """Return a random order of the four changes, and a number from each range, or None."""
        random = random_numbers()
        order = random.permutation(4)
        factors = [
            None if limits is None else float(random.uniform(limits[0], limits[1]))
            for limits in (brightness, contrast, saturation, hue)
        ]
        return order, factors[0], factors[1], factors[2], factors[3]

    def forward(self, img: Any) -> Any:
        order, *factors = self.get_params(self.brightness, self.contrast, self.saturation, self.hue)
        changes = (
            functional.adjust_brightness,
            functional.adjust_contrast,
            functional.adjust_saturation,
            functional.adjust_hue,
        )
        for index in order:
            factor = factors[index]
            if factor is not None:
                img = changes[index](img, factor)
        return img


def _factors(value: float | Sequence[float], name: str) -> tuple[float, float] | None:
    """Return the range of a factor, or None where it is always 1."""
    if isinstance(value, int | float):
        if value < 0:
            raise ValueError(f"If {name} is a single number, it must be non negative.")
        low, high = max(0.0, 1.0 - value), 1.0 + value
    else:
        low, high = map(float, value)
    if not 0 <= low <= high:
        raise ValueError(f"{name} values should be between (0, inf), but got {(low, high)}.")
    return None if low == high == 1 else (low, high)


def _hue_range(hue: float | Sequence[float]) -> tuple[float, float] | None:
    """Return the range of the turn of hues, or None where it is always 0."""
    if isinstance(hue, int | float):
        if hue < 0:
            raise ValueError("If hue is a single number, it must be non negative.")
        hue = (-hue, hue)
    low, high = map(float, hue)
    if not -0.5 <= low <= high <= 0.5:
        raise ValueError(f"hue values should be between (-0.5, 0.5), but got {(low, high)}.")
    return None if low == high == 0 else (low, high)


class GaussianBlur(ImageTransform):
    """The image blurred by a Gaussian of random width.

    Args:
        kernel_size: width and height of the Gaussian in pixels, odd, or one number for both.
        sigma: range of its standard deviation, or one number.

    Raises:
        ValueError: an even kernel, or deviations that are not positive or not in order.

    Example:
        >>> import oneflow as flow
        >>> from flowvision import transforms
        >>> transforms.GaussianBlur(kernel_size=3)(flow.ones(1, 4, 4)).shape
        oneflow.Size([1, 4, 4])
    """

    def __init__(
        self, kernel_size: int | Sequence[int], sigma: float | Sequence[float] = (0.1, 2.0)
    ) -> None:
        super().__init__()
        sizes = (kernel_size,) * 2 if isinstance(kernel_size, int) else tuple(kernel_size)
        if len(sizes) != 2 or any(size <= 0 or size % 2 == 0 for size in sizes):
            raise ValueError(f"Kernel size value should be odd and positive. Got {kernel_size}")
        low, high = (sigma, sigma) if isinstance(sigma, int | float) else sigma
        if not 0.0 < low <= high:
            raise ValueError("sigma values should be positive and of the form (min, max).")
        self.kernel_size = sizes
        self.sigma = (low, high)

    @staticmethod
    def get_params(sigma_min: float, sigma_max: float) -> float:
        """Return a random standard deviation."""
        return float(random_numbers().uniform(sigma_min, sigma_max))

    def forward(self, img: Any) -> Any:
        sigma = self.get_params(*self.sigma)
        return functional.gaussian_blur(img, self.kernel_size, [sigma, sigma])


class _RandomChange(ImageTransform):
    """A change with a probability."""

    def __init__(self, p: float = 0.5) -> None:
        super().__init__()
        self.p = p

    def forward(self, img: Any) -> Any:
        return self._changed(img) if random_numbers().random() < self.p else img

    def _changed(self, img: Any) -> Any:
        raise NotImplementedError


class RandomGrayscale(_RandomChange):
    """The brightness of each pixel in as many channels as there were, with a probability.

    Args:
        p: the probability.

    Example:
        >>> import oneflow as flow
        >>> from flowvision import transforms
        >>> transforms.RandomGrayscale(p=1.0)(flow.ones(3, 2, 2)).shape
        oneflow.Size([3, 2, 2])
    """

    def __init__(self, p: float = 0.1) -> None:
        super().__init__(p)

    def _changed(self, img: Any) -> Any:
        return functional.rgb_to_grayscale(img, functional.get_image_num_channels(img))


class RandomInvert(_RandomChange):
    """The negative, with a probability.

    Args:
        p: the probability.

    Example:
        >>> import oneflow as flow
        >>> from flowvision import transforms
        >>> image = flow.tensor([[[0, 100, 200]]], dtype=flow.uint8)
        >>> transforms.RandomInvert(p=1.0)(image)
        tensor([[[255, 155,  55]]], dtype=oneflow.uint8)
    """

    def _changed(self, img: Any) -> Any:
        return functional.invert(img)


class RandomPosterize(_RandomChange):
    """Fewer bits per channel, with a probability.

    Args:
        bits: the number of bits, from 0 to 8.
        p: the probability.

    Example:
        >>> import oneflow as flow
        >>> from flowvision import transforms
        >>> image = flow.tensor([[[0, 100, 200]]], dtype=flow.uint8)
        >>> transforms.RandomPosterize(bits=1, p=1.0)(image)
        tensor([[[  0,   0, 128]]], dtype=oneflow.uint8)
    """

    def __init__(self, bits: int, p: float = 0.5) -> None:
        super().__init__(p)
        self.bits = bits

    def _changed(self, img: Any) -> Any:
        return functional.posterize(img, self.bits)

    def extra_repr(self) -> str:
        return f"bits={self.bits},p={self.p}"


class RandomSolarize(_RandomChange):
    """Bright pixels inverted, with a probability.

    Args:
        threshold: numbers from here on are inverted.
        p: the probability.

    Example:
        >>> import oneflow as flow
        >>> from flowvision import transforms
        >>> image = flow.tensor([[[0, 100, 200]]], dtype=flow.uint8)
        >>> transforms.RandomSolarize(threshold=100, p=1.0)(image)
        tensor([[[  0, 155,  55]]], dtype=oneflow.uint8)
    """

    def __init__(self, threshold: float, p: float = 0.5) -> None:
        super().__init__(p)
        self.threshold = threshold

    def _changed(self, img: Any) -> Any:
        return functional.solarize(img, self.threshold)

    def extra_repr(self) -> str:
        return f"threshold={self.threshold},p={self.p}"


class Solarization(RandomSolarize):
    """The brighter half of the numbers of a Pillow image inverted, with a probability.

    Args:
        p: the probability.

    Example:
        >>> from flowvision import transforms
        >>> from PIL import Image
        >>> transforms.Solarization(p=1.0)(Image.new("L", (1, 1), 200)).getpixel((0, 0))
        55
    """

    def __init__(self, p: float = 0.1) -> None:
        super().__init__(128, p)


class RandomAdjustSharpness(_RandomChange):
    """Another sharpness, with a probability.

    Args:
        sharpness_factor: 0 blurs, 1 changes nothing, 2 sharpens.
        p: the probability.

    Example:
        >>> import oneflow as flow
        >>> from flowvision import transforms
        >>> transforms.RandomAdjustSharpness(2.0, p=1.0)(flow.ones(1, 4, 4)).shape
        oneflow.Size([1, 4, 4])
    """

    def __init__(self, sharpness_factor: float, p: float = 0.5) -> None:
        super().__init__(p)
        self.sharpness_factor = sharpness_factor

    def _changed(self, img: Any) -> Any:
        return functional.adjust_sharpness(img, self.sharpness_factor)

    def extra_repr(self) -> str:
        return f"sharpness_factor={self.sharpness_factor},p={self.p}"


class RandomAutocontrast(_RandomChange):
    """Each channel stretched to the full range, with a probability.

    Args:
        p: the probability.

    Example:
        >>> import oneflow as flow
        >>> from flowvision import transforms
        >>> image = flow.tensor([[[0, 100, 200]]], dtype=flow.uint8)
        >>> transforms.RandomAutocontrast(p=1.0)(image)
        tensor([[[  0, 127, 255]]], dtype=oneflow.uint8)
    """

    def _changed(self, img: Any) -> Any:
        return functional.autocontrast(img)


class RandomEqualize(_RandomChange):
    """Channels with even histograms, with a probability.

    Args:
        p: the probability.

    Example:
        >>> import oneflow as flow
        >>> from flowvision import transforms
        >>> image = flow.tensor([[[0, 100, 200]]], dtype=flow.uint8)
        >>> transforms.RandomEqualize(p=1.0)(image).shape
        oneflow.Size([1, 1, 3])
    """

    def _changed(self, img: Any) -> Any:
        return functional.equalize(img)
