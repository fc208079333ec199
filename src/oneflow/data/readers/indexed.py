"""Sources of samples that have numbers: arrays in files, and texts as Megatron-LM stores them."""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from oneflow.base.dtype import DType
from oneflow.data.readers.records import BatchSource
from oneflow.data.readers.streams import epoch_orders, random_order, repeat_epochs, shard_range
from oneflow.tensor.batch_sharding import BatchSharding


def raw_source(
    files: Sequence[str | os.PathLike[str]],
    shape: Sequence[int],
    dtype: DType,
    batch_size: int,
    block_size: int | None,
    seed: int | None,
    sharding: BatchSharding,
) -> BatchSource:
    """Return batches of arrays that lie one after the other in files.

    Args:
        files: their paths.
        shape: the shape of each array.
        dtype: the dtype of each array.
        batch_size: arrays of a batch.
        block_size: bytes that keep their order when blocks are shuffled; None shuffles nothing.
        seed: the seed of the shuffling.
        sharding: the devices.

    Raises:
        ValueError: a file's size is no multiple of an array's.
    """
    size = int(np.prod(shape, dtype=int))
    arrays: list[np.ndarray] = []
    for file in files:
        bytes_in_file = Path(file).stat().st_size
        if bytes_in_file == 0 or bytes_in_file % (size * dtype.itemsize):
            raise ValueError(
                f"{file} has {bytes_in_file} bytes, which is no multiple of the "
                f"{size * dtype.itemsize} of an array of {tuple(shape)} {dtype.name}; "
                "it is truncated, or `shape` or `dtype` is wrong"
            )
        arrays.append(np.memmap(file, dtype.numpy, "r").reshape(-1, *shape))
    ends = np.cumsum([len(array) for array in arrays])
    block = max((block_size or 0) // (size * dtype.itemsize), 1)

    def sample(index: int) -> np.ndarray:
        file = int(np.searchsorted(ends, index, "right"))
        return np.array(arrays[file][index - ends[file] + len(arrays[file])])

    def stream(shard: int) -> Iterator[np.ndarray]:
        indices = shard_range(int(ends[-1]) if arrays else 0, shard, sharding.shards)
        blocks = range(0, len(indices), block)
        random = None if block_size is None else random_order(seed, shard)
        orders = epoch_orders(blocks, random)

        def read_epoch(epoch: int) -> Iterator[np.ndarray]:
            for start in orders(epoch):
                yield from map(sample, indices[start : start + block])

        return repeat_epochs(read_epoch, "the files")

    return BatchSource(sharding, batch_size, stream)


# --- Megatron-LM's indexed data sets

_MAGIC = b"MMIDIDX\x00\x00"
_DTYPES = {1: "u1", 2: "i1", 3: "<i2", 4: "<i4", 5: "<i8", 6: "<f4", 7: "<f8", 8: "<u2"}


@dataclass(frozen=True)
class IndexedTokens:
    """The tokens of a data set that Megatron-LM has stored: a file ``.bin``, its index ``.idx``.

    Attributes:
        tokens: all tokens.
        starts: the number of the first token of each document, and the number of all tokens.
    """

    tokens: np.ndarray
    starts: np.ndarray


def read_indexed_tokens(prefix: str) -> IndexedTokens:
    """Return the tokens of ``prefix.bin`` with the index ``prefix.idx``.

    The index has the bytes ``MMIDIDX``, two zeros, the version 1 (int64), the code of the tokens'
    dtype (int8), the number of sequences and that of document borders (int64); then the length
    (int32) and the first byte (int64) of each sequence, and the borders (int64): the number of the
    first sequence of each document, and of all sequences.

    Raises:
        FileNotFoundError: one of the two is missing.
        ValueError: the index is damaged, or the tokens do not fit it.
    """
    index = Path(f"{prefix}.idx").read_bytes()
    header = struct.Struct("<QBQQ")
    if not index.startswith(_MAGIC) or len(index) < len(_MAGIC) + header.size:
        raise ValueError(f"{prefix}.idx is no index of Megatron-LM's indexed data sets")
    version, code, sequences, boundaries = header.unpack_from(index, len(_MAGIC))
    body = len(_MAGIC) + header.size
    if version != 1 or code not in _DTYPES or len(index) != body + 12 * sequences + 8 * boundaries:
        raise ValueError(
            f"{prefix}.idx is damaged: version {version}, dtype {code}, {sequences} sequences and "
            f"{boundaries} borders of documents in {len(index)} bytes"
        )
    lengths = np.frombuffer(index, "<i4", sequences, body)
    bounds = np.frombuffer(index, "<i8", boundaries, body + 12 * sequences)
    if (lengths < 0).any() or (np.diff(bounds, prepend=0, append=sequences) < 0).any():
        raise ValueError(
            f"{prefix}.idx is damaged: a length is negative, or the borders of documents do not "
            f"rise from 0 to {sequences}"
        )
    ends = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])
    tokens = np.memmap(f"{prefix}.bin", np.dtype(_DTYPES[code]), "r")
    if len(tokens) < ends[-1] or (boundaries and bounds[-1] != sequences):
        raise ValueError(
            f"{prefix}.bin is truncated: it has {len(tokens)} tokens, and its index {ends[-1]}"
        )
    return IndexedTokens(tokens, ends[bounds])


