"""Functions on batches of images: `oneflow.image`, and the modules of `oneflow.nn.image`.

Images of different sizes are a `TensorBuffer` of arrays (height, width, channels); images of one
size may also be a tensor (N, height, width, channels).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from oneflow.base import dtype as dt
from oneflow.base.dtype import DType
from oneflow.data.readers.buffers import tensor_to_tensor_buffer
from oneflow.data.readers.image_values import (
    channels_of,
    decode_image,
    flip_image,
    random_crop_of,
    resize_image,
    scaled_size,
)
from oneflow.data.readers.streams import random_order
from oneflow.data.readers.tensor_buffer import TensorBuffer, dense, each_of
from oneflow.data.vision.image import constant_like
from oneflow.functional.elementwise.clamp import where
from oneflow.tensor.tensor import Tensor

Images = TensorBuffer | Tensor
_OLD_TYPES = {"Linear": "bilinear", "NN": "nearest", "Cubic": "bicubic"}
AREA, ASPECT_RATIO = (0.08, 1.0), (0.75, 1.333333)


def decode(
    images_bytes_buffer: TensorBuffer,
    dtype: DType = dt.uint8,
    color_space: str = "BGR",
    name: str | None = None,
) -> TensorBuffer:
    """Return the images in files of bytes.

    Args:
        images_bytes_buffer: JPEG, PNG or other files that Pillow reads.
        dtype: the dtype of the images.
        color_space: "BGR", "RGB" or "GRAY".
        name: accepted.

    Raises:
        ValueError: one of them is no image.

    Example:
        >>> import io
        >>> from PIL import Image
        >>> import oneflow as flow
        >>> file = io.BytesIO()
        >>> Image.new("RGB", (6, 4)).save(file, "PNG")
        >>> content = flow.tensor([list(file.getvalue())], dtype=flow.uint8)
        >>> images = flow.image.decode(flow.tensor_to_tensor_buffer(content, instance_dims=1))
        >>> images = flow.image.flip(flow.image.random_crop(images), 1)
        >>> flow.image.resize(images, (3, 2))[0].shape
        oneflow.Size([1, 2, 3, 3])
        >>> larger, _, _ = flow.image.target_resize(images, 8, max_size=16)
        >>> flow.image.batch_align(larger, (16, 16, 3), flow.float32, 16).shape
        oneflow.Size([1, 16, 16, 3])
    """
    return TensorBuffer(
        lambda files: [decode_image(content, color_space).astype(dtype.numpy) for content in files],
        images_bytes_buffer,
    )


def random_crop(
    input_blob: TensorBuffer,
    num_attempts: int = 10,
    seed: int | None = None,
    random_area: Sequence[float] | None = None,
    random_aspect_ratio: Sequence[float] | None = None,
    name: str = "ImageRandomCrop",
) -> TensorBuffer:
    """Return a random rectangle of each image.

    Args:
        input_blob: images.
        num_attempts: draws before the largest rectangle in the middle is taken.
        seed: where random numbers start; None and -1 take it from `oneflow.manual_seed`.
        random_area: range of the rectangle's share of the area.
        random_aspect_ratio: range of its width divided by its height.
        name: accepted.
    """
    return random_crop_all(
        input_blob, random_order(seed), num_attempts, random_area, random_aspect_ratio
    )


def random_crop_all(
    images: TensorBuffer,
    random: np.random.Generator,
    attempts: int = 10,
    area: Sequence[float] | None = None,
    aspect_ratio: Sequence[float] | None = None,
) -> TensorBuffer:
    """Return a random rectangle of each image, by these random numbers; see `random_crop`."""
    share, ratio = area or AREA, aspect_ratio or ASPECT_RATIO
    return TensorBuffer(
        lambda arrays: [random_crop_of(array, random, share, ratio, attempts) for array in arrays],
        images,
    )


def flip(image: TensorBuffer, flip_code: int | Tensor, name: str | None = None) -> TensorBuffer:
    """Return the images, mirrored.

    Args:
        image: images.
        flip_code: 0 for no change, 1 left to right, 16 upside down, 17 both; one, or one for each.
        name: accepted.

    Raises:
        ValueError: a code is something else.
    """
    return TensorBuffer(
        lambda *batch: list(map(flip_image, *batch)), image, each_of(flip_code, image)
    )


def normalize(
    image: TensorBuffer, std: Sequence[float], mean: Sequence[float], name: str | None = None
) -> TensorBuffer:
    """Return ``(image - mean) / std``, float32, with a number per channel.

    Example:
        >>> import oneflow as flow
        >>> images = flow.tensor_to_tensor_buffer(flow.ones(1, 2, 2, 3), instance_dims=3)
        >>> normal = flow.image.normalize(images, std=(2, 2, 2), mean=(0, 1, 2))
        >>> flow.tensor_buffer_to_tensor(normal, flow.float32, (2, 2, 3))[0, 0, 0].tolist()
        [0.5, 0.0, -0.5]
    """
    scale, shift = np.asarray(std, np.float32), np.asarray(mean, np.float32)
    return TensorBuffer(
        lambda images: [(array.astype(np.float32) - shift) / scale for array in images], image
    )


@dataclass(frozen=True)
class ResizeOptions:
    """The size that `resize` gives images; see there."""

    target_size: int | Sequence[int] | None = None
    min_size: int | None = None
    max_size: int | None = None
    keep_aspect_ratio: bool = False
    resize_side: str = "shorter"
    channels: int = 3
    dtype: DType | None = None
    interpolation_type: str = "auto"

    def checked(self) -> ResizeOptions:
        """Return this.

        Raises:
            ValueError: there is no size.
        """
        if self.target_size is None or (
            self.keep_aspect_ratio and not isinstance(self.target_size, int)
        ):
            raise ValueError(
                "`target_size` must be (width, height), or with `keep_aspect_ratio` the length of "
                f"one side, got {self.target_size!r}"
            )
        return self

    def size_of(self, image: np.ndarray) -> tuple[int, int]:
        """Return the width and height that an image gets."""
        height, width = image.shape[:2]
        if isinstance(self.target_size, int) and self.keep_aspect_ratio:
            return scaled_size(
                width,
                height,
                self.target_size,
                self.min_size or 0,
                self.max_size or 0,
                self.resize_side,
            )
        return self.fixed_size

    @property
    def fixed_size(self) -> tuple[int, int]:
        """The width and height of all images, unless their form is kept."""
        size = self.target_size
        width, height = (size, size) if isinstance(size, int) else tuple(size or ())
        return width, height

    def fixed(self, images: TensorBuffer) -> Tensor:
        """Return images that all get one size, as a tensor (N, height, width, channels)."""
        return self._tensor(self._resized(images))

    def _resized(self, images: TensorBuffer) -> TensorBuffer:
        def resize_all(arrays: list) -> list:
            kind, dtype = self.interpolation_type, self.dtype
            resized = [resize_image(array, *self.size_of(array), kind) for array in arrays]
            return resized if dtype is None else [array.astype(dtype.numpy) for array in resized]

        return TensorBuffer(resize_all, images)

    def __call__(self, image: Images) -> tuple[Images, Tensor, Tensor | None]:
        """Return the images, their scale and, if their form is kept, their new sizes."""
        buffer = _as_buffer(image)

        def scale(image: np.ndarray) -> np.ndarray:
            return np.divide(self.size_of(image), image.shape[1::-1], dtype=np.float32)

        resized = self._resized(buffer)
        scales = dense(
            TensorBuffer(lambda images: list(map(scale, images)), buffer), (2,), dt.float32
        )
        if self.keep_aspect_ratio:
            sizes = TensorBuffer(lambda images: list(map(self.size_of, images)), buffer)
            return resized, scales, dense(sizes, (2,), dt.int32)
        return self._tensor(resized), scales, None

    def _tensor(self, resized: TensorBuffer) -> Tensor:
        width, height = self.fixed_size
        return dense(resized, (height, width, self.channels), self.dtype or dt.uint8)


def _as_buffer(image: Images) -> TensorBuffer:
    return tensor_to_tensor_buffer(image, 3) if isinstance(image, Tensor) else image


@dataclass(frozen=True)
class OldResizeOptions:
    """The arguments that `resize` had in OneFlow 0.2; see there."""

    color_space: str | None = None
    interp_type: str | None = None
    resize_shorter: int = 0
    resize_x: int = 0
    resize_y: int = 0

    def update(self, options: ResizeOptions) -> ResizeOptions:
        """Return the size that these arguments beside the present ones mean.

        Raises:
            ValueError: there is no size, or `interp_type` is unknown.
        """
        if self.color_space is not None:
            options = replace(options, channels=channels_of(self.color_space))
        if self.interp_type is not None:
            if self.interp_type not in _OLD_TYPES:
                raise ValueError(
                    f"`interp_type` must be one of {', '.join(_OLD_TYPES)}, "
                    f"got {self.interp_type!r}"
                )
            options = replace(options, interpolation_type=_OLD_TYPES[self.interp_type])
        if self.resize_shorter > 0:
            options = replace(options, target_size=self.resize_shorter, keep_aspect_ratio=True)
        elif self.resize_x > 0 and self.resize_y > 0:
            size = self.resize_x, self.resize_y
            options = replace(options, target_size=size, keep_aspect_ratio=False)
        return options.checked()


def resize(
    image: Images,
    target_size: int | Sequence[int] | None = None,
    min_size: int | None = None,
    max_size: int | None = None,
    keep_aspect_ratio: bool = False,
    resize_side: str = "shorter",
    channels: int = 3,
    dtype: DType | None = None,
    interpolation_type: str = "auto",
    name: str | None = None,
    color_space: str | None = None,
    interp_type: str | None = None,
    resize_shorter: int = 0,
    resize_x: int = 0,
    resize_y: int = 0,
) -> Any:
    """Return the images in another size.

    Args:
        image: images.
        target_size: ``(width, height)``, or one number for both; with `keep_aspect_ratio` the
            length of one side.
        min_size: least length of the shorter side, where the longer has the target size.
        max_size: greatest length of the longer side, where the shorter has the target size.
        keep_aspect_ratio: keep the form of each image.
        resize_side: "shorter" or "longer", the side that gets the target size.
        channels: the number of channels of all images.
        dtype: the dtype of the result; that of the images by default.
        interpolation_type: see `resize_image`.
        name: accepted.
        color_space: the color space of the images, as OneFlow 0.2 had it, like the arguments that
            follow.
        interp_type: "Linear", "NN" or "Cubic".
        resize_shorter: length of the shorter side.
        resize_x: width.
        resize_y: height.

    Returns:
        The images, as a tensor unless `keep_aspect_ratio`; float32 (N, 2), their new width and
        height divided by the old ones; and, with `keep_aspect_ratio`, int32 (N, 2), these. With
        arguments of OneFlow 0.2 the images alone.

    Raises:
        ValueError: there is no size, or an argument has another value than these.
    """
    old = OldResizeOptions(color_space, interp_type, resize_shorter, resize_x, resize_y)
    options = ResizeOptions(
        target_size,
        min_size,
        max_size,
        keep_aspect_ratio,
        resize_side,
        channels,
        dtype,
        interpolation_type,
    )
    result = old.update(options)(image)
    return result if old == OldResizeOptions() else result[0]


def target_resize(
    images: TensorBuffer,
    target_size: int,
    min_size: int | None = None,
    max_size: int | None = None,
    resize_side: str = "shorter",
    interpolation_type: str = "auto",
    name: str | None = None,
) -> tuple[Images, Tensor, Tensor | None]:
    """Return the images with one side of a length; see `resize` with `keep_aspect_ratio`."""
    return ResizeOptions(
        target_size,
        min_size,
        max_size,
        True,
        resize_side,
        interpolation_type=interpolation_type,
    )(images)


def batch_align(
    images: TensorBuffer,
    shape: Sequence[int],
    dtype: DType,
    alignment: int,
    name: str | None = None,
) -> Tensor:
    """Return images in the upper left corners of equal rectangles, with zeros around them.

    Args:
        images: images.
        shape: height, width and channels that no image exceeds. In a graph the result has them.
        dtype: the dtype of the result.
        alignment: outside of graphs, height and width are the least multiples that are enough.
        name: accepted.

    Raises:
        ValueError: an image is larger.

    Returns:
        A tensor (N, height, width, channels).
    """

    def align(arrays: list) -> list:
        sizes = np.array([array.shape[:2] for array in arrays]).max(axis=0)
        size = shape[:2] if images.is_deferred else -(-sizes // alignment) * alignment
        aligned = []
        for array in arrays:
            if any(np.greater(array.shape, shape)):
                raise ValueError(f"an image of shape {array.shape} is larger than {tuple(shape)}")
            padded = np.zeros((*size, array.shape[2]), dtype.numpy)
            padded[: array.shape[0], : array.shape[1]] = array
            aligned.append(padded)
        return aligned

    return dense(TensorBuffer(align, images), shape if images.is_deferred else None, dtype)


@dataclass(frozen=True)
class MirrorNormalization:
    """A crop, a mirror and a normalisation; see `crop_mirror_normalize`."""

    color_space: str = "BGR"
    output_layout: str = "NCHW"
    crop_h: int = 0
    crop_w: int = 0
    crop_pos_y: float = 0.5
    crop_pos_x: float = 0.5
    mean: Sequence[float] = (0.0,)
    std: Sequence[float] = (1.0,)
    output_dtype: DType = dt.float32

    def __post_init__(self) -> None:
        if self.output_layout not in ("NCHW", "NHWC"):
            raise ValueError(
                f"`output_layout` must be 'NCHW' or 'NHWC', got {self.output_layout!r}"
            )
        channels_of(self.color_space)

    def _crop(self, image: Any, height: int, width: int) -> Any:
        """Return the rectangle of an array (height, width, channels) or a tensor of them."""
        crop_h, crop_w = self.crop_h or height, self.crop_w or width
        if crop_h > height or crop_w > width:
            raise ValueError(
                f"cannot crop {crop_h} x {crop_w} out of an image of {height} x {width}"
            )
        top, left = (
            int(self.crop_pos_y * (height - crop_h)),
            int(self.crop_pos_x * (width - crop_w)),
        )
        return image[..., top : top + crop_h, left : left + crop_w, :]

    def __call__(self, images: Images, mirror: Tensor | None = None) -> Tensor:
        """Return the images as a tensor."""
        if isinstance(images, TensorBuffer):
            buffer = TensorBuffer(lambda all: [self._crop(i, *i.shape[:2]) for i in all], images)
            channels = channels_of(self.color_space)
            shape = (self.crop_h, self.crop_w, channels) if self.crop_h and self.crop_w else None
            pixels = dense(buffer, shape, dt.uint8)
        else:
            pixels = self._crop(images, *images.shape[1:3])
        if mirror is not None:
            pixels = where(mirror.reshape(-1, 1, 1, 1) != 0, pixels.flip(2), pixels)
        shift, scale = (
            constant_like(pixels, np.asarray(numbers, np.float32))
            for numbers in (self.mean, self.std)
        )
        normal = (pixels.to(dt.float32) - shift) / scale
        if self.output_layout == "NCHW":
            normal = normal.permute(0, 3, 1, 2)
        return normal.to(self.output_dtype)


def crop_mirror_normalize(
    input_blob: Images,
    mirror_blob: Tensor | None = None,
    color_space: str = "BGR",
    output_layout: str = "NCHW",
    crop_h: int = 0,
    crop_w: int = 0,
    crop_pos_y: float = 0.5,
    crop_pos_x: float = 0.5,
    mean: Sequence[float] = (0.0,),
    std: Sequence[float] = (1.0,),
    output_dtype: DType = dt.float32,
    name: str | None = None,
) -> Tensor:
    """Return a rectangle of each image, mirrored if a coin says so, and normalised.

    Args:
        input_blob: uint8 images.
        mirror_blob: (N,), 1 for images to mirror left to right; see `oneflow.random.coin_flip`.
        color_space: "BGR", "RGB" or "GRAY".
        output_layout: "NCHW" or "NHWC".
        crop_h: height of the rectangle; 0 for all.
        crop_w: width of the rectangle; 0 for all.
        crop_pos_y: from 0, at the top, to 1.
        crop_pos_x: from 0, at the left, to 1.
        mean: one number, or one per channel.
        std: likewise; ``(pixel - mean) / std`` is the result.
        output_dtype: the dtype of the result.
        name: accepted.

    Returns:
        A tensor (N, channels, height, width) or (N, height, width, channels).

    Raises:
        ValueError: an image is smaller than the rectangle, or images differ in size without it.

    Example:
        >>> import oneflow as flow
        >>> images = flow.arange(12, dtype=flow.uint8).reshape(1, 2, 2, 3)
        >>> mirror = flow.ones(1, dtype=flow.int8)
        >>> flow.image.crop_mirror_normalize(images, mirror, std=[3.0])[0, 0].tolist()
        [[1.0, 0.0], [3.0, 2.0]]
    """
    normalization = MirrorNormalization(
        color_space,
        output_layout,
        crop_h,
        crop_w,
        crop_pos_y,
        crop_pos_x,
        mean,
        std,
        output_dtype,
    )
    return normalization(input_blob, mirror_blob)
