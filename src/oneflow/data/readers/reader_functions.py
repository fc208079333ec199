"""Readers and decoders as functions for the bodies of jobs: `oneflow.data`.

A reader is opened when the body first runs, and every call of the job reads a batch.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from oneflow.base import dtype as dt
from oneflow.base.dtype import DType
from oneflow.base.keyword_aliases import keyword_aliases
from oneflow.base.placement import Placement
from oneflow.data.readers import images, records
from oneflow.data.readers.coco import CocoAnnotations, coco_batch, coco_source
from oneflow.data.readers.indexed import read_indexed_tokens, split_range, token_source
from oneflow.data.readers.onerec_batches import decode_onerec, onerec_source
from oneflow.data.readers.records import BatchSource, PartFiles, ShuffleOptions, record_source
from oneflow.data.readers.streams import random_order
from oneflow.data.readers.tensor_buffer import TensorBuffer, dense
from oneflow.differentiation.grad_mode import no_grad
from oneflow.functional.creation.factory_functions import empty
from oneflow.functional.random.creation import rand
from oneflow.tensor.batch_sharding import BatchSharding, batch_sharding_of
from oneflow.tensor.host_inputs import HostInputCapture, current_host_inputs
from oneflow.tensor.tensor import Tensor


def _capture(name: str) -> HostInputCapture:
    """Return the recording of the job whose body calls.

    Raises:
        RuntimeError: no job is being recorded.
    """
    capture = current_host_inputs()
    if capture is None:
        raise RuntimeError(
            f"{name} belongs into the body of a job, or into `build` of a graph; elsewhere make a "
            "reader of oneflow.nn and call it"
        )
    return capture


def _next_batch(name: str, open_source: Callable[[BatchSharding], BatchSource]) -> TensorBuffer:
    """Return a batch of the reader that the body opens here.

    Args:
        name: the name of the function.
        open_source: opens the reader, given its devices.
    """
    capture = _capture(name)
    return capture.reader(lambda: open_source(capture.sharding)).next_batch()


def decode_random(
    shape: Sequence[int],
    dtype: DType,
    batch_size: int = 1,
    initializer: Callable[[Tensor], Tensor] | None = None,
    tick: Tensor | None = None,
    name: str | None = None,
) -> Tensor:
    """Return a synthetic batch, drawn anew in each call of the job.

    Args:
        shape: the shape of a sample.
        dtype: the dtype of the numbers.
        batch_size: number of samples.
        initializer: such as `oneflow.zeros_initializer()`; uniform from 0 to 1 by default.
        tick: accepted.
        name: accepted.

    Raises:
        RuntimeError: called outside of a job or graph.
        ValueError: the devices cannot share the batch.

    Example:
        >>> import oneflow as flow
        >>> import oneflow.typing as tp
        >>> @flow.global_function()
        ... def job() -> tp.Numpy:
        ...     return flow.data.decode_random((3,), flow.float32, batch_size=2)
        >>> job().shape
        (2, 3)
        >>> flow.clear_default_session()
    """
    sharding = _capture("flow.data.decode_random()").sharding
    count = sharding.shard_size(batch_size) * sharding.shards // sharding.replica[1]
    if initializer is None:
        return rand(count, *shape, **sharding.place).to(dtype)
    with no_grad():
        return initializer(empty(count, *shape, dtype=dtype, **sharding.place))


def ofrecord_reader(
    ofrecord_dir: str | os.PathLike[str],
    batch_size: int = 1,
    data_part_num: int = 1,
    part_name_prefix: str = "part-",
    part_name_suffix_length: int = -1,
    random_shuffle: bool = False,
    shuffle_buffer_size: int = 1024,
    shuffle_after_epoch: bool = False,
    name: str | None = None,
) -> TensorBuffer:
    """Return a batch of records; see `oneflow.nn.OFRecordReader`.

    Raises:
        FileNotFoundError: a file is missing.
        RuntimeError: called outside of a job.
        ValueError: the devices cannot share the batch or the files.

    Example:
        >>> import tempfile
        >>> import oneflow as flow
        >>> import oneflow.typing as tp
        >>> folder = tempfile.mkdtemp()
        >>> with flow.data.OFRecordWriter(f"{folder}/part-0") as file:
        ...     file.write({"label": 7})
        >>> @flow.global_function()
        ... def job() -> tp.Numpy:
        ...     records = flow.data.ofrecord_reader(folder)
        ...     return flow.data.ofrecord_raw_decoder(records, "label", (1,), flow.int32)
        >>> job()
        array([[7]], dtype=int32)
        >>> flow.clear_default_session()
    """
    files = PartFiles(ofrecord_dir, data_part_num, part_name_prefix, part_name_suffix_length)
    shuffle = ShuffleOptions(shuffle_buffer_size if random_shuffle else None, shuffle_after_epoch)
    return _next_batch(
        "flow.data.ofrecord_reader()",
        lambda sharding: record_source(files, batch_size, shuffle, sharding),
    )


def ofrecord_loader(
    ofrecord_dir: str | os.PathLike[str],
    batch_size: int = 1,
    data_part_num: int = 1,
    part_name_prefix: str = "part-",
    part_name_suffix_length: int = -1,
    shuffle: bool = False,
    shuffle_buffer_size: int = 1024,
    name: str | None = None,
) -> TensorBuffer:
    """Return a batch of records; an earlier name of `ofrecord_reader`."""
    return ofrecord_reader(
        ofrecord_dir,
        batch_size,
        data_part_num,
        part_name_prefix,
        part_name_suffix_length,
        shuffle,
        shuffle_buffer_size,
    )


def ofrecord_raw_decoder(
    input_blob: TensorBuffer,
    blob_name: str,
    shape: Sequence[int],
    dtype: DType,
    dim1_varying_length: bool = False,
    auto_zero_padding: bool = False,
    name: str | None = None,
) -> Tensor:
    """Return a feature of each record as a blob; see `oneflow.nn.OFRecordRawDecoder`."""
    return records.decode_raw(
        input_blob,
        blob_name,
        shape,
        dtype,
        dim1_varying_length,
        auto_zero_padding=auto_zero_padding,
    )


def ofrecord_bytes_decoder(
    input_blob: TensorBuffer, blob_name: str, name: str | None = None
) -> TensorBuffer:
    """Return the bytes of a feature; see `oneflow.nn.OFRecordBytesDecoder`."""
    return records.decode_bytes(input_blob, blob_name)


def ofrecord_image_decoder(
    input_blob: TensorBuffer, blob_name: str, color_space: str = "BGR", name: str | None = None
) -> TensorBuffer:
    """Return the image in a feature; see `oneflow.nn.OFRecordImageDecoder`.

    Example:
        >>> import io, tempfile
        >>> from PIL import Image
        >>> import oneflow as flow
        >>> import oneflow.typing as tp
        >>> folder, file = tempfile.mkdtemp(), io.BytesIO()
        >>> Image.new("RGB", (6, 4)).save(file, "PNG")
        >>> with flow.data.OFRecordWriter(f"{folder}/part-0") as records:
        ...     records.write({"image": file.getvalue(), "label": 7})
        >>> @flow.global_function()
        ... def job() -> tuple[tp.Numpy, ...]:
        ...     records = flow.data.ofrecord_loader(folder)
        ...     image = flow.data.ofrecord_image_decoder(records, "image", color_space="RGB")
        ...     part = flow.data.ofrecord_image_decoder_random_crop(records, "image")
        ...     file = flow.data.ofrecord_bytes_decoder(records, "image")
        ...     small = flow.data.image_decoder_random_crop_resize(file, 2, 2)
        ...     both, _ = flow.data.ofrecord_image_classification_reader(folder, "image", "label")
        ...     return small, *(flow.image.resize(x, (3, 3))[0] for x in (image, part, both))
        >>> [blob.shape for blob in job()]
        [(1, 2, 2, 3), (1, 3, 3, 3), (1, 3, 3, 3), (1, 3, 3, 3)]
        >>> flow.clear_default_session()
    """
    return records.decode_record_image(input_blob, blob_name, color_space)


def ofrecord_image_decoder_random_crop(
    input_blob: TensorBuffer,
    blob_name: str,
    color_space: str = "BGR",
    num_attempts: int = 10,
    seed: int | None = None,
    random_area: Sequence[float] = images.AREA,
    random_aspect_ratio: Sequence[float] = images.ASPECT_RATIO,
    name: str = "OFRecordImageDecoderRandomCrop",
) -> TensorBuffer:
    """Return a random rectangle of the image in a feature.

    See `oneflow.nn.OFRecordImageDecoderRandomCrop`.
    """
    return images.random_crop_all(
        records.decode_record_image(input_blob, blob_name, color_space),
        _random("flow.data.ofrecord_image_decoder_random_crop()", seed),
        num_attempts,
        random_area,
        random_aspect_ratio,
    )


def _random(name: str, seed: int | None) -> np.random.Generator:
    """Return the random numbers that a job draws here, which go on from call to call."""
    return _capture(name).reader(lambda: random_order(seed))


def image_decoder_random_crop_resize(
    input_blob: TensorBuffer,
    target_width: int,
    target_height: int,
    num_attempts: int | None = None,
    seed: int | None = None,
    random_area: Sequence[float] | None = None,
    random_aspect_ratio: Sequence[float] | None = None,
    num_workers: int | None = None,
    warmup_size: int | None = None,
    max_num_pixels: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Decode files of images, take a random rectangle, and give it a size.

    See `oneflow.nn.OFRecordImageGpuDecoderRandomCropResize`.
    """
    parts = images.random_crop_all(
        images.decode(input_blob, color_space="RGB"),
        _random("flow.data.image_decoder_random_crop_resize()", seed),
        num_attempts or 10,
        random_area,
        random_aspect_ratio,
    )
    return images.ResizeOptions((target_width, target_height)).fixed(parts)