def write_indexed_tokens(prefix: str, sequences: Sequence[np.ndarray]) -> None:
    """Write documents as Megatron-LM does; see `read_indexed_tokens`.

    Raises:
        ValueError: there are none, or their dtypes differ.
    """
    codes = {np.dtype(text): code for code, text in _DTYPES.items()}
    dtypes = {sequence.dtype for sequence in sequences}
    if len(dtypes) != 1 or not dtypes <= codes.keys():
        raise ValueError(f"documents must be arrays of one dtype of numbers, got {dtypes}")
    dtype = dtypes.pop()
    lengths = np.array([len(sequence) for sequence in sequences], "<i4")
    first_bytes = np.concatenate([[0], np.cumsum(lengths, dtype="<i8")[:-1] * dtype.itemsize])
    header = struct.pack("<QBQQ", 1, codes[dtype], len(sequences), len(sequences) + 1)
    Path(f"{prefix}.bin").write_bytes(np.concatenate(sequences).tobytes())
    Path(f"{prefix}.idx").write_bytes(
        _MAGIC
        + header
        + lengths.tobytes()
        + first_bytes.astype("<i8").tobytes()
        + np.arange(len(sequences) + 1, dtype="<i8").tobytes()
    )


def token_source(
    indexed: IndexedTokens,
    seq_length: int,
    num_samples: int,
    batch_size: int,
    dtype: DType,
    part: slice,
    random: np.random.Generator | None,
    sharding: BatchSharding,
) -> BatchSource:
    """Return batches of samples of ``seq_length + 1`` tokens.

    The documents of the part are joined, in another random order for each epoch, and cut into
    samples; the last token of a sample is the first of the next.

    Args:
        indexed: the tokens.
        seq_length: tokens of a sample, without the one that follows.
        num_samples: number of samples after which they come again.
        batch_size: samples of a batch.
        dtype: the dtype of the tensors.
        part: the documents to take.
        random: draws the orders; None leaves documents and samples as they are.
        sharding: the devices.

    Raises:
        ValueError: the documents have no tokens.
    """
    numbers = np.arange(len(indexed.starts) - 1)[part]
    size = int(np.diff(indexed.starts)[part].sum())
    if size < 1:
        raise ValueError("the documents of this part have no tokens")
    epochs = -(-(num_samples * seq_length + 1) // size)
    orders = [numbers if random is None else random.permutation(numbers) for _ in range(epochs)]
    order = np.concatenate(orders)
    starts, ends = indexed.starts[order], indexed.starts[order + 1]
    offsets = np.concatenate([[0], np.cumsum(ends - starts)])
    samples = np.arange(num_samples) if random is None else random.permutation(num_samples)

    def sample(number: int) -> np.ndarray:
        start, end = number * seq_length, (number + 1) * seq_length + 1
        first = int(np.searchsorted(offsets, start, "right")) - 1
        last = int(np.searchsorted(offsets, end, "left"))
        parts = [
            indexed.tokens[
                starts[k] + max(start - offsets[k], 0) : min(ends[k], starts[k] + end - offsets[k])
            ]
            for k in range(first, last)
        ]
        return np.concatenate(parts).astype(dtype.numpy)

    def stream(shard: int) -> Iterator[np.ndarray]:
        numbers = samples[shard :: sharding.shards].tolist()
        return repeat_epochs(lambda epoch: map(sample, numbers), "the texts")

    return BatchSource(sharding, batch_size, stream)


def split_range(
    count: int, split_sizes: Sequence[str | float] | None, split_index: int | None
) -> slice:
    """Return the part of the documents that weights such as ``("949", "50", "1")`` give a split.

    Raises:
        ValueError: there is no split of that index.

    Example:
        >>> from oneflow.data.readers.indexed import split_range
        >>> split_range(10, ("7", "2", "1"), 1)
        slice(7, 9, None)
    """
    if split_sizes is None:
        return slice(0, count)
    index = 0 if split_index is None else split_index
    if not 0 <= index < len(split_sizes):
        raise ValueError(f"`split_index` is {index}, and there are {len(split_sizes)} splits")
    weights = np.array([float(split_size) for split_size in split_sizes])
    boundaries = np.rint(np.concatenate([[0], np.cumsum(weights)]) / weights.sum() * count)
    return slice(int(boundaries[index]), int(boundaries[index + 1]))
