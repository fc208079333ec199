"""Modules of `oneflow.nn.image`, and the last step of a pipeline of images."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from oneflow.base import dtype as dt
from oneflow.base.dtype import DType
from oneflow.data.readers import images
from oneflow.data.readers.tensor_buffer import TensorBuffer
from oneflow.module.module import Module
from oneflow.tensor.tensor import Tensor


class ImageDecode(Module):
    """The images in files of bytes; see `oneflow.image.decode`.

    Args:
        dtype: the dtype of the images.
        color_space: "BGR", "RGB" or "GRAY".
    """

    def __init__(self, dtype: DType = dt.uint8, color_space: str = "BGR") -> None:
        super().__init__()
        self.dtype, self.color_space = dtype, color_space

    def forward(self, input: TensorBuffer) -> TensorBuffer:
        """Return the images."""
        return images.decode(input, self.dtype, self.color_space)


class ImageFlip(Module):
    """Images, mirrored; see `oneflow.image.flip`."""

    def forward(self, input: TensorBuffer, flip_code: Tensor | int) -> TensorBuffer:
        """Return the images; a code is 0 for no change, 1, 16 or 17."""
        return images.flip(input, flip_code)


class ImageNormalize(Module):
    """``(image - mean) / std``; see `oneflow.image.normalize`.

    Args:
        std: one number per channel.
        mean: one number per channel.
    """

    def __init__(self, std: Sequence[float], mean: Sequence[float]) -> None:
        super().__init__()
        self.std, self.mean = std, mean

    def forward(self, input: TensorBuffer) -> TensorBuffer:
        """Return float32 images."""
        return images.normalize(input, self.std, self.mean)


class ImageBatchAlign(Module):
    """Images in equal rectangles; see `oneflow.image.batch_align`.

    Args:
        shape: height, width and channels that no image exceeds.
        dtype: the dtype of the result.
        alignment: height and width are multiples of it.
    """

    def __init__(self, shape: Sequence[int], dtype: DType, alignment: int) -> None:
        super().__init__()
        self.shape, self.dtype, self.alignment = shape, dtype, alignment

    def forward(self, input: TensorBuffer) -> Tensor:
        """Return a tensor (N, height, width, channels)."""
        return images.batch_align(input, self.shape, self.dtype, self.alignment)


class ImageResize(Module):
    """Images in another size; see `oneflow.image.resize`, which has the same arguments.

    Example:
        >>> import oneflow as flow
        >>> images = flow.zeros(1, 4, 6, 3, dtype=flow.uint8)
        >>> resized, scale, _ = flow.nn.image.Resize((3, 2))(images)
        >>> resized.shape, scale.tolist()
        (oneflow.Size([1, 2, 3, 3]), [[0.5, 0.5]])
    """

    def __init__(
        self,
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
    ) -> None:
        super().__init__()
        old = images.OldResizeOptions(color_space, interp_type, resize_shorter, resize_x, resize_y)
        self.options = old.update(
            images.ResizeOptions(
                target_size,
                min_size,
                max_size,
                keep_aspect_ratio,
                resize_side,
                channels,
                dtype,
                interpolation_type,
            )
        )

    def forward(self, input: images.Images) -> Any:
        """Return the images, their scales, and their sizes or None."""
        return self.options(input)


class CropMirrorNormalize(Module):
    """A rectangle of each image, mirrored and normalised: `image.crop_mirror_normalize`.

    Args:
        color_space: "BGR", "RGB" or "GRAY".
        output_layout: "NCHW" or "NHWC".
        crop_h: height of the rectangle; 0 for all.
        crop_w: width of the rectangle; 0 for all.
        crop_pos_y: from 0, at the top, to 1.
        crop_pos_x: from 0, at the left, to 1.
        mean: one number, or one per channel.
        std: likewise.
        output_dtype: the dtype of the result.

    Shape:
        input: ``(N, H, W, C)``, or a list of images.
        mirror: ``(N)``, 1 for the images to mirror.
        output: ``(N, C, crop_h, crop_w)``, or with the channels last for ``"NHWC"``.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.CropMirrorNormalize(crop_h=2, crop_w=2)(flow.zeros(1, 4, 4, 3)).shape
        oneflow.Size([1, 3, 2, 2])
    """

    def __init__(
        self,
        color_space: str = "BGR",
        output_layout: str = "NCHW",
        crop_h: int = 0,
        crop_w: int = 0,
        crop_pos_y: float = 0.5,
        crop_pos_x: float = 0.5,
        mean: Sequence[float] = (0.0,),
        std: Sequence[float] = (1.0,),
        output_dtype: DType = dt.float32,
    ) -> None:
        super().__init__()
        self.options = images.MirrorNormalization(
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

    def forward(self, input: images.Images, mirror: Tensor | None = None) -> Tensor:
        """Return the images as a tensor; `mirror` (N,) has 1 for those to mirror."""
        return self.options(input, mirror)
