"""Conversions between Pillow images, arrays and tensors, and of the numbers in them."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from oneflow.base import dtype as dt
from oneflow.base.dtype import DType
from oneflow.data.vision.image import is_pil_image, place_of
from oneflow.data.vision.pillow import Image
from oneflow.runtime.memory import empty_aligned
from oneflow.tensor.tensor import Tensor
from oneflow.tensor.transfer import import_array, wrap_numpy

# The Pillow modes that pixels may stand for, the usual one first: by dtype of one channel, and by
# the number of channels of bytes.
_MODES_OF_ONE_CHANNEL = {"uint8": "L", "int16": "I;16", "int32": "I", "float32": "F"}
_MODES_OF_BYTES = {2: ("LA",), 3: ("RGB", "YCbCr", "HSV"), 4: ("RGBA", "CMYK", "RGBX")}


def pil_to_tensor(pic: Any) -> Tensor:
    """Return a Pillow image as a tensor ``[C, H, W]``, with its numbers as they are.

    Numbers of a palette image are places in the palette.

    Raises:
        TypeError: it is not a Pillow image.

    Example:
        >>> from PIL import Image
        >>> from oneflow.utils.vision.transforms import functional
        >>> functional.pil_to_tensor(Image.new("L", (2, 1), 255))
        tensor([[[255, 255]]], dtype=oneflow.uint8)
    """
    if not is_pil_image(pic):
        raise TypeError(f"pic should be PIL Image. Got {type(pic).__name__}")
    return import_array(np.ascontiguousarray(_channels_first(np.asarray(pic))))


def to_tensor(pic: Any) -> Tensor:
    """Return a Pillow image or an array ``[H, W(, C)]`` as a tensor ``[C, H, W]``.

    Bytes, and images of single bits, become numbers in [0, 1]; others stay as they are, images of
    16 bits as int16.

    Raises:
        TypeError: it is neither.

    Example:
        >>> from PIL import Image
        >>> from oneflow.utils.vision.transforms import functional
        >>> functional.to_tensor(Image.new("L", (2, 1), 255))
        tensor([[[1., 1.]]], dtype=oneflow.float32)
    """
    if is_pil_image(pic):
        # torchvision's choice of int16 is from before there were tensors of uint16.
        pic = np.asarray(pic, {"I;16": np.int16, "1": np.float32}.get(pic.mode))
    array = _channels_first(pic)
    if array.dtype != np.uint8:
        return import_array(np.ascontiguousarray(array))
    # Transposed, converted and divided in one pass.
    numbers = empty_aligned(array.shape, np.dtype(np.float32))
    return wrap_numpy(np.divide(array, np.float32(255), out=numbers))


def _channels_first(array: Any) -> np.ndarray:
    """Return a view ``[C, H, W]`` of an array ``[H, W(, C)]``."""
    if not isinstance(array, np.ndarray) or array.ndim not in (2, 3):
        raise TypeError(
            "pic should be a Pillow image or an array of 2 or 3 dimensions, got "
            f"{type(array).__name__}"
        )
    if array.ndim == 2:
        array = array[:, :, None]
    return array.transpose(2, 0, 1)


def to_pil_image(pic: Any, mode: str | None = None) -> Any:
    """Return a tensor ``[C, H, W]`` or ``[H, W]``, or an array ``[H, W(, C)]``, as a Pillow image.

    Args:
        pic: the pixels; floating point numbers are in [0, 1], unless `mode` is ``"F"``.
        mode: what the pixels mean in Pillow's words, by default grey, grey with opacity, RGB or
            RGBA, by the number of channels.

    Raises:
        TypeError: it is neither tensor nor array, or Pillow has no such pixels.
        ValueError: more than four channels, or not 2 or 3 dimensions, or `mode` does not fit.

    Example:
        >>> import oneflow as flow
        >>> from oneflow.utils.vision.transforms import functional
        >>> functional.to_pil_image(flow.zeros(3, 2, 4)).size
        (4, 2)
    """
    if not isinstance(pic, Tensor | np.ndarray):
        raise TypeError(f"pic should be Tensor or ndarray, got {type(pic).__name__}")
    array = pic.numpy() if isinstance(pic, Tensor) else pic
    if array.ndim not in (2, 3):
        raise ValueError(f"pic should be 2/3 dimensional. Got {array.ndim} dimensions.")
    if isinstance(pic, Tensor) and array.ndim == 3:
        array = array.transpose(1, 2, 0)
    array = array[:, :, None] if array.ndim == 2 else array
    if array.shape[2] > 4:
        raise ValueError(f"pic should not have > 4 channels. Got {array.shape[2]} channels.")
    if array.dtype.kind == "f" and mode != "F":
        array = (array * 255).astype(np.uint8)
    allowed = _allowed_modes(array)
    if mode is not None and mode not in allowed:
        raise ValueError(
            f"mode must be one of {allowed} for {array.shape[2]} channels of "
            f"{array.dtype}, but got {mode!r}"
        )
    size = array.shape[1], array.shape[0]
    return Image.frombytes(mode or allowed[0], size, np.ascontiguousarray(array).tobytes())


def _allowed_modes(array: np.ndarray) -> tuple[str, ...]:
    if array.shape[2] == 1 and array.dtype.name in _MODES_OF_ONE_CHANNEL:
        return (_MODES_OF_ONE_CHANNEL[array.dtype.name],)
    if array.dtype == np.uint8 and array.shape[2] in _MODES_OF_BYTES:
        return _MODES_OF_BYTES[array.shape[2]]
    raise TypeError(f"Input type {array.dtype} with {array.shape[2]} channels is not supported")


def normalize(
    tensor: Tensor, mean: Sequence[float], std: Sequence[float], inplace: bool = False
) -> Tensor:
    """Return ``(image - mean) / std`` per channel.

    Args:
        tensor: a floating point image ``[..., C, H, W]``.
        mean: one number per channel.
        std: one number per channel.
        inplace: change the tensor itself.

    Raises:
        TypeError: it is not a floating point tensor.
        ValueError: a standard deviation is 0, or the tensor has fewer than 3 dimensions.

    Example:
        >>> import oneflow as flow
        >>> from oneflow.utils.vision.transforms import functional
        >>> functional.normalize(flow.ones(1, 1, 2), mean=[0.5], std=[0.25])
        tensor([[[2., 2.]]], dtype=oneflow.float32)
    """
    if not isinstance(tensor, Tensor) or not tensor.dtype.is_floating_point:
        actual = getattr(tensor, "dtype", type(tensor).__name__)
        raise TypeError(f"Input tensor should be a float tensor, got {actual}")
    if tensor.ndim < 3:
        raise ValueError(
            f"Expected tensor to be a tensor image of size (..., C, H, W), got {tensor.shape}"
        )
    if not np.all(np.asarray(std, tensor.dtype.numpy)):
        raise ValueError(
            f"std evaluated to zero after conversion to {tensor.dtype}, leading to division by zero"
        )
    place = place_of(tensor)
    shift = _per_channel(_hashable(mean), tensor.dtype, place)
    factor = _per_channel(_hashable(std), tensor.dtype, place)
    if inplace:
        return tensor.sub_(shift).div_(factor)
    return (tensor - shift) / factor


def _hashable(numbers: Sequence[float] | float) -> Any:
    return tuple(map(float, numbers)) if isinstance(numbers, Iterable) else float(numbers)


@functools.lru_cache(maxsize=64)
def _per_channel(numbers: Any, dtype: DType, place: Any) -> Tensor:
    """One number per channel as a tensor that broadcasts over an image; every image shares it."""
    array = np.asarray(numbers, dtype.numpy)
    return import_array(array.reshape(-1, 1, 1) if array.ndim == 1 else array, device=place)


def convert_image_dtype(image: Tensor, dtype: DType = dt.float32) -> Tensor:
    """Return the image in another dtype, with its numbers scaled so that white stays white.

    Raises:
        TypeError: no tensor, such as a Pillow image.
        RuntimeError: large integers do not fit into a float without loss.

    Example:
        >>> import oneflow as flow
        >>> from oneflow.utils.vision.transforms import functional
        >>> image = flow.tensor([[[0, 255]]], dtype=flow.uint8)
        >>> functional.convert_image_dtype(image)
        tensor([[[0., 1.]]], dtype=oneflow.float32)
    """
    if not isinstance(image, Tensor):
        raise TypeError(
            f"`image` must be a tensor, got {type(image).__name__}; `pil_to_tensor` makes one"
        )
    before = image.dtype
    if before is dtype or (before.is_floating_point and dtype.is_floating_point):
        return image.to(dtype)
    if before.is_floating_point:
        if dtype.itemsize >= max(before.itemsize, 4):
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
