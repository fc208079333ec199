"""Operations on one image.

An image is a Pillow image, a tensor ``[..., height, width]`` or an array ``[height, width]`` or
``[height, width, channels]``.
"""

from __future__ import annotations

import enum
import functools
import math
import sys
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from oneflow.base import dtype as dt
from oneflow.base.dtype import DType
from oneflow.functional.nn import padding
from oneflow.functional.nn.interpolate import interpolate
from oneflow.tensor.tensor import Tensor
from oneflow.tensor.transfer import import_array


class InterpolationMode(enum.Enum):
    """The interpolation of new pixels from old ones."""

    NEAREST = "nearest"
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
_TENSOR_MODES = (InterpolationMode.NEAREST, InterpolationMode.BILINEAR, InterpolationMode.BICUBIC)
_PADDING_MODES = {"constant": "constant", "edge": "replicate", "reflect": "reflect"}
# Pillow modes whose pixels are not bytes.
_WIDE_MODES = {"I": np.int32, "F": np.float32, "I;16": np.int16}


def pillow() -> Any:
    """Pillow's `Image` module.

    Raises:
        ImportError: Pillow is not installed; says how to install it.
    """
    try:
        from PIL import Image  # noqa: PLC0415
    except ImportError as error:
        raise ImportError("images need Pillow: pip install 'oneflow-xla[vision]'") from error
    return Image


def is_pillow(image: Any) -> bool:
    """Return whether `image` is a Pillow image; does not import Pillow."""
    module = sys.modules.get("PIL.Image")
    return module is not None and isinstance(image, module.Image)


def check_image(image: Any) -> None:
    """Raise TypeError unless it is an image of one of the three kinds."""
    if is_pillow(image):
        return
    if not isinstance(image, Tensor | np.ndarray) or image.ndim < 2:
        raise TypeError(
            "img should be a Pillow image, a tensor [..., height, width] or an array [height, "
            "width(, channels)], "
            f"got {type(image).__name__}"
        )


def size_of(image: Any) -> tuple[int, int]:
    """Height and width."""
    check_image(image)
    if is_pillow(image):
        return image.height, image.width
    height, width = image.shape[-2:] if isinstance(image, Tensor) else image.shape[:2]
    return height, width


def crop(image: Any, top: int, left: int, height: int, width: int) -> Any:
    """A rectangle; what lies outside of the image is black."""
    full_height, full_width = size_of(image)
    if is_pillow(image):
        return image.crop((left, top, left + width, top + height))
    missing = [
        max(-left, 0),
        max(-top, 0),
        max(left + width - full_width, 0),
        max(top + height - full_height, 0),
    ]
    if any(missing):
        image, left, top = pad(image, missing), max(left, 0), max(top, 0)
    rows, columns = slice(top, top + height), slice(left, left + width)
    return image[..., rows, columns] if isinstance(image, Tensor) else image[rows, columns]


def center_crop(image: Any, size: tuple[int, int]) -> Any:
    """The rectangle of `size` in the middle."""
    height, width = size_of(image)
    top, left = round((height - size[0]) / 2), round((width - size[1]) / 2)
    return crop(image, top, left, *size)


def flip(image: Any, horizontal: bool) -> Any:
    """The image mirrored left to right, or upside down."""
    check_image(image)
    if is_pillow(image):
        modes = pillow().Transpose
        return image.transpose(modes.FLIP_LEFT_RIGHT if horizontal else modes.FLIP_TOP_BOTTOM)
    if isinstance(image, Tensor):
        return image.flip(-1 if horizontal else -2)
    return image[:, ::-1] if horizontal else image[::-1]


def pad(
    image: Any, padding_sizes: int | Sequence[int], fill: Any = 0, padding_mode: str = "constant"
) -> Any:
    """The image with a border.

    Args:
        image: the image.
        padding_sizes: of all sides; of left/right and top/bottom; or of left, top, right, bottom.
        fill: value of a constant border, one number or one per channel.
        padding_mode: ``"constant"``, ``"edge"`` or ``"reflect"``.
    """
    if padding_mode not in _PADDING_MODES:
        raise ValueError(
            f"padding_mode should be one of {', '.join(_PADDING_MODES)}, got {padding_mode!r}"
        )
    check_image(image)
    left, top, right, bottom = _padding_widths(padding_sizes)
    if isinstance(image, Tensor):
        return _pad_tensor(image, (left, right, top, bottom), fill, padding_mode)
    array = np.asarray(image)
    widths = ((top, bottom), (left, right), *((0, 0),) * (array.ndim - 2))
    if padding_mode != "constant":
        mode_name: Any = padding_mode
        padded = np.pad(array, widths, mode=mode_name)
    else:
        height, width = array.shape[:2]
        shape = (height + top + bottom, width + left + right, *array.shape[2:])
        padded = np.full(shape, fill, array.dtype)
        padded[top : top + height, left : left + width] = array
    return pillow().fromarray(padded).convert(image.mode) if is_pillow(image) else padded


