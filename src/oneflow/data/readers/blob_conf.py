"""`oneflow.data.decode_ofrecord` of OneFlow 0.2: records and how to decode them in one call."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from oneflow.base.dtype import DType
from oneflow.data.readers import images, records
from oneflow.data.readers.coin_flip import coin_flip
from oneflow.data.readers.reader_functions import ofrecord_loader
from oneflow.data.readers.tensor_buffer import TensorBuffer
from oneflow.data.vision.image import constant_like
from oneflow.functional.elementwise.clamp import where
from oneflow.tensor.tensor import Tensor


@dataclass(frozen=True)
class ImagePreprocessor:
    """A change of the pixels of an image.

    Attributes:
        preprocessor: "bgr2rgb", or "mirror": mirror half of the images left to right.

    Raises:
        ValueError: it is something else.
    """

    preprocessor: str

    def __post_init__(self) -> None:
        if self.preprocessor.lower() not in ("bgr2rgb", "mirror"):
            raise ValueError(f"preprocessor must be 'bgr2rgb' or 'mirror', got {self.preprocessor}")

    def is_rgb(self) -> bool:
        """Return True for "bgr2rgb"."""
        return self.preprocessor.lower() == "bgr2rgb"

    def is_mirror(self) -> bool:
        """Return True for "mirror"."""
        return self.preprocessor.lower() == "mirror"


@dataclass(frozen=True)
class ImageResizePreprocessor:
    """The size that images get.

    Attributes:
        width: the width of the results.
        height: the height of the results.
    """

    width: int
    height: int


@dataclass(frozen=True)
class NormByChannelPreprocessor:
    """A normalisation: ``(value - mean) / std``, with numbers for each channel.

    Attributes:
        mean_values: a number per channel.
        std_values: a number per channel.
        data_format: "channels_last" or "channels_first" of the result, or "NHWC" or "NCHW".
    """

    mean_values: Sequence[float]
    std_values: Sequence[float] = (1.0, 1.0, 1.0)
    data_format: str = "channels_last"

    def output_layout(self) -> str:
        """Return "NCHW" or "NHWC".

        Raises:
            ValueError: the format is something else.
        """
        layouts = {
            "channels_last": "NHWC",
            "NHWC": "NHWC",
            "channels_first": "NCHW",
            "NCHW": "NCHW",
        }
        if self.data_format not in layouts:
            raise ValueError(
                f"data_format must be one of {', '.join(layouts)}, got {self.data_format!r}"
            )
        return layouts[self.data_format]

    def apply(self, batch: Tensor) -> Tensor:
        """Return a tensor (N, ..., channels), normalised."""
        mean, std = (
            constant_like(batch, np.asarray(numbers, np.float32))
            for numbers in (self.mean_values, self.std_values)
        )
        normal = (batch - mean) / std
        return normal.movedim(-1, 1) if self.output_layout() == "NCHW" else normal


@dataclass(frozen=True)
class RawCodec:
    """Numbers.

    Attributes:
        auto_zero_padding: fill what is missing with zeros.
    """

    auto_zero_padding: bool = False

    def decode(self, batch: TensorBuffer, blob: BlobConf, batch_size: int) -> Tensor:
        """Return the feature of each record."""
        return records.decode_raw(
            batch, blob.name, blob.shape, blob.dtype, auto_zero_padding=self.auto_zero_padding
        )


@dataclass(frozen=True)
class BytesListCodec:
    """Bytes, as numbers of eight bits."""

    def decode(self, batch: TensorBuffer, blob: BlobConf, batch_size: int) -> Tensor:
        """Return the feature of each record."""
        return records.decode_raw(batch, blob.name, blob.shape, blob.dtype, auto_zero_padding=True)


@dataclass(frozen=True)
class ImageCodec:
    """Files of images.

    Attributes:
        image_preprocessors: what is done with each image.
    """

    image_preprocessors: Sequence[ImagePreprocessor | ImageResizePreprocessor] = ()

    def color_space(self) -> str:
        """Return "RGB" or "BGR"."""
        return "RGB" if any(change.is_rgb() for change in self._changes()) else "BGR"

    def do_mirror(self) -> bool:
        """Return True if half of the images are mirrored."""
        return any(change.is_mirror() for change in self._changes())

    def do_resize(self) -> bool:
        """Return True if images get a size."""
        return bool(self._sizes())

    def decode(self, batch: TensorBuffer, blob: BlobConf, batch_size: int) -> Tensor:
        """Return the image of each record."""
        image = records.decode_record_image(batch, blob.name, self.color_space())
        height, width = blob.shape[:2]
        for size in self._sizes():
            width, height = size.width, size.height
        pixels = images.ResizeOptions((width, height)).fixed(image)
        if self.do_mirror():
            mask = coin_flip(batch_size)
            pixels = where(mask.reshape(-1, 1, 1, 1) != 0, pixels.flip(2), pixels)
        return pixels.to(blob.dtype)

    def _changes(self) -> list[ImagePreprocessor]:
        return [
            preprocessor
            for preprocessor in self.image_preprocessors
            if isinstance(preprocessor, ImagePreprocessor)
        ]

    def _sizes(self) -> list[ImageResizePreprocessor]:
        return [
            preprocessor
            for preprocessor in self.image_preprocessors
            if isinstance(preprocessor, ImageResizePreprocessor)
        ]


@dataclass(frozen=True)
class BlobConf:
    """A feature of records and how it becomes a blob.

    Attributes:
        name: the name of the feature.
        shape: the shape of each value.
        dtype: the dtype of the blob.
        codec: what the feature is: `RawCodec`, `ImageCodec` or `BytesListCodec`.
        preprocessors: what is done with the values.
    """

    name: str
    shape: Sequence[int]
    dtype: DType
    codec: RawCodec | ImageCodec | BytesListCodec
    preprocessors: Sequence[NormByChannelPreprocessor] | None = None

    def decode_blob(self, input_blob: TensorBuffer, batch_size: int) -> Tensor:
        """Return the blob."""
        value = self.codec.decode(input_blob, self, batch_size)
        for preprocessor in self.preprocessors or ():
            value = preprocessor.apply(value)
        return value


def decode_ofrecord(
    ofrecord_dir: str | os.PathLike[str],
    blobs: Sequence[BlobConf],
    batch_size: int = 1,
    data_part_num: int = 1,
    part_name_prefix: str = "part-",
    part_name_suffix_length: int = -1,
    shuffle: bool = False,
    buffer_size: int = 1024,
    name: str | None = None,
) -> tuple[Tensor, ...]:
    """Return features of a batch of records, each as a blob.

    Args:
        ofrecord_dir: the folder, like the arguments that follow, as for `ofrecord_reader`.
        blobs: the features.
        batch_size: records of a batch.
        data_part_num: number of files.
        part_name_prefix: beginning of their names.
        part_name_suffix_length: digits of their numbers.
        shuffle: draw records from the next `buffer_size`.
        buffer_size: number of records to draw from.
        name: accepted.

    Raises:
        FileNotFoundError: a file is missing.
        RuntimeError: called outside of a job.

    Example:
        >>> import io, tempfile
        >>> from PIL import Image
        >>> import oneflow as flow
        >>> import oneflow.typing as tp
        >>> folder, file = tempfile.mkdtemp(), io.BytesIO()
        >>> Image.new("RGB", (6, 4)).save(file, "PNG")
        >>> with flow.data.OFRecordWriter(f"{folder}/part-0") as records:
        ...     records.write({"image": file.getvalue(), "label": 7, "text": b"abc"})
        >>> rgb = flow.data.ImagePreprocessor("bgr2rgb")
        >>> small = flow.data.ImageResizePreprocessor(2, 3)
        >>> centred = flow.data.NormByChannelPreprocessor((127.5,) * 3)
        >>> codec = flow.data.ImageCodec((rgb, small))
        >>> image = flow.data.BlobConf("image", (4, 6, 3), flow.float32, codec, [centred])
        >>> label = flow.data.BlobConf("label", (1,), flow.int32, flow.data.RawCodec())
        >>> text = flow.data.BlobConf("text", (4,), flow.int8, flow.data.BytesListCodec())
        >>> @flow.global_function()
        ... def job() -> tuple[tp.Numpy, ...]:
        ...     return flow.data.decode_ofrecord(folder, (image, label, text))
        >>> [blob.shape for blob in job()]
        [(1, 3, 2, 3), (1, 1), (1, 4)]
        >>> flow.clear_default_session()
    """
    batch = ofrecord_loader(
        ofrecord_dir,
        batch_size,
        data_part_num,
        part_name_prefix,
        part_name_suffix_length,
        shuffle,
        buffer_size,
    )
    return tuple(blob.decode_blob(batch, batch_size) for blob in blobs)
