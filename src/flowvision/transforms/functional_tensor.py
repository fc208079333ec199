"""Transforms of tensor images ``[..., C, H, W]``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import oneflow as flow
from flowvision.transforms.warping import (
    affine_grid,
    expanded_size,
    identity_grid,
    like,
    perspective_grid,
    sample,
)
from oneflow.data.vision.image import constant_like
from oneflow.utils.vision.transforms.functional import (
    convert_image_dtype as convert_image_dtype,
    crop as crop,
    get_dimensions as get_dimensions,
    get_image_num_channels as get_image_num_channels,
    get_image_size as get_image_size,
    hflip as hflip,
    normalize as normalize,
    pad as pad,
    resize as resize,
    vflip as vflip,
)

_get_image_size = get_image_size  # the name of earlier versions, which programs call
# Brightness of red, green and blue (ITU-R BT.601).
_RGB_WEIGHTS = (0.2989, 0.587, 0.114)


def _white(img: flow.Tensor) -> int:
    """Return the largest number a pixel may have."""
    return 1 if img.dtype.is_floating_point else flow.iinfo(img.dtype).max


def _check_channels(img: flow.Tensor, allowed: tuple[int, ...] = (1, 3)) -> int:
    """Return the number of channels.

    Raises:
        TypeError: it is not one of `allowed`.
    """
    channels = get_image_num_channels(img)
    if channels not in allowed:
        raise TypeError(
            f"Input image tensor permitted channel values are {allowed}, but found {channels}"
        )
    return channels


def _interpolate_images(img: flow.Tensor, other: flow.Tensor | float, ratio: float) -> flow.Tensor:
    """Return `ratio` of one image and the rest of another, within the permitted range."""
    ratio = float(ratio)  # a product of integers would wrap around
    mixed = ratio * img + (1.0 - ratio) * other
    return mixed.clamp(0, _white(img)).to(img.dtype)


# --- colors


def rgb_to_grayscale(img: flow.Tensor, num_output_channels: int = 1) -> flow.Tensor:
    """Return the brightness of each pixel; see `functional.rgb_to_grayscale`."""
    if num_output_channels not in (1, 3):
        raise ValueError(f"num_output_channels should be 1 or 3, got {num_output_channels}")
    grayscale = img
    if _check_channels(img) == 3:
        red, green, blue = (
            part * weight for part, weight in zip(_channels(img), _RGB_WEIGHTS, strict=True)
        )
        grayscale = (red + green + blue).to(img.dtype)
    if num_output_channels == 3:
        return grayscale.expand(*img.shape[:-3], 3, *img.shape[-2:])
    return grayscale


def _channels(img: flow.Tensor) -> tuple[flow.Tensor, ...]:
    return tuple(img.narrow(-3, index, 1) for index in range(img.shape[-3]))


def adjust_brightness(img: flow.Tensor, brightness_factor: float) -> flow.Tensor:
    """Return the image between black and itself; see `functional.adjust_brightness`."""
    _check_factor("brightness_factor", brightness_factor)
    _check_channels(img)
    return _interpolate_images(img, 0.0, brightness_factor)


def adjust_contrast(img: flow.Tensor, contrast_factor: float) -> flow.Tensor:
    """Return the image between its mean gray and itself; see `functional.adjust_contrast`."""
    _check_factor("contrast_factor", contrast_factor)
    _check_channels(img)
    grayscale = rgb_to_grayscale(img)
    numbers = grayscale if img.dtype.is_floating_point else grayscale.to(flow.float32)
    return _interpolate_images(img, numbers.mean(dim=(-3, -2, -1), keepdim=True), contrast_factor)


def adjust_saturation(img: flow.Tensor, saturation_factor: float) -> flow.Tensor:
    """Return the image between its grays and itself; see `functional.adjust_saturation`."""
    _check_factor("saturation_factor", saturation_factor)
    if _check_channels(img) == 1:
        return img
    return _interpolate_images(img, rgb_to_grayscale(img), saturation_factor)


def _check_factor(name: str, factor: float) -> None:
    if factor < 0:
        raise ValueError(f"{name} ({factor}) is not non-negative.")


def adjust_hue(img: flow.Tensor, hue_factor: float) -> flow.Tensor:
    """Return the image with other hues; see `functional.adjust_hue`."""
    if _check_channels(img) == 1:
        return img
    red, green, blue = _channels(convert_image_dtype(img, flow.float32))
    value = flow.maximum(flow.maximum(red, green), blue)
    delta = value - flow.minimum(flow.minimum(red, green), blue)
    divisor = flow.where(delta == 0, flow.ones_like(delta), delta)
    # Sixths of a turn from red, by the channel that is largest.
    hue = flow.where(
        value == red,
        (green - blue) / divisor,
        flow.where(value == green, 2 + (blue - red) / divisor, 4 + (red - green) / divisor),
    )
    hue = (hue + 6 * hue_factor) % 6
    parts = []
    for angle in (5, 3, 1):
        distance = (hue + angle) % 6
        parts.append(value - delta * flow.minimum(distance, 4 - distance).clamp(0, 1))
    return convert_image_dtype(flow.cat(parts, -3), img.dtype)


def adjust_gamma(img: flow.Tensor, gamma: float, gain: float = 1) -> flow.Tensor:
    """Return ``gain * img ** gamma``; see `functional.adjust_gamma`."""
    _check_factor("gamma", gamma)
    numbers = img if img.dtype.is_floating_point else convert_image_dtype(img, flow.float32)
    return convert_image_dtype((gain * numbers**gamma).clamp(0, 1), img.dtype)


def invert(img: flow.Tensor) -> flow.Tensor:
    """Return the negative; see `functional.invert`."""
    _check_channels(img)
    return _white(img) - img


def posterize(img: flow.Tensor, bits: int) -> flow.Tensor:
    """Return the image with fewer bits per channel; see `functional.posterize`."""
    _check_bytes(img)
    return img & (256 - 2 ** (8 - bits))


def _check_bytes(img: flow.Tensor) -> None:
    if img.dtype is not flow.uint8:
        raise TypeError(f"Only flow.uint8 image tensors are supported, but found {img.dtype}")
    _check_channels(img)


def solarize(img: flow.Tensor, threshold: float) -> flow.Tensor:
    """Return the image with its bright pixels inverted; see `functional.solarize`."""
    if threshold > _white(img):
        raise TypeError(f"Threshold should be at most {_white(img)}, but found {threshold}")
    return flow.where(img >= threshold, invert(img), img)


def autocontrast(img: flow.Tensor) -> flow.Tensor:
    """Return each channel stretched to the full range; see `functional.autocontrast`."""
    _check_channels(img)
    white = _white(img)
    numbers = img if img.dtype.is_floating_point else img.to(flow.float32)
    low, high = numbers.amin(dim=(-2, -1), keepdim=True), numbers.amax(dim=(-2, -1), keepdim=True)
    flat = high == low
    scale = white * flow.where(flat, flow.ones_like(high), high - low).reciprocal()
    scaled = ((numbers - low) * scale).clamp(0, white).to(img.dtype)
    return flow.where(flat, img, scaled)


def equalize(img: flow.Tensor) -> flow.Tensor:
    """Return each channel with an even histogram; see `functional.equalize`."""
    _check_bytes(img)
    planes = img.reshape(-1, img.shape[-2] * img.shape[-1]).to(flow.int64)
    count = planes.shape[0]
    offsets = constant_like(img, 256 * np.arange(count).reshape(-1, 1))
    histogram = flow.bincount((planes + offsets).flatten(), minlength=256 * count)
    histogram = histogram.reshape(count, 256)
    max_value = histogram.gather(1, planes.amax(dim=1, keepdim=True))
    step = (planes.shape[1] - max_value) // 255
    below = flow.cumsum(histogram, 1) - histogram
    divisor = step.clamp(min=1)
    table = ((below + divisor // 2) // divisor).clamp(0, 255)
    result = flow.where(step == 0, planes, table.gather(1, planes))
    return result.to(flow.uint8).reshape(*img.shape)


# --- filters


def adjust_sharpness(img: flow.Tensor, sharpness_factor: float) -> flow.Tensor:
    """Return the image between a blurred one and itself; see `functional.adjust_sharpness`."""
    _check_factor("sharpness_factor", sharpness_factor)
    _check_channels(img)
    if min(img.shape[-2:]) <= 2:
        return img
    weights = np.ones((3, 3), np.float32)
    weights[1, 1] = 5
    inside = _filtered(img, weights / weights.sum())
    # Pixels of the border have no neighbours on all sides and stay.
    mask = flow.nn.functional.pad(flow.ones_like(inside), (1, 1, 1, 1))
    smooth = flow.nn.functional.pad(inside, (1, 1, 1, 1))
    return _interpolate_images(img, flow.where(mask == 1, smooth, img), sharpness_factor)


def _filtered(img: flow.Tensor, weights: np.ndarray) -> flow.Tensor:
    """Return weighted sums over windows without a border, rounded if `img` has integers."""
    exact = img.dtype in (flow.float32, flow.float64)
    planes = img.reshape(-1, 1, *img.shape[-2:]).to(img.dtype if exact else flow.float32)
    kernel = constant_like(img, weights[None, None]).to(planes.dtype)
    total = flow.nn.functional.conv2d(planes, kernel)
    return like(total, img).reshape(*img.shape[:-2], *total.shape[-2:])


def gaussian_blur(
    img: flow.Tensor, kernel_size: Sequence[int], sigma: Sequence[float]
) -> flow.Tensor:
    """Return the image blurred by a Gaussian; see `functional.gaussian_blur`."""
    (width, height), (deviation_x, deviation_y) = kernel_size, sigma
    padded = pad(img, [width // 2, height // 2], padding_mode="reflect")
    rows, columns = _gaussian(height, deviation_y), _gaussian(width, deviation_x)
    return _filtered(padded, np.outer(rows, columns))


def _gaussian(size: int, sigma: float) -> np.ndarray:
    x = np.arange(size, dtype=np.float32) - np.float32((size - 1) / 2)
    density = np.exp(np.float32(-0.5) * (x / np.float32(sigma)) ** 2)
    return density / density.sum()


# --- geometry


def affine(
    img: flow.Tensor,
    matrix: Sequence[float],
    interpolation: str = "nearest",
    fill: Any = None,
) -> flow.Tensor:
    """Return the image moved by an affine map.

    Args:
        img: the image.
        matrix: two rows of the matrix from new to old positions, from the image's middle.
        interpolation: ``"nearest"`` or ``"bilinear"``.
        fill: what comes from outside of the image.
    """
    size = img.shape[-1], img.shape[-2]
    grid = affine_grid(matrix, size, size)
    return sample(img, grid, _sampling(interpolation), _colors(img, fill))


def rotate(
    img: flow.Tensor,
    matrix: Sequence[float],
    interpolation: str = "nearest",
    expand: bool = False,
    fill: Any = None,
) -> flow.Tensor:
    """Return the turned image; as `affine`, but with `expand` large enough to hold all of it."""
    size = img.shape[-1], img.shape[-2]
    grid = affine_grid(matrix, size, expanded_size(matrix, *size) if expand else size)
    return sample(img, grid, _sampling(interpolation), _colors(img, fill))


def perspective(
    img: flow.Tensor,
    perspective_coeffs: Sequence[float],
    interpolation: str = "bilinear",
    fill: Any = None,
) -> flow.Tensor:
    """Return the image seen from another side; see `functional.perspective`."""
    grid = perspective_grid(perspective_coeffs, img.shape[-1], img.shape[-2])
    return sample(img, grid, _sampling(interpolation), _colors(img, fill))


def elastic_transform(
    img: flow.Tensor,
    displacement: flow.Tensor,
    interpolation: str = "bilinear",
    fill: Any = None,
) -> flow.Tensor:
    """Return the image with each pixel displaced; see `functional.elastic_transform`."""
    grid = constant_like(displacement, identity_grid(img.shape[-1], img.shape[-2]))
    grid = grid.to(displacement.dtype) + displacement
    return sample(img, grid, _sampling(interpolation), _colors(img, fill))


def _sampling(interpolation: str) -> str:
    if interpolation not in ("nearest", "bilinear"):
        raise ValueError(
            f"interpolation of a moved tensor should be nearest or bilinear, got {interpolation}"
        )
    return interpolation


def _colors(img: flow.Tensor, fill: Any) -> list[float] | None:
    """Return one number per channel, or None for black.

    Raises:
        ValueError: there are not as many numbers as channels.
    """
    if fill is None:
        return None
    numbers = [float(number) for number in fill] if isinstance(fill, Sequence) else [float(fill)]
    channels = get_image_num_channels(img)
    if len(numbers) not in (1, channels):
        raise ValueError(
            f"The number of elements in 'fill' does not match the number of channels of the "
            f"image ({len(numbers)} != {channels})"
        )
    return numbers * (channels // len(numbers))
