"""Crops, mirrors and borders of one image.

An image is a Pillow image, a tensor ``[..., height, width]`` or an array ``[height, width]`` or
``[height, width, channels]``.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from oneflow.data.vision.pillow import Image
from oneflow.functional.nn import padding as tensor_padding
from oneflow.tensor.tensor import Tensor
from oneflow.tensor.transfer import import_array
from oneflow.tuning.host_memory import require_host_memory

PADDING_MODES = ("constant", "edge", "reflect", "symmetric")


def is_pil_image(image: Any) -> bool:
    """Return whether `image` is a Pillow image; does not import Pillow."""
    module = sys.modules.get("PIL.Image")
    return module is not None and isinstance(image, module.Image)


def check_image(image: Any) -> None:
    """Raise TypeError unless it is an image of one of the three kinds."""
    if is_pil_image(image):
        return
    if not isinstance(image, Tensor | np.ndarray) or image.ndim < 2:
        raise TypeError(
            "img should be a Pillow image, a tensor [..., height, width] or an array [height, "
            "width(, channels)], "
            f"got {type(image).__name__}"
        )


def place_of(image: Tensor) -> Any:
    """Return a tensor's device, or the placement of a global tensor."""
    return image.placement if image.is_global else image.device


def constant_like(image: Tensor, array: np.ndarray) -> Tensor:
    """Return an array as a tensor on a tensor's device, whole on each of a global tensor."""
    return import_array(array, device=place_of(image))


def size_of(image: Any) -> tuple[int, int]:
    """Return height and width."""
    check_image(image)
    if is_pil_image(image):
        return image.height, image.width
    height, width = image.shape[-2:] if isinstance(image, Tensor) else image.shape[:2]
    return height, width


def pair(size: int | Sequence[int]) -> tuple[int, int]:
    """Return height and width from both or from one number for both.

    Raises:
        ValueError: there are more than two.
    """
    sizes = (size, size) if isinstance(size, int) else tuple(size)
    sizes = sizes * 2 if len(sizes) == 1 else sizes
    if len(sizes) != 2:
        raise ValueError(f"Please provide only two dimensions (h, w) for size, got {size!r}")
    return sizes


def get_image_num_channels(img: Any) -> int:
    """Return the number of channels: of bands of a Pillow image, 1 of an image without channels.

    Example:
        >>> import oneflow as flow
        >>> from oneflow.utils.vision.transforms import functional
        >>> functional.get_image_num_channels(flow.ones(3, 2, 4))
        3
    """
    check_image(img)
    if is_pil_image(img):
        return len(img.getbands())
    if img.ndim == 2:
        return 1
    return img.shape[-3] if isinstance(img, Tensor) else img.shape[2]


def get_image_size(img: Any) -> list[int]:
    """Return ``[width, height]``.

    Example:
        >>> import oneflow as flow
        >>> from oneflow.utils.vision.transforms import functional
        >>> functional.get_image_size(flow.ones(3, 2, 4))
        [4, 2]
    """
    height, width = size_of(img)
    return [width, height]


def get_dimensions(img: Any) -> list[int]:
    """Return ``[channels, height, width]``.

    Example:
        >>> import oneflow as flow
        >>> from oneflow.utils.vision.transforms import functional
        >>> functional.get_dimensions(flow.zeros(3, 4, 5))
        [3, 4, 5]
    """
    return [get_image_num_channels(img), *size_of(img)]


def crop(img: Any, top: int, left: int, height: int, width: int) -> Any:
    """Return a rectangle of the image; what lies outside of the image is black.

    Args:
        img: the image.
        top: the rectangle's first row; may be negative.
        left: the rectangle's first column; may be negative.
        height: number of rows.
        width: number of columns.

    Example:
        >>> import oneflow as flow
        >>> from oneflow.utils.vision.transforms import functional
        >>> image = flow.arange(12).reshape(1, 3, 4)
        >>> functional.crop(image, top=1, left=0, height=2, width=2)
        tensor([[[4, 5],
                 [8, 9]]], dtype=oneflow.int64)
    """
    full_height, full_width = size_of(img)
    if is_pil_image(img):
        return img.crop((left, top, left + width, top + height))
    missing = [
        max(-left, 0),
        max(-top, 0),
        max(left + width - full_width, 0),
        max(top + height - full_height, 0),
    ]
    if any(missing):
        img, left, top = pad(img, missing), max(left, 0), max(top, 0)
    rows, columns = slice(top, top + height), slice(left, left + width)
    return img[..., rows, columns] if isinstance(img, Tensor) else img[rows, columns]


