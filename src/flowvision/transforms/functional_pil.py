"""Transforms of Pillow images."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from oneflow.data.vision.image import is_pil_image, pil_fill
from oneflow.data.vision.pillow import Image, ImageEnhance, ImageOps
from oneflow.data.vision.resize import InterpolationMode, pil_resampling
from oneflow.utils.vision.transforms.functional import (
    crop as crop,
    get_dimensions as get_dimensions,
    get_image_num_channels as get_image_num_channels,
    get_image_size as get_image_size,
    hflip as hflip,
    pad as pad,
    resize as resize,
    vflip as vflip,
)

# Names of earlier versions, which programs call.
_get_image_size, _is_pil_image = get_image_size, is_pil_image
_MODES_WITHOUT_HUE = ("L", "1", "I", "F")


def adjust_brightness(img: Image.Image, brightness_factor: float) -> Image.Image:
    """Return the image between black and itself; see `functional.adjust_brightness`."""
    return ImageEnhance.Brightness(img).enhance(brightness_factor)


def adjust_contrast(img: Image.Image, contrast_factor: float) -> Image.Image:
    """Return the image between its mean gray and itself; see `functional.adjust_contrast`."""
    return ImageEnhance.Contrast(img).enhance(contrast_factor)


def adjust_saturation(img: Image.Image, saturation_factor: float) -> Image.Image:
    """Return the image between its grays and itself; see `functional.adjust_saturation`."""
    return ImageEnhance.Color(img).enhance(saturation_factor)


def adjust_sharpness(img: Image.Image, sharpness_factor: float) -> Image.Image:
    """Return the image between a blurred one and itself; see `functional.adjust_sharpness`."""
    return ImageEnhance.Sharpness(img).enhance(sharpness_factor)


def adjust_hue(img: Image.Image, hue_factor: float) -> Image.Image:
    """Return the image with other hues; see `functional.adjust_hue`."""
    if img.mode in _MODES_WITHOUT_HUE:
        return img
    hue, saturation, value = img.convert("HSV").split()
    result = np.asarray(hue) + np.int32(hue_factor * 255).astype(np.uint8)
    merged = Image.merge("HSV", (Image.fromarray(result), saturation, value))
    return merged.convert(img.mode)


def adjust_gamma(img: Image.Image, gamma: float, gain: float = 1) -> Image.Image:
    """Return ``gain * img ** gamma``; see `functional.adjust_gamma`."""
    if gamma < 0:
        raise ValueError(f"gamma ({gamma}) is not non-negative.")
    # Float images become bytes in the same way: the factor 255.999 keeps white white.
    table = [int((255 + 1 - 1e-3) * gain * (level / 255) ** gamma) for level in range(256)]
    return img.convert("RGB").point(table * 3).convert(img.mode)


def invert(img: Image.Image) -> Image.Image:
    """Return the negative; see `functional.invert`."""
    return ImageOps.invert(img)


def posterize(img: Image.Image, bits: int) -> Image.Image:
    """Return the image with fewer bits per channel; see `functional.posterize`."""
    # Pillow refuses 0, of which published policies make use.
    return ImageOps.posterize(img, bits) if bits else img.point([0] * 256 * len(img.getbands()))


def solarize(img: Image.Image, threshold: int) -> Image.Image:
    """Return the image with its bright pixels inverted; see `functional.solarize`."""
    return ImageOps.solarize(img, threshold)


def autocontrast(img: Image.Image) -> Image.Image:
    """Return each channel stretched to the full range; see `functional.autocontrast`."""
    return ImageOps.autocontrast(img)


def equalize(img: Image.Image) -> Image.Image:
    """Return each channel with an even histogram; see `functional.equalize`."""
    return ImageOps.equalize(img)


def to_grayscale(img: Image.Image, num_output_channels: int) -> Image.Image:
    """Return the brightness of each pixel; see `functional.to_grayscale`."""
    if num_output_channels not in (1, 3):
        raise ValueError(f"num_output_channels should be 1 or 3, got {num_output_channels}")
    converted = img.convert("L")
    return (
        converted
        if num_output_channels == 1
        else Image.merge("RGB", (converted, converted, converted))
    )


def affine(
    img: Image.Image,
    matrix: Sequence[float],
    interpolation: Any = InterpolationMode.NEAREST,
    fill: Any = None,
) -> Image.Image:
    """Return the image moved by an affine map.

    Args:
        img: the image.
        matrix: two rows of the matrix from new to old positions, from the image's corner.
        interpolation: how new pixels come from old ones.
        fill: what comes from outside of the image.
    """
    return _transformed(img, Image.Transform.AFFINE, matrix, interpolation, fill)


def perspective(
    img: Image.Image,
    perspective_coeffs: Sequence[float],
    interpolation: Any = InterpolationMode.BICUBIC,
    fill: Any = None,
) -> Image.Image:
    """Return the image seen from another side; see `functional.perspective`."""
    return _transformed(img, Image.Transform.PERSPECTIVE, perspective_coeffs, interpolation, fill)


def _transformed(
    img: Image.Image, kind: Image.Transform, numbers: Sequence[float], interpolation: Any, fill: Any
) -> Image.Image:
    resampling = pil_resampling(InterpolationMode(interpolation))
    return img.transform(img.size, kind, numbers, resampling, fillcolor=pil_fill(img, fill))


def rotate(
    img: Image.Image,
    angle: float,
    interpolation: Any = InterpolationMode.NEAREST,
    expand: bool = False,
    center: Sequence[float] | None = None,
    fill: Any = None,
) -> Image.Image:
    """Return the turned image; see `functional.rotate`."""
    resampling = pil_resampling(InterpolationMode(interpolation))
    middle = None if center is None else (center[0], center[1])
    return img.rotate(angle, resampling, expand, middle, fillcolor=pil_fill(img, fill))
