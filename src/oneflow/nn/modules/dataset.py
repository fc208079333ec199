"""Modules that read data sets, and decode what they have read.

Calling a reader returns the next batch. In `build` of a graph every call of the graph reads one.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from oneflow.base import dtype as dt
from oneflow.base.dtype import DType
from oneflow.base.placement import Placement
from oneflow.data.readers import images, records
from oneflow.data.readers.coco import CocoAnnotations, coco_batch, coco_source
from oneflow.data.readers.coin_flip import random_coin_flip, seeded_generator
from oneflow.data.readers.indexed import (
    raw_source,
    read_indexed_tokens,
    split_range,
    token_source,
)
from oneflow.data.readers.records import BatchSource, PartFiles, ShuffleOptions, record_source
from oneflow.data.readers.streams import random_order
from oneflow.data.readers.tensor_buffer import TensorBuffer, dense
from oneflow.module.module import Module
from oneflow.tensor.batch_sharding import batch_sharding_of
from oneflow.tensor.tensor import Tensor


class BatchReader(Module):
    """Base of readers: batches of a source."""

    def __init__(self, source: BatchSource) -> None:
        super().__init__()
        self.source = source

    def extra_repr(self) -> str:
        return f"batch_size={self.source.batch_size}"


class OFRecordReader(BatchReader):
    """Batches of records from the files ``part-0``, ``part-1``, ... of a folder, without end.

    Args:
        ofrecord_dir: the folder.
        batch_size: records of a batch, of all devices together.
        data_part_num: number of files. Devices that share batches have files of their own.
        part_name_prefix: beginning of the files' names.
        part_name_suffix_length: digits of their numbers; -1 for as many as they need.
        random_shuffle: draw records from the next `shuffle_buffer_size`.
        shuffle_buffer_size: number of records to draw from.
        shuffle_after_epoch: take the files in another order after the first epoch.
        random_seed: where random numbers start; -1 takes it from `oneflow.manual_seed`.
        device: the device of the decoded tensors.
        placement: the placement of global ones.
        sbp: the SBP of global ones: broadcast, or split along dimension 0.
        name: accepted.

    Raises:
        FileNotFoundError: a file is missing.
        ValueError: the devices cannot share the batch or the files; or, when a batch is read, a
            file is damaged.

    Example:
        >>> import tempfile
        >>> import oneflow as flow
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     with flow.data.OFRecordWriter(f"{folder}/part-0") as file:
        ...         file.write({"label": 7})
        ...     records = flow.nn.OFRecordReader(folder)()
        ...     flow.nn.OFRecordRawDecoder("label", (1,), flow.int32)(records).tolist()
        [[7]]
    """

    def __init__(
        self,
        ofrecord_dir: str | os.PathLike[str],
        batch_size: int = 1,
        data_part_num: int = 1,
        part_name_prefix: str = "part-",
        part_name_suffix_length: int = -1,
        random_shuffle: bool = False,
        shuffle_buffer_size: int = 1024,
        shuffle_after_epoch: bool = False,
        random_seed: int = -1,
        device: Any = None,
        placement: Placement | None = None,
        sbp: Any = None,
        name: str | None = None,
    ) -> None:
        files = PartFiles(ofrecord_dir, data_part_num, part_name_prefix, part_name_suffix_length)
        shuffle = ShuffleOptions(
            shuffle_buffer_size if random_shuffle else None, shuffle_after_epoch, random_seed
        )
        super().__init__(
            record_source(files, batch_size, shuffle, batch_sharding_of(device, placement, sbp))
        )

    def forward(self) -> TensorBuffer:
        """Return the next batch."""
        return self.source.next_batch()


class OFRecordRawDecoder(Module):
    """A feature of records as a tensor; see `oneflow.data.readers.records.decode_raw`.

    Args:
        blob_name: name of the feature: numbers, or bytes, which are numbers of eight bits.
        shape: the shape of each value.
        dtype: the dtype of the tensor.
        dim1_varying_length: fill values that are shorter along their first dimension with zeros.
        truncate: cut off what is too long.
        auto_zero_padding: fill what is missing with zeros.
        name: accepted.
    """

    def __init__(
        self,
        blob_name: str,
        shape: Sequence[int],
        dtype: DType,
        dim1_varying_length: bool = False,
        truncate: bool = False,
        auto_zero_padding: bool = False,
        name: str | None = None,
    ) -> None:
        super().__init__()
        self.blob_name, self.shape, self.dtype = blob_name, tuple(shape), dtype
        self.lengths = dim1_varying_length, truncate, auto_zero_padding

    def forward(self, input: TensorBuffer) -> Tensor:
        """Return the tensor, ``(N, *shape)``."""
        return records.decode_raw(input, self.blob_name, self.shape, self.dtype, *self.lengths)


class OFRecordBytesDecoder(Module):
    """The bytes of a feature, such as an image file, as a `TensorBuffer` of uint8.

    Args:
        blob_name: name of the feature.
        name: accepted.
    """

    def __init__(self, blob_name: str, name: str | None = None) -> None:
        super().__init__()
        self.blob_name = blob_name

    def forward(self, input: TensorBuffer) -> TensorBuffer:
        """Return the bytes of each record."""
        return records.decode_bytes(input, self.blob_name)


class OFRecordImageDecoder(Module):
    """The image in a feature, as a `TensorBuffer` of arrays (height, width, channels).

    Args:
        blob_name: name of the feature.
        color_space: "BGR", "RGB" or "GRAY".

    Example:
        >>> import io, tempfile
        >>> from PIL import Image
        >>> import oneflow as flow
        >>> folder, file = tempfile.mkdtemp(), io.BytesIO()
        >>> Image.new("RGB", (6, 4)).save(file, "PNG")
        >>> with flow.data.OFRecordWriter(f"{folder}/part-0") as records:
        ...     records.write({"image": file.getvalue()})
        >>> records = flow.nn.OFRecordReader(folder)()
        >>> flow.nn.OFRecordImageDecoder("image", "RGB")(records).numpy()[0].shape
        (4, 6, 3)
        >>> part = flow.nn.OFRecordImageDecoderRandomCrop("image")(records)
        >>> files = flow.nn.OFRecordBytesDecoder("image")(records)
        >>> flow.nn.OFRecordImageGpuDecoderRandomCropResize(2, 2)(files).shape
        oneflow.Size([1, 2, 2, 3])
    """

    def __init__(self, blob_name: str, color_space: str = "BGR") -> None:
        super().__init__()
        self.blob_name, self.color_space = blob_name, color_space

    def forward(self, input: TensorBuffer) -> TensorBuffer:
        """Return the image of each record."""
        return records.decode_record_image(input, self.blob_name, self.color_space)


class OFRecordImageDecoderRandomCrop(Module):
    """A random rectangle of the image in a feature, as a `TensorBuffer`.

    Args:
        blob_name: name of the feature.
        color_space: "BGR", "RGB" or "GRAY".
        num_attempts: draws before the largest rectangle in the middle is taken.
        random_seed: where random numbers start; None and -1 take it from `oneflow.manual_seed`.
        random_area: range of the rectangle's share of the area.
        random_aspect_ratio: range of its width divided by its height.
    """

    def __init__(
        self,
        blob_name: str,
        color_space: str = "BGR",
        num_attempts: int = 10,
        random_seed: int | None = None,
        random_area: Sequence[float] = images.AREA,
        random_aspect_ratio: Sequence[float] = images.ASPECT_RATIO,
    ) -> None:
        super().__init__()
        self.blob_name, self.color_space = blob_name, color_space
        self.num_attempts, self.random = num_attempts, random_order(random_seed)
        self.random_area, self.random_aspect_ratio = random_area, random_aspect_ratio

    def forward(self, input: TensorBuffer) -> TensorBuffer:
        """Return a part of the image of each record."""
        return images.random_crop_all(
            records.decode_record_image(input, self.blob_name, self.color_space),
            self.random,
            self.num_attempts,
            self.random_area,
            self.random_aspect_ratio,
        )


class OFRecordImageGpuDecoderRandomCropResize(Module):
    """Decode files of images, take a random rectangle, and give it a size.

    Args:
        target_width: width of the results.
        target_height: height of the results.
        num_attempts: draws before the largest rectangle in the middle is taken.
        seed: where random numbers start; None and -1 take it from `oneflow.manual_seed`.
        random_area: range of the rectangle's share of the area.
        random_aspect_ratio: range of its width divided by its height.
        num_workers: accepted, like the two that follow: images are decoded by Pillow.
        warmup_size: accepted.
        max_num_pixels: accepted.
    """

    def __init__(
        self,
        target_width: int,
        target_height: int,
        num_attempts: int | None = 10,
        seed: int | None = 0,
        random_area: Sequence[float] | None = images.AREA,
        random_aspect_ratio: Sequence[float] | None = images.ASPECT_RATIO,
        num_workers: int | None = 3,
        warmup_size: int | None = 6400,
        max_num_pixels: int | None = 67108864,
    ) -> None:
        super().__init__()
        self.size, self.num_attempts = (target_width, target_height), num_attempts or 10
        self.random = random_order(seed)
        self.random_area, self.random_aspect_ratio = random_area, random_aspect_ratio

    def forward(self, input: TensorBuffer) -> Tensor:
        """Return uint8 (N, height, width, 3) images in the order RGB, from bytes."""
        image = images.decode(input, color_space="RGB")
        parts = images.random_crop_all(
            image, self.random, self.num_attempts, self.random_area, self.random_aspect_ratio
        )
        return images.ResizeOptions(self.size).fixed(parts)


class CoinFlip(Module):
    """Zeros and ones, one for each sample of a batch: int8 (N,).

    Args:
        batch_size: N.
        random_seed: where random numbers start; None and -1 take it from `oneflow.manual_seed`.
        probability: the probability of a one.
        device: the device of the tensor.
        placement: the placement of a global one.
        sbp: the SBP of a global one: broadcast, or split along dimension 0.

    Raises:
        ValueError: the probability is outside [0, 1].

    Example:
        >>> import oneflow as flow
        >>> flow.nn.CoinFlip(3, probability=1.0)()
        tensor([1, 1, 1], dtype=oneflow.int8)
    """

    def __init__(
        self,
        batch_size: int = 1,
        random_seed: int | None = None,
        probability: float = 0.5,
        device: Any = None,
        placement: Placement | None = None,
        sbp: Any = None,
    ) -> None:
        super().__init__()
        self.batch_size, self.probability = batch_size, probability
        self.generator = seeded_generator(random_seed)
        self.sharding = batch_sharding_of(device, placement, sbp)

    def forward(self) -> Tensor:
        """Return the next coins."""
        return random_coin_flip(self.batch_size, self.probability, self.generator, self.sharding)


class COCOReader(BatchReader):
    """Batches of images with their objects, from COCO's annotations, without end.

    Args:
        annotation_file: the JSON file.
        image_dir: where the images are.
        batch_size: images of a batch, of all devices together.
        shuffle: take the images in another order in each epoch.
        random_seed: where random numbers start; None and -1 take it from `oneflow.manual_seed`.
        group_by_aspect_ratio: let images that a device has of a batch be all wide, or all high.
        remove_images_without_annotations: leave out images without objects.
        stride_partition: devices take turns, instead of having images that follow each other.
        device: the device of the tensors.
        placement: the placement of global ones.
        sbp: the SBP of global ones: broadcast, or split along dimension 0.

    Raises:
        FileNotFoundError: the file is missing.
        ValueError: it is not COCO's, or there are fewer images than devices.

    Example:
        >>> import json, pathlib, tempfile
        >>> import oneflow as flow
        >>> folder = pathlib.Path(tempfile.mkdtemp())
        >>> count = (folder / "1.jpg").write_bytes(b"an image")
        >>> photo = {"id": 1, "file_name": "1.jpg", "width": 6, "height": 4}
        >>> category = {"id": 18, "name": "dog"}
        >>> dog = {"image_id": 1, "category_id": 18, "bbox": [1, 1, 2, 2], "iscrowd": 0, "area": 4}
        >>> dog["segmentation"] = [[1, 1, 3, 1, 3, 3]]
        >>> content = {"images": [photo], "categories": [category], "annotations": [dog]}
        >>> count = (folder / "dogs.json").write_text(json.dumps(content))
        >>> _, _, sizes, boxes, *_ = flow.nn.COCOReader(folder / "dogs.json", folder, 1)()
        >>> sizes.tolist(), boxes.numpy()[0].tolist()
        ([[4, 6]], [[1.0, 1.0, 2.0, 2.0]])
    """

    def __init__(
        self,
        annotation_file: str | os.PathLike[str],
        image_dir: str | os.PathLike[str],
        batch_size: int,
        shuffle: bool = True,
        random_seed: int | None = None,
        group_by_aspect_ratio: bool = True,
        remove_images_without_annotations: bool = True,
        stride_partition: bool = True,
        device: Any = None,
        placement: Placement | None = None,
        sbp: Any = None,
    ) -> None:
        annotations = CocoAnnotations(annotation_file, image_dir, remove_images_without_annotations)
        sharding = batch_sharding_of(device, placement, sbp)
        super().__init__(
            coco_source(
                annotations,
                batch_size,
                shuffle,
                random_seed,
                group_by_aspect_ratio,
                stride_partition,
                sharding,
            )
        )

    def forward(self) -> tuple[Any, ...]:
        """Return the next batch.

        Returns:
            The bytes of the images; tensors of their numbers, int64 (N,), and sizes (height,
            width), int32 (N, 2); and buffers with the objects of each image: boxes (left, top,
            right, bottom), float32 (objects, 4); categories, counted from 1, int32 (objects,); the
            points of all polygons, float32 (points, 2); and for each point its number in the
            polygon, that of the polygon and that of the object, int32 (points, 3).
        """
        return coco_batch(self.source.next_batch())


class RawReader(BatchReader):
    """Batches of arrays that lie one after the other in files, without end.

    Args:
        files: their paths.
        shape: the shape of each array.
        dtype: the dtype of each array.
        batch_size: arrays of a batch, of all devices together.
        random_shuffle: shuffle blocks of arrays.
        shuffle_block_size: bytes of a block; 0 for blocks of one array.
        random_seed: where random numbers start; None and -1 take it from `oneflow.manual_seed`.
        placement: the placement of a global tensor.
        sbp: the SBP of a global tensor: broadcast, or split along dimension 0.

    Raises:
        ValueError: a file's size is no multiple of an array's.

    Example:
        >>> import numpy as np
        >>> import tempfile
        >>> import oneflow as flow
        >>> with tempfile.NamedTemporaryFile() as file:
        ...     np.arange(4, dtype=np.int32).tofile(file.name)
        ...     reader = flow.nn.RawReader([file.name], (2,), flow.int32, 1, random_shuffle=False)
        ...     reader(), reader()
        (tensor([[0, 1]], dtype=oneflow.int32), tensor([[2, 3]], dtype=oneflow.int32))
    """

    def __init__(
        self,
        files: Sequence[str | os.PathLike[str]],
        shape: Sequence[int],
        dtype: DType,
        batch_size: int,
        random_shuffle: bool = True,
        shuffle_block_size: int = 0,
        random_seed: int | None = None,
        placement: Placement | None = None,
        sbp: Any = None,
    ) -> None:
        sharding, block = (
            batch_sharding_of(None, placement, sbp),
            shuffle_block_size if random_shuffle else None,
        )
        super().__init__(raw_source(files, shape, dtype, batch_size, block, random_seed, sharding))
        self.shape, self.dtype = tuple(shape), dtype

    def forward(self) -> Tensor:
        """Return the next batch, ``(N, *shape)``."""
        return dense(self.source.next_batch(), self.shape, self.dtype)


class GPTIndexedBinDataReader(BatchReader):
    """Batches of texts that Megatron-LM has stored: the files ``prefix.bin`` and ``prefix.idx``.

    Args:
        data_file_prefix: the path without its ending.
        seq_length: tokens of a sample; the one that follows them is added.
        num_samples: number of samples after which they come again.
        batch_size: samples of a batch, of all devices together.
        dtype: the dtype of the tensor.
        shuffle: shuffle documents, before they are joined and cut into samples, and samples.
        random_seed: where random numbers start; None and -1 take it from `oneflow.manual_seed`.
        split_sizes: weights of the splits, such as ``("949", "50", "1")``.
        split_index: the split to read; 0 by default.
        device: the device of the tensor.
        placement: the placement of a global one.
        sbp: the SBP of a global one: broadcast, or split along dimension 0.

    Raises:
        FileNotFoundError: a file is missing.
        ValueError: a file is damaged, or the split has no tokens.

    Example:
        >>> import tempfile
        >>> import numpy as np
        >>> import oneflow as flow
        >>> from oneflow.data.readers.indexed import write_indexed_tokens
        >>> prefix = f"{tempfile.mkdtemp()}/text"
        >>> write_indexed_tokens(prefix, [np.arange(9)])
        >>> flow.nn.GPTIndexedBinDataReader(prefix, 3, 2, batch_size=2, shuffle=False)().tolist()
        [[0, 1, 2, 3], [3, 4, 5, 6]]
    """

    def __init__(
        self,
        data_file_prefix: str,
        seq_length: int,
        num_samples: int,
        batch_size: int,
        dtype: DType = dt.int64,
        shuffle: bool = True,
        random_seed: int | None = None,
        split_sizes: Sequence[str] | None = None,
        split_index: int | None = None,
        device: Any = None,
        placement: Placement | None = None,
        sbp: Any = None,
    ) -> None:
        indexed = read_indexed_tokens(data_file_prefix)
        part = split_range(len(indexed.starts) - 1, split_sizes, split_index)
        random = random_order(random_seed) if shuffle else None
        sharding = batch_sharding_of(device, placement, sbp)
        super().__init__(
            token_source(
                indexed, seq_length, num_samples, batch_size, dtype, part, random, sharding
            )
        )
        self.shape, self.dtype = (seq_length + 1,), dtype

    def forward(self) -> Tensor:
        """Return the next batch, (N, seq_length + 1)."""
        return dense(self.source.next_batch(), self.shape, self.dtype)


OfrecordReader = OFRecordReader
OfrecordRawDecoder = OFRecordRawDecoder
