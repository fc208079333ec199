"""Functions on one image: an array (height, width, channels) on the host."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any

import numpy as np

from oneflow.data.vision.pillow import Image
from oneflow.data.vision.random_box import random_box

_MODES = {"BGR": "RGB", "RGB": "RGB", "GRAY": "L"}
_RESAMPLING = {
    "nearest_neighbor": "NEAREST",
    "nearest": "NEAREST",
    "bilinear": "BILINEAR",
    "bicubic": "BICUBIC",
    "area": "BOX",
    "lanczos": "LANCZOS",
}


def channels_of(color_space: str) -> int:
    """Return the number of channels of a color space.

    Raises:
        ValueError: it is not "BGR", "RGB" or "GRAY".
    """
    if color_space not in _MODES:
        raise ValueError(f"`color_space` must be one of {', '.join(_MODES)}, got {color_space!r}")
    return len(_MODES[color_space])


def decode_image(data: Any, color_space: str) -> np.ndarray:
    """Return the image in a JPEG, PNG or other file that Pillow reads, uint8.

    Raises:
        ValueError: the bytes are no image, or the color space is unknown.
    """
    channels_of(color_space)
    content = data if isinstance(data, bytes) else np.asarray(data, np.uint8).tobytes()
    try:
        image = Image.open(io.BytesIO(content)).convert(_MODES[color_space])
    except (OSError, SyntaxError) as error:
        raise ValueError(f"{len(content)} bytes are no image: {error}") from error
    array = np.asarray(image)
    if array.ndim == 2:
        array = array[..., None]
    return array[..., ::-1] if color_space == "BGR" else array


def random_crop_of(
    image: np.ndarray,
    random: np.random.Generator,
    area: Sequence[float],
    aspect_ratio: Sequence[float],
    attempts: int,
) -> np.ndarray:
    """Return a random rectangle of an image; see `random_box`."""
    top, left, height, width = random_box(
        image.shape[0], image.shape[1], area, aspect_ratio, random, attempts
    )
    return image[top : top + height, left : left + width]


def resize_image(image: np.ndarray, width: int, height: int, interpolation: str) -> np.ndarray:
    """Return an image in another size, with its dtype.

    Args:
        image: the image.
        width: the width of the result.
        height: the height of the result.
        interpolation: "nearest_neighbor", "bilinear", "bicubic", "area", "lanczos", or "auto":
            area for a smaller image and bilinear for a larger one.

    Raises:
        ValueError: the interpolation is something else.
    """
    old_height, old_width = image.shape[:2]
    if interpolation == "auto":
        interpolation = "bilinear" if width * height >= old_width * old_height else "area"
    if interpolation not in _RESAMPLING:
        raise ValueError(
            f"`interpolation_type` must be 'auto' or one of {', '.join(_RESAMPLING)}, "
            f"got {interpolation!r}"
        )
    mode = Image.Resampling[_RESAMPLING[interpolation]]
    # Pillow resizes images of three channels of eight bits, and single channels of floats.
    if image.dtype == np.uint8 and image.shape[2] == 3:
        return np.asarray(_from_array(image).resize((width, height), mode))
    channels = [
        np.asarray(_from_array(_plane(image, channel)).resize((width, height), mode))
        for channel in range(image.shape[2])
    ]
    return np.stack(channels, axis=-1).astype(image.dtype)


def _plane(image: np.ndarray, channel: int) -> np.ndarray:
    plane = image[..., channel]
    return plane if plane.dtype == np.uint8 else plane.astype(np.float32)


def _from_array(array: np.ndarray) -> Any:
    return Image.fromarray(np.ascontiguousarray(array))


def scaled_size(
    width: int, height: int, target: int, min_size: int, max_size: int, side: str
) -> tuple[int, int]:
    """Return the width and height of an image, given the length of one side.

    Args:
        width: the width of the image.
        height: the height of the image.
        target: length of that side.
        min_size: least length of the shorter side, if `target` is that of the longer; 0 for none.
        max_size: greatest length of the longer side, if `target` is that of the shorter; 0 for
            none.
        side: "shorter" or "longer".

    Raises:
        ValueError: `side` is something else.

    Example:
        >>> from oneflow.data.readers.image_values import scaled_size
        >>> scaled_size(640, 480, 240, 0, 300, "shorter")
        (300, 225)
    """
    if side not in ("shorter", "longer"):
        raise ValueError(f"`resize_side` must be 'shorter' or 'longer', got {side!r}")
    ratio = min(width, height) / max(width, height)
    if side == "shorter":
        smaller, larger = target, max(round(target / ratio), 1)
        if 0 < max_size < larger:
            smaller, larger = max(round(max_size * ratio), 1), max_size
    else:
        smaller, larger = max(round(target * ratio), 1), target
        if smaller < min_size:
            smaller, larger = min_size, max(round(min_size / ratio), 1)
    return (smaller, larger) if width <= height else (larger, smaller)


def flip_directions(code: int) -> tuple[bool, bool]:
    """Return whether images are mirrored left to right, and upside down.

    Args:
        code: 0 for no change, 1 left to right, 16 upside down, 17 both.

    Raises:
        ValueError: the code is something else.
    """
    if code not in (0x00, 0x01, 0x10, 0x11):
        raise ValueError(f"`flip_code` must be 0, 1, 16 or 17, got {code}")
    return bool(code & 0x01), bool(code & 0x10)


def flip_image(image: np.ndarray, code: int) -> np.ndarray:
    """Return an image, mirrored; see `flip_directions`."""
    horizontal, vertical = flip_directions(code)
    if horizontal:
        image = image[:, ::-1]
    return image[::-1] if vertical else image