def ofrecord_image_classification_reader(
    ofrecord_dir: str | os.PathLike[str],
    image_feature_name: str,
    label_feature_name: str,
    batch_size: int = 1,
    data_part_num: int = 1,
    part_name_prefix: str = "part-",
    part_name_suffix_length: int = -1,
    random_shuffle: bool = False,
    shuffle_buffer_size: int = 1024,
    shuffle_after_epoch: bool = False,
    color_space: str = "BGR",
    decode_buffer_size_per_thread: int = 32,
    num_decode_threads_per_machine: int | None = None,
    name: str | None = None,
) -> tuple[TensorBuffer, TensorBuffer]:
    """Return a batch of images and their labels, both as buffers.

    Args:
        ofrecord_dir: the folder, like the arguments that follow, as for `ofrecord_reader`.
        image_feature_name: name of the feature with the image file.
        label_feature_name: name of the feature with the label.
        batch_size: images of a batch.
        data_part_num: number of files.
        part_name_prefix: beginning of their names.
        part_name_suffix_length: digits of their numbers.
        random_shuffle: draw records from the next `shuffle_buffer_size`.
        shuffle_buffer_size: number of records to draw from.
        shuffle_after_epoch: take the files in another order after the first epoch.
        color_space: "BGR", "RGB" or "GRAY".
        decode_buffer_size_per_thread: accepted, like the two that follow.
        num_decode_threads_per_machine: accepted.
        name: accepted.
    """
    batch = ofrecord_reader(
        ofrecord_dir,
        batch_size,
        data_part_num,
        part_name_prefix,
        part_name_suffix_length,
        random_shuffle,
        shuffle_buffer_size,
        shuffle_after_epoch,
    )
    labels = TensorBuffer(
        lambda values: [np.asarray(sample[label_feature_name], np.int32) for sample in values],
        batch,
    )
    return records.decode_record_image(batch, image_feature_name, color_space), labels


