"""Other sizes of one image."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import Any

import numpy as np

from oneflow.base import dtype as dt
from oneflow.data.vision.image import crop, is_pil_image, size_of
from oneflow.data.vision.pillow import Image
from oneflow.functional.nn.interpolate import interpolate
from oneflow.tensor.tensor import Tensor


class InterpolationMode(enum.Enum):
    """The interpolation of new pixels from old ones.

    Example:
        >>> import oneflow as flow
        >>> from oneflow.utils.vision import transforms
        >>> transforms.InterpolationMode("bicubic")
        <InterpolationMode.BICUBIC: 'bicubic'>
    """

    NEAREST = "nearest"
    NEAREST_EXACT = "nearest-exact"
    BILINEAR = "bilinear"
    BICUBIC = "bicubic"
    BOX = "box"
    HAMMING = "hamming"
    LANCZOS = "lanczos"


# Pillow's numbers of the modes, for users who write `Image.BILINEAR`.
_BY_NUMBER = {
    0: InterpolationMode.NEAREST,
    1: InterpolationMode.LANCZOS,
    2: InterpolationMode.BILINEAR,
    3: InterpolationMode.BICUBIC,
    4: InterpolationMode.BOX,
    5: InterpolationMode.HAMMING,
}
_NEAREST_MODES = (InterpolationMode.NEAREST, InterpolationMode.NEAREST_EXACT)
_SMOOTH_MODES = (InterpolationMode.BILINEAR, InterpolationMode.BICUBIC)


def interpolation_mode(mode: Any) -> InterpolationMode:
    """Return an interpolation mode from itself, its name or Pillow's number.

    Raises:
        TypeError: it is none of these.
    """
    if isinstance(mode, InterpolationMode):
        return mode
    if isinstance(mode, int) and mode in _BY_NUMBER:
        return _BY_NUMBER[mode]
    for member in InterpolationMode:
        if mode == member.value:
            return member
    raise TypeError(f"interpolation should be an InterpolationMode, got {mode!r}")


def pil_resampling(mode: InterpolationMode) -> Any:
    """Return Pillow's constant for a mode; its nearest is the exact one."""
    return Image.Resampling["NEAREST" if mode in _NEAREST_MODES else mode.name]


def resize(
    img: Any,
    size: int | Sequence[int],
    interpolation: Any = InterpolationMode.BILINEAR,
    max_size: int | None = None,
    antialias: bool | None = True,
) -> Any:
    """Return the image in another size.

    Args:
        img: the image.
        size: height and width; one number is the length of the shorter side, and the form stays.
        interpolation: how new pixels come from old ones; tensors know the two nearest modes,
            bilinear and bicubic.
        max_size: limit of the longer side where `size` is one number.
        antialias: of a tensor, whether a pixel averages over all old ones it stands for, as Pillow
            always does.

    Raises:
        ValueError: `max_size` beside two numbers or not above `size`, or a mode that tensors lack.

    Example:
        >>> import oneflow as flow
        >>> from oneflow.utils.vision.transforms import functional
        >>> functional.resize(flow.zeros(3, 20, 40), 10).shape
        oneflow.Size([3, 10, 20])
    """
    mode = interpolation_mode(interpolation)
    now = size_of(img)
    target = resized_size(now, size, max_size)
    if target == now:
        return img
    if isinstance(img, Tensor):
        return _resize_tensor(img, target, mode, bool(antialias))
    width_height = target[1], target[0]
    if is_pil_image(img):
        return img.resize(width_height, pil_resampling(mode))
    return np.asarray(Image.fromarray(img).resize(width_height, pil_resampling(mode)))


def resized_crop(
    img: Any,
    top: int,
    left: int,
    height: int,
    width: int,
    size: int | Sequence[int],
    interpolation: Any = InterpolationMode.BILINEAR,
    antialias: bool | None = True,
) -> Any:
    """Return a rectangle of the image in another size; arguments as for `crop` and `resize`.

    Example:
        >>> import oneflow as flow
        >>> from oneflow.utils.vision.transforms import functional
        >>> functional.resized_crop(flow.ones(1, 8, 8), 0, 0, 4, 4, size=2).shape
        oneflow.Size([1, 2, 2])
    """
    return resize(crop(img, top, left, height, width), size, interpolation, antialias=antialias)


def resized_size(
    now: tuple[int, int], size: int | Sequence[int], max_size: int | None
) -> tuple[int, int]:
    """Return the height and width that `resize` gives an image of the size `now`."""
    sizes = [size] if isinstance(size, int) else list(size)
    if len(sizes) not in (1, 2):
        raise ValueError(f"size must be one number or height and width, got {size!r}")
    if len(sizes) == 2:
        if max_size is not None:
            raise ValueError(f"max_size is for a size of one number, but size is {size!r}")
        return sizes[0], sizes[1]
    short, long = sorted(now)
    new_short, new_long = sizes[0], int(sizes[0] * long / short)
    if max_size is not None:
        if max_size <= sizes[0]:
            raise ValueError(f"max_size must be above size, got {max_size} and {size!r}")
        if new_long > max_size:
            new_short, new_long = int(max_size * new_short / new_long), max_size
    return (new_short, new_long) if now[0] <= now[1] else (new_long, new_short)


def _resize_tensor(
    image: Tensor, size: tuple[int, int], mode: InterpolationMode, antialias: bool
) -> Tensor:
    if mode not in (*_NEAREST_MODES, *_SMOOTH_MODES):
        raise ValueError(f"tensors are resized by nearest, bilinear or bicubic, not {mode.value}")
    batch = image.reshape(1, -1, *image.shape[-2:])
    shape = (*image.shape[:-2], *size)
    if mode in _NEAREST_MODES:
        return interpolate(batch, size=size, mode=mode.value).reshape(*shape)
    exact = image.dtype in (dt.float32, dt.float64)
    resized = interpolate(
        batch if exact else batch.to(dt.float32),
        size=size,
        mode=mode.value,
        align_corners=False,
        antialias=antialias,
    )
    if not image.dtype.is_floating_point:
        resized = resized.round()
        if image.dtype is dt.uint8:
            resized = resized.clamp(0, 255)
    return resized.to(image.dtype).reshape(*shape)