def _padding_widths(sizes: int | Sequence[int]) -> tuple[int, int, int, int]:
    given = [sizes] if isinstance(sizes, int) else list(sizes)
    if len(given) in (1, 2):
        given = [given[0], given[-1]] * 2
    if len(given) != 4:
        raise ValueError(f"padding must be one number, or 2 or 4 numbers, got {sizes!r}")
    left, top, right, bottom = given
    return left, top, right, bottom


def _pad_tensor(image: Tensor, widths: tuple, fill: Any, mode: str) -> Tensor:
    if mode == "constant":
        return padding.pad(image, widths, "constant", fill)
    # The other modes want a batch.
    flat = image.reshape(1, -1, *image.shape[-2:])
    padded = padding.pad(flat, widths, _PADDING_MODES[mode])
    return padded.reshape(*image.shape[:-2], *padded.shape[-2:])


def interpolation_mode(given: Any) -> InterpolationMode:
    """An interpolation mode from itself, its name or Pillow's number.

    Raises:
        TypeError: it is none of these.
    """
    if isinstance(given, InterpolationMode):
        return given
    if isinstance(given, int) and given in _BY_NUMBER:
        return _BY_NUMBER[given]
    for mode in InterpolationMode:
        if given == mode.value:
            return mode
    raise TypeError(f"interpolation should be an InterpolationMode, got {given!r}")


def resize(image: Any, size: int | Sequence[int], interpolation: Any) -> Any:
    """The image in another size.

    Args:
        image: the image.
        size: height and width; one number is the length of the shorter side, and the form stays.
        interpolation: how new pixels come from old ones.
    """
    mode = interpolation_mode(interpolation)
    height, width = _target_size(size_of(image), size)
    if isinstance(image, Tensor):
        return _resize_tensor(image, (height, width), mode)
    mode_name = pillow().Resampling[mode.name]
    if is_pillow(image):
        return image.resize((width, height), mode_name)
    return np.asarray(pillow().fromarray(image).resize((width, height), mode_name))


def _target_size(now: tuple[int, int], size: int | Sequence[int]) -> tuple[int, int]:
    given = [size] if isinstance(size, int) else list(size)
    if len(given) == 2:
        return given[0], given[1]
    if len(given) != 1:
        raise ValueError(f"size must be one number or height and width, got {size!r}")
    height, width = now
    if height <= width:
        return given[0], int(given[0] * width / height)
    return int(given[0] * height / width), given[0]


def _resize_tensor(image: Tensor, size: tuple[int, int], mode: InterpolationMode) -> Tensor:
    if mode not in _TENSOR_MODES:
        raise ValueError(f"tensors are resized by nearest, bilinear or bicubic, not {mode.value}")
    batch = image.reshape(1, -1, *image.shape[-2:])
    numbers = batch if image.dtype.is_floating_point else batch.to(dt.float32)
    aligned = {} if mode is InterpolationMode.NEAREST else {"align_corners": False}
    resized = interpolate(numbers, size=size, mode=mode.value, **aligned)
    if not image.dtype.is_floating_point:
        resized = resized.round().clamp(0, 255).to(image.dtype)
    return resized.reshape(*image.shape[:-2], *size)


# --- between images and tensors


def channels_first(image: Any) -> np.ndarray:
    """The pixels of a Pillow image or an array as ``[channels, height, width]``."""
    if is_pillow(image):
        array = np.array(image, _WIDE_MODES.get(image.mode))
    elif isinstance(image, np.ndarray) and image.ndim in (2, 3):
        array = image
    else:
        raise TypeError(
            "pic should be a Pillow image or an array of 2 or 3 dimensions, got "
            f"{type(image).__name__}"
        )
    if array.ndim == 2:
        array = array[:, :, None]
    return np.ascontiguousarray(array.transpose(2, 0, 1))


def to_tensor(image: Any) -> Tensor:
    """The image as a tensor ``[channels, height, width]``; bytes become numbers in [0, 1]."""
    array = channels_first(image)
    if array.dtype == np.bool_:
        return import_array(array.astype(np.float32))
    if array.dtype == np.uint8:
        return import_array(array.astype(np.float32) / np.float32(255))
    return import_array(array)