def coco_reader(
    annotation_file: str | os.PathLike[str],
    image_dir: str | os.PathLike[str],
    batch_size: int,
    shuffle: bool = True,
    random_seed: int | None = None,
    group_by_aspect_ratio: bool = True,
    stride_partition: bool = True,
    remove_images_without_annotations: bool = True,
    name: str | None = None,
) -> tuple[TensorBuffer | Tensor, ...]:
    """Return a batch of images with their objects; see `oneflow.nn.COCOReader`."""

    def open_source(sharding: BatchSharding) -> BatchSource:
        return coco_source(
            CocoAnnotations(annotation_file, image_dir, remove_images_without_annotations),
            batch_size,
            shuffle,
            random_seed,
            group_by_aspect_ratio,
            stride_partition,
            sharding,
        )

    return coco_batch(_next_batch("flow.data.coco_reader()", open_source))


@keyword_aliases(nd_sbp="parallel_distribution")
def megatron_gpt_mmap_data_loader(
    data_file_prefix: str,
    seq_length: int,
    num_samples: int,
    batch_size: int,
    dtype: DType = dt.int64,
    shuffle: bool = True,
    random_seed: int | None = None,
    split_sizes: Sequence[str] | None = None,
    split_index: int | None = None,
    parallel_distribution: Sequence[str] | None = None,
    start_from_saved_progress: bool = False,
    name: str | None = None,
) -> Tensor:
    """Return a batch of texts; see `oneflow.nn.GPTIndexedBinDataReader`.

    Raises:
        NotImplementedError: `start_from_saved_progress`, since snapshots hold no progress.
    """
    if start_from_saved_progress:
        raise NotImplementedError("snapshots hold no progress of readers; they begin anew")

    def open_source(sharding: BatchSharding) -> BatchSource:
        indexed = read_indexed_tokens(data_file_prefix)
        part = split_range(len(indexed.starts) - 1, split_sizes, split_index)
        random = random_order(random_seed) if shuffle else None
        return token_source(
            indexed, seq_length, num_samples, batch_size, dtype, part, random, sharding
        )

    batch = _next_batch("flow.data.megatron_gpt_mmap_data_loader()", open_source)
    return dense(batch, (seq_length + 1,), dtype)