def center_crop(img: Any, output_size: int | Sequence[int]) -> Any:
    """Return the rectangle in the middle; an image that is too small gets a black border.

    Args:
        img: the image.
        output_size: height and width, or one number for both.

    Example:
        >>> import oneflow as flow
        >>> from oneflow.utils.vision.transforms import functional
        >>> image = flow.arange(12).reshape(1, 3, 4)
        >>> functional.center_crop(image, 2)
        tensor([[[1, 2],
                 [5, 6]]], dtype=oneflow.int64)
    """
    (height, width), (wanted_height, wanted_width) = size_of(img), pair(output_size)
    return crop(
        img,
        _middle(height - wanted_height),
        _middle(width - wanted_width),
        wanted_height,
        wanted_width,
    )


def _middle(margin: int) -> int:
    # `round` makes the first part of an odd margin even; the larger part of an odd border is last.
    return round(margin / 2) if margin >= 0 else -(-margin // 2)


def five_crop(img: Any, size: int | Sequence[int]) -> tuple[Any, Any, Any, Any, Any]:
    """Return the four corners and the middle.

    Args:
        img: the image.
        size: height and width of each, or one number for both.

    Raises:
        ValueError: the image is smaller.

    Example:
        >>> import oneflow as flow
        >>> from oneflow.utils.vision.transforms import functional
        >>> image = flow.arange(12).reshape(1, 3, 4)
        >>> len(functional.five_crop(image, 2))
        5
    """
    (height, width), (h, w) = size_of(img), pair(size)
    if h > height or w > width:
        raise ValueError(f"Requested crop size {(h, w)} is bigger than input size {height, width}")
    return (
        crop(img, 0, 0, h, w),
        crop(img, 0, width - w, h, w),
        crop(img, height - h, 0, h, w),
        crop(img, height - h, width - w, h, w),
        center_crop(img, (h, w)),
    )


def ten_crop(img: Any, size: int | Sequence[int], vertical_flip: bool = False) -> tuple[Any, ...]:
    """Return the four corners and the middle, and the same of the mirrored image.

    Args:
        img: the image.
        size: height and width of each, or one number for both.
        vertical_flip: mirror upside down instead of left to right.

    Example:
        >>> import oneflow as flow
        >>> from oneflow.utils.vision.transforms import functional
        >>> image = flow.arange(12).reshape(1, 3, 4)
        >>> len(functional.ten_crop(image, 2))
        10
    """
    mirrored = vflip(img) if vertical_flip else hflip(img)
    return (*five_crop(img, size), *five_crop(mirrored, size))


def hflip(img: Any) -> Any:
    """Return the image mirrored left to right.

    Example:
        >>> import oneflow as flow
        >>> from oneflow.utils.vision.transforms import functional
        >>> functional.hflip(flow.tensor([[[1, 2, 3]]]))
        tensor([[[3, 2, 1]]], dtype=oneflow.int64)
    """
    check_image(img)
    if is_pil_image(img):
        return img.transpose(Image.Transpose.FLIP_LEFT_RIGHT)
    return img.flip(-1) if isinstance(img, Tensor) else img[:, ::-1]


def vflip(img: Any) -> Any:
    """Return the image mirrored upside down.

    Example:
        >>> import oneflow as flow
        >>> from oneflow.utils.vision.transforms import functional
        >>> functional.vflip(flow.tensor([[[1], [2]]]))
        tensor([[[2],
                 [1]]], dtype=oneflow.int64)
    """
    check_image(img)
    if is_pil_image(img):
        return img.transpose(Image.Transpose.FLIP_TOP_BOTTOM)
    return img.flip(-2) if isinstance(img, Tensor) else img[::-1]


def pad(
    img: Any, padding: int | Sequence[int], fill: Any = 0, padding_mode: str = "constant"
) -> Any:
    """Return the image with a border; a negative width cuts off instead.

    Args:
        img: the image.
        padding: width on all sides; of left/right and top/bottom; or of left, top, right, bottom.
        fill: value of a constant border: a number, or (not for tensors) one per channel.
        padding_mode: ``"constant"``, ``"edge"``, ``"reflect"`` or ``"symmetric"``.

    Raises:
        ValueError: another mode, or another number of widths.

    Example:
        >>> import oneflow as flow
        >>> from oneflow.utils.vision.transforms import functional
        >>> functional.pad(flow.tensor([[1, 2, 3]]), (2, 0), padding_mode="reflect").tolist()
        [[3, 2, 1, 2, 3, 2, 1]]
    """
    if padding_mode not in PADDING_MODES:
        raise ValueError(
            f"padding_mode should be one of {', '.join(PADDING_MODES)}, got {padding_mode!r}"
        )
    check_image(img)
    widths = _padding_widths(padding)
    if padding_mode == "constant":
        return _pad_constant(img, widths, fill)
    left, top, right, bottom = widths
    height, width = size_of(img)
    rows = _padding_indices(height, top, bottom, padding_mode)
    columns = _padding_indices(width, left, right, padding_mode)
    if isinstance(img, Tensor):
        taken = img.index_select(-2, constant_like(img, rows))
        return taken.index_select(-1, constant_like(img, columns))
    padded = np.asarray(img)[rows][:, columns]
    return like_pil(img, padded) if is_pil_image(img) else padded


def _padding_widths(sizes: int | Sequence[int]) -> tuple[int, int, int, int]:
    widths = [sizes] if isinstance(sizes, int) else list(sizes)
    if len(widths) in (1, 2):
        widths = [widths[0], widths[-1]] * 2
    if len(widths) != 4:
        raise ValueError(f"padding must be one number, or 2 or 4 numbers, got {sizes!r}")
    left, top, right, bottom = widths
    return left, top, right, bottom


def _pad_constant(image: Any, widths: tuple[int, int, int, int], fill: Any) -> Any:
    left, top, right, bottom = widths
    if isinstance(image, Tensor):
        return tensor_padding.pad(image, (left, right, top, bottom), "constant", fill)
    height, width = size_of(image)
    height, width = height + top + bottom, width + left + right
    if is_pil_image(image):
        padded = Image.new(image.mode, (width, height), pil_fill(image, fill))
        padded.paste(image, (left, top))
        if image.palette:
            padded.putpalette(image.palette)
        return padded
    padded = np.full((height, width, *image.shape[2:]), fill, image.dtype)
    inside = image[max(-top, 0) :, max(-left, 0) :][: height - max(top, 0), : width - max(left, 0)]
    padded[max(top, 0) :, max(left, 0) :][: len(inside), : inside.shape[1]] = inside
    return padded


def pil_fill(image: Any, fill: Any) -> Any:
    """Return a colour as Pillow wants it for `image`: one number per band, whole ones but for F.

    Raises:
        ValueError: there are not as many numbers as bands.
    """
    channels = len(image.getbands())
    numbers = tuple(fill) if isinstance(fill, Sequence) else (fill or 0,) * channels
    numbers = numbers * channels if len(numbers) == 1 else numbers
    if len(numbers) != channels:
        raise ValueError(f"fill has {len(numbers)} numbers, but the image has {channels} bands")
    if image.mode != "F":
        numbers = tuple(map(int, numbers))
    return numbers if channels > 1 else numbers[0]


def like_pil(image: Any, array: np.ndarray) -> Any:
    """Return pixels of the kind of a Pillow image as one, with its palette."""
    result = Image.fromarray(np.ascontiguousarray(array))
    if result.mode != image.mode:
        result = Image.frombytes(image.mode, result.size, result.tobytes())
    if image.palette:
        result.putpalette(image.palette)
    return result


def _padding_indices(length: int, before: int, after: int, mode: Any) -> np.ndarray:
    """Return which of `length` pixels stand in a row that is padded on both sides."""
    inside = np.arange(length)[max(-before, 0) : length - max(-after, 0)]
    require_host_memory("pad", len(inside) + max(before, 0) + max(after, 0))
    return np.pad(inside, (max(before, 0), max(after, 0)), mode)