def to_pillow(image: Any, mode: str | None = None) -> Any:
    """A tensor ``[channels, height, width]`` or an array as a Pillow image."""
    if isinstance(image, Tensor):
        array = image.numpy()
        if array.ndim == 3:
            array = array.transpose(1, 2, 0)
        if array.dtype.kind == "f" and mode != "F":
            array = (array * 255).astype(np.uint8)
    elif isinstance(image, np.ndarray):
        array = image
    else:
        raise TypeError(f"pic should be Tensor or ndarray, got {type(image).__name__}")
    if array.ndim == 3 and array.shape[2] == 1:
        array = array[:, :, 0]
    if array.ndim not in (2, 3) or (array.ndim == 3 and array.shape[2] > 4):
        raise ValueError(
            f"pic should have 1 to 4 channels and 2 or 3 dimensions, got {image.shape}"
        )
    converted = pillow().fromarray(np.ascontiguousarray(array))
    return converted if mode is None or converted.mode == mode else converted.convert(mode)


def normalize(image: Tensor, mean: Sequence[float], std: Sequence[float], inplace: bool) -> Tensor:
    """``(image - mean) / std`` per channel.

    Raises:
        TypeError: it is not a floating point tensor.
        ValueError: a standard deviation is 0, or the tensor has fewer than 3 dimensions.
    """
    if not isinstance(image, Tensor) or not image.dtype.is_floating_point:
        given = getattr(image, "dtype", type(image).__name__)
        raise TypeError(f"Input tensor should be a float tensor, got {given}")
    if image.ndim < 3:
        raise ValueError(
            f"Expected tensor to be a tensor image of size (..., C, H, W), got {image.shape}"
        )
    if not np.all(np.asarray(std, image.dtype.numpy)):
        raise ValueError(
            f"std evaluated to zero after conversion to {image.dtype}, leading to division by zero"
        )
    shift, factor = (
        _per_channel(_hashable(mean), image.dtype),
        _per_channel(_hashable(std), image.dtype),
    )
    if inplace:
        return image.sub_(shift).div_(factor)
    return (image - shift) / factor


def _hashable(numbers: Sequence[float] | float) -> Any:
    return tuple(map(float, numbers)) if isinstance(numbers, Iterable) else float(numbers)


@functools.lru_cache(maxsize=64)
def _per_channel(numbers: Any, dtype: DType) -> Tensor:
    """One number per channel as a tensor that broadcasts over an image; every image shares it."""
    array = np.asarray(numbers, dtype.numpy)
    return import_array(array.reshape(-1, 1, 1) if array.ndim == 1 else array)


def convert_dtype(image: Tensor, dtype: DType) -> Tensor:
    """The image in another dtype, with its numbers scaled so that white stays white.

    Raises:
        RuntimeError: large integers do not fit into a float without loss.
    """
    before = image.dtype
    if before is dtype or (before.is_floating_point and dtype.is_floating_point):
        return image.to(dtype)
    if before.is_floating_point:
        if before.itemsize < dtype.itemsize or (before is dt.float32 and dtype.itemsize >= 4):
            raise RuntimeError(f"The cast from {before} to {dtype} cannot be performed safely.")
        return (image * (_largest(dtype) + 1 - 1e-3)).to(dtype)
    if dtype.is_floating_point:
        return image.to(dtype) / _largest(before)
    if _largest(before) > _largest(dtype):
        return (image // ((_largest(before) + 1) // (_largest(dtype) + 1))).to(dtype)
    return image.to(dtype) * ((_largest(dtype) + 1) // (_largest(before) + 1))


def _largest(dtype: DType) -> int:
    integer: Any = dtype.numpy
    return 1 if dtype is dt.bool_ else int(np.iinfo(integer).max)


def area_and_ratio(
    image: Any, scale: Sequence[float], ratio: Sequence[float], random: np.random.Generator
) -> tuple[int, int, int, int]:
    """A random rectangle (top, left, height, width) with area and form in the given ranges."""
    height, width = size_of(image)
    low, high = math.log(ratio[0]), math.log(ratio[1])
    for _ in range(10):
        area = height * width * random.uniform(scale[0], scale[1])
        form = math.exp(random.uniform(low, high))
        w, h = round(math.sqrt(area * form)), round(math.sqrt(area / form))
        if 0 < w <= width and 0 < h <= height:
            top, left = random.integers(height - h + 1), random.integers(width - w + 1)
            return int(top), int(left), h, w
    # Nothing fits: the largest rectangle in the middle whose form is allowed.
    form = min(max(width / height, ratio[0]), ratio[1])
    w, h = min(width, round(height * form)), min(height, round(width / form))
    return (height - h) // 2, (width - w) // 2, h, w