def onerec_reader(
    files: Sequence[str | os.PathLike[str]],
    batch_size: int = 1,
    random_shuffle: bool = False,
    shuffle_mode: str = "instance",
    shuffle_buffer_size: int = 1024,
    shuffle_after_epoch: bool = False,
    verify_example: bool = True,
    name: str | None = None,
) -> TensorBuffer:
    """Return a batch of OneRec records; see `oneflow.nn.OneRecReader`.

    Raises:
        RuntimeError: called outside of a job or graph.
    """
    return read_onerec(
        files,
        batch_size,
        random_shuffle,
        shuffle_mode,
        shuffle_buffer_size,
        shuffle_after_epoch,
        verify_example,
    )


def read_onerec(
    files: Sequence[str | os.PathLike[str]],
    batch_size: int,
    random_shuffle: bool,
    shuffle_mode: str,
    shuffle_buffer_size: int = 1024,
    shuffle_after_epoch: bool = False,
    verify_example: bool = True,
    placement: Placement | None = None,
    sbp: Any = None,
) -> TensorBuffer:
    """Return a batch of OneRec records, in `build` of a graph; see `oneflow.nn.OneRecReader`.

    Raises:
        RuntimeError: called outside of a graph or job, where nothing would remember how far the
            files have been read.
    """
    shuffle = ShuffleOptions(shuffle_buffer_size if random_shuffle else None, shuffle_after_epoch)
    return _next_batch(
        "flow.read_onerec()",
        lambda sharding: onerec_source(
            files,
            batch_size,
            shuffle_mode,
            shuffle,
            verify_example,
            sharding if placement is None else batch_sharding_of(None, placement, sbp),
        ),
    )


def onerec_decoder(
    input_blob: TensorBuffer,
    key: str,
    dtype: DType,
    shape: Sequence[int],
    is_dynamic: bool = False,
    reshape: Sequence[int] | None = None,
    batch_padding: Sequence[int] | None = None,
    name: str | None = None,
) -> Tensor:
    """Return a feature of OneRec records as a blob; see `oneflow.decode_onerec`."""
    return decode_onerec(input_blob, key, dtype, shape, is_dynamic, reshape, batch_padding)
