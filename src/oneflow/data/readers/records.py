"""`OFRecordSource`, a batch of records at a time, and the decoders of features."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np

from oneflow.base import dtype as dt
from oneflow.base.dtype import DType
from oneflow.data.readers.image_values import decode_image
from oneflow.data.readers.ofrecord import read_records
from oneflow.data.readers.streams import random_order, repeat_epochs, shard_range, shuffle_items
from oneflow.data.readers.tensor_buffer import TensorBuffer, dense
from oneflow.tensor.batch_sharding import BatchSharding
from oneflow.tensor.tensor import Tensor


class BatchSource:
    """Batches of samples without end, divided among the devices that share them.

    Args:
        sharding: the devices.
        batch_size: samples of a batch, of all devices and replicas together.
        stream: returns the samples of a shard, given its number.

    Attributes:
        sharding: the devices.
        batch_size: samples of a batch of all devices together.
    """

    def __init__(
        self, sharding: BatchSharding, batch_size: int, stream: Callable[[int], Iterator[Any]]
    ) -> None:
        self._size = sharding.shard_size(batch_size)
        self.sharding, self.batch_size = sharding, batch_size // sharding.replica[1]
        self._streams = [stream(shard) for shard in sharding.local_shards]

    def read(self) -> list[Any]:
        """Return the samples of the next batch that this process has.

        Raises:
            RuntimeError: an earlier batch has failed.
        """
        samples = [sample for stream in self._streams for sample in islice(stream, self._size)]
        if len(samples) < self._size * len(self._streams):
            raise RuntimeError("this reader has met an error before; open another one")
        return samples

    def next_batch(self) -> TensorBuffer:
        """Return the next batch; see `TensorBuffer` about graphs."""
        return TensorBuffer(self.read, shape=(self.batch_size,), sharding=self.sharding)


@dataclass(frozen=True)
class PartFiles:
    """The files ``part-0``, ``part-1``, ... of a data set.

    Attributes:
        folder: where they are.
        count: how many there are.
        prefix: beginning of their names.
        suffix_length: digits of the number behind it; -1 for as many as it needs.
    """

    folder: str | os.PathLike[str]
    count: int = 1
    prefix: str = "part-"
    suffix_length: int = -1

    def paths(self) -> list[Path]:
        """Return the paths.

        Raises:
            FileNotFoundError: one is missing.
            ValueError: the number of files is not positive.
        """
        if self.count < 1:
            raise ValueError(f"`data_part_num` must be positive, got {self.count}")
        width = max(self.suffix_length, 0)
        paths = [
            Path(self.folder) / f"{self.prefix}{number:0{width}d}" for number in range(self.count)
        ]
        for path in paths:
            if not path.is_file():
                raise FileNotFoundError(
                    f"{path} is missing; `data_part_num` is {self.count}, `part_name_prefix` "
                    f"{self.prefix!r} and `part_name_suffix_length` {self.suffix_length}"
                )
        return paths


@dataclass(frozen=True)
class ShuffleOptions:
    """The order of records.

    Attributes:
        buffer_size: records are drawn from the next so many; None keeps their order.
        after_epoch: whether files come in another order in every epoch but the first.
        seed: the seed of the random numbers; None and -1 take it from `oneflow.manual_seed`.
    """

    buffer_size: int | None = None
    after_epoch: bool = False
    seed: int | None = None


def record_source(
    files: PartFiles, batch_size: int, shuffle: ShuffleOptions, sharding: BatchSharding
) -> BatchSource:
    """Return batches of the records of a data set; each shard has files of its own.

    Raises:
        FileNotFoundError: a file is missing.
        ValueError: there are fewer files than devices that share the batches.
    """
    return file_source(files.paths(), read_records, batch_size, shuffle, sharding)


def file_source(
    paths: Sequence[Path],
    read_file: Callable[[Path], Iterator[Any]],
    batch_size: int,
    shuffle: ShuffleOptions,
    sharding: BatchSharding,
    group: int = 1,
) -> BatchSource:
    """Return batches of records in files; each shard has files of its own.

    Args:
        paths: the files.
        read_file: yields the records of one.
        batch_size: records of a batch.
        shuffle: their order.
        sharding: the devices.
        group: as many records stay together when they are shuffled.

    Raises:
        ValueError: there are fewer files than devices that share the batches.
    """
    if len(paths) < sharding.shards:
        raise ValueError(
            f"{sharding.shards} devices share the records, so at least as many files are needed, "
            f"got {len(paths)}"
        )

    def stream(shard: int) -> Iterator:
        files = [paths[index] for index in shard_range(len(paths), shard, sharding.shards)]
        random = random_order(shuffle.seed, shard)

        def read_epoch(epoch: int) -> Iterator:
            order = random.permutation(len(files)) if shuffle.after_epoch and epoch else None
            for index in range(len(files)) if order is None else order:
                yield from read_file(files[index])

        records = repeat_epochs(read_epoch, f"the files {', '.join(file.name for file in files)}")
        if shuffle.buffer_size is None:
            return records
        # The records do not end, so that every group is whole.
        groups = iter(lambda: list(islice(records, group)), [])
        return chain.from_iterable(shuffle_items(groups, shuffle.buffer_size, random))

    return BatchSource(sharding, batch_size, stream)


# --- decoders


def _feature(record: Any, name: str) -> Any:
    if not isinstance(record, dict):
        raise TypeError(f"a decoder of OFRecords takes records, got {type(record).__name__}")
    if name not in record:
        raise KeyError(f"the record has no feature `{name}`; it has {', '.join(sorted(record))}")
    return record[name]


def _bytes_of(record: Any, name: str) -> bytes:
    feature = _feature(record, name)
    if not isinstance(feature, list) or len(feature) != 1:
        raise TypeError(f"feature `{name}` must be one value of bytes, got {feature!r:.80}")
    return feature[0]


def decode_raw(
    records: TensorBuffer,
    name: str,
    shape: Sequence[int],
    dtype: DType,
    dim1_varying_length: bool = False,
    truncate: bool = False,
    auto_zero_padding: bool = False,
) -> Tensor:
    """Return a feature of each record, as a tensor.

    Args:
        records: from a reader.
        name: the name of the feature: numbers, or bytes, which are taken as numbers of eight bits.
        shape: the shape of each value.
        dtype: the dtype of the tensor.
        dim1_varying_length: take values that are shorter along their first dimension; the rest is
            zero, since a tensor has one shape.
        truncate: cut off what is too long.
        auto_zero_padding: fill what is missing with zeros.

    Raises:
        KeyError: a record does not have it.
        ValueError: it has another number of elements.
    """
    size = int(np.prod(shape, dtype=int))
    row = max(int(np.prod(shape[1:], dtype=int)), 1)

    def decode(record: Any) -> np.ndarray:
        feature = _feature(record, name)
        if isinstance(feature, list):
            kind = np.int8 if dtype is dt.int8 else np.uint8
            feature = np.frombuffer(b"".join(feature), kind)
        count = len(feature)
        if count > size and truncate:
            feature = feature[:size]
        elif count < size and (auto_zero_padding or (dim1_varying_length and count % row == 0)):
            feature = np.concatenate([feature, np.zeros(size - count, feature.dtype)])
        elif count != size:
            raise ValueError(
                f"feature `{name}` has {count} elements, and the shape {tuple(shape)} has {size}; "
                "`truncate` and `auto_zero_padding` cut and fill"
            )
        return feature.astype(dtype.numpy).reshape(tuple(shape))

    return dense(TensorBuffer(lambda values: list(map(decode, values)), records), shape, dtype)


def decode_bytes(records: TensorBuffer, name: str) -> TensorBuffer:
    """Return the bytes of a feature of each record, as arrays of uint8."""
    return TensorBuffer(
        lambda values: [np.frombuffer(_bytes_of(record, name), np.uint8) for record in values],
        records,
    )


def decode_record_image(records: TensorBuffer, name: str, color_space: str = "BGR") -> TensorBuffer:
    """Return the image in a feature of each record, as arrays (height, width, channels)."""
    return TensorBuffer(
        lambda values: [decode_image(_bytes_of(record, name), color_space) for record in values],
        records,
    )
