"""Batches of OneRec records, and their features as tensors."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from oneflow.base.dtype import DType
from oneflow.data.readers.onerec import OneRecTensor, check_packages, read_examples
from oneflow.data.readers.records import BatchSource, ShuffleOptions, file_source
from oneflow.data.readers.tensor_buffer import TensorBuffer, dense
from oneflow.tensor.batch_sharding import BatchSharding
from oneflow.tensor.tensor import Tensor


def onerec_source(
    files: Sequence[str | os.PathLike[str]],
    batch_size: int,
    shuffle_mode: str,
    shuffle: ShuffleOptions,
    verify_example: bool,
    sharding: BatchSharding,
) -> BatchSource:
    """Return batches of the records of OneRec files; each shard has files of its own.

    Args:
        files: paths of the files.
        batch_size: records of a batch.
        shuffle_mode: the unit that is drawn at random, if records are shuffled: "instance" for
            single records, "batch" for batches that lie together in the files.
        shuffle: the order.
        verify_example: whether messages must have the identifier of OneRec.
        sharding: the devices.

    Raises:
        FileNotFoundError: a file is missing.
        ImportError: a package of the extra `onerec` is missing.
        ValueError: the mode is another one, there are no files, or fewer than devices.
    """
    check_packages()
    if shuffle_mode not in ("instance", "batch"):
        raise ValueError(f'`shuffle_mode` must be "instance" or "batch", got {shuffle_mode!r}')
    if isinstance(files, str | os.PathLike) or not files:
        raise ValueError(f"`files` must be a list of paths, got {files!r}")
    paths = [Path(file) for file in files]
    for path in paths:
        if not path.is_file():
            raise FileNotFoundError(f"{path} is missing; `files` names it")

    def read_file(path: Path) -> Iterator[dict[str, OneRecTensor]]:
        return read_examples(path, verify_example)

    group = sharding.shard_size(batch_size) if shuffle_mode == "batch" else 1
    return file_source(paths, read_file, batch_size, shuffle, sharding, group)


def decode_onerec(
    input: TensorBuffer,
    key: str,
    dtype: DType,
    shape: Sequence[int],
    is_dynamic: bool = False,
    reshape: Sequence[int] | None = None,
    batch_padding: Sequence[int] | None = None,
) -> Tensor:
    """Return a feature of each OneRec record, as a tensor.

    Args:
        input: records from `oneflow.nn.OneRecReader`.
        key: name of the feature.
        dtype: int8, int16, int32, int64, float32 or float64, as the feature is stored.
        shape: the shape of each value; the largest with `is_dynamic`.
        is_dynamic: let the tensor have the shape that the values of a batch have.
        reshape: give each value this shape first; one size may be -1.
        batch_padding: fill values with zeros along their first dimension: to the size
            ``batch_padding[0]``, or to that of the longest value of the batch if it is -1. The
            other numbers must be 0.

    Returns:
        A tensor ``(N, *shape)``.

    Raises:
        KeyError: a record does not have the feature.
        RuntimeError: `is_dynamic` while a graph or job is recorded, or with several devices.
        TypeError: `input` are no OneRec records, or the feature is stored in another dtype.
        ValueError: the values have another shape.

    Example:
        >>> import tempfile
        >>> import oneflow as flow
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     with flow.data.OneRecWriter(f"{folder}/a.onerec") as file:
        ...         file.write({"ids": [1, 2]})
        ...         file.write({"ids": [3]})
        ...     records = flow.nn.OneRecReader([f"{folder}/a.onerec"], 2, False, "batch")()
        ...     flow.decode_onerec(records, "ids", flow.int64, (3,), batch_padding=(3,)).tolist()
        [[1, 2, 0], [3, 0, 0]]
    """
    static = tuple(shape)
    _check_options(static, reshape, batch_padding)
    if is_dynamic and (input.is_deferred or input.sharding.shards > 1):
        raise RuntimeError(
            "`is_dynamic` gives the tensor a shape that is known when a batch is read; a graph, a "
            "job and several devices need one before: use `batch_padding` and is_dynamic=False"
        )

    def decode(records: list) -> list[np.ndarray]:
        values = [_value(record, key, dtype, len(static), reshape) for record in records]
        if batch_padding is not None and batch_padding[0]:
            values = _padded(values, batch_padding[0], key)
        shapes = {value.shape for value in values}
        if len(shapes) > 1 or (not is_dynamic and shapes != {static}):
            raise ValueError(
                f"feature `{key}` has values of the shapes {sorted(shapes)}, and `shape` is "
                f"{static}; `reshape` and `batch_padding` give them one shape"
            )
        if math.prod(values[0].shape) > math.prod(static):
            raise ValueError(f"feature `{key}` has the shape {values[0].shape}, more than {static}")
        return values

    return dense(TensorBuffer(decode, input), None if is_dynamic else static, dtype)


def _check_options(
    shape: tuple[int, ...], reshape: Sequence[int] | None, batch_padding: Sequence[int] | None
) -> None:
    for name, sizes in (("reshape", reshape), ("batch_padding", batch_padding)):
        if sizes is not None and len(sizes) != len(shape):
            raise ValueError(f"`{name}` must have the length of `shape`, {len(shape)}, got {sizes}")
    if batch_padding is not None and (
        not shape or batch_padding[0] < -1 or any(size != 0 for size in batch_padding[1:])
    ):
        raise ValueError(
            f"`batch_padding` must be a size, 0 or -1, and zeros behind it, got {batch_padding}"
        )


def _value(
    record: object, key: str, dtype: DType, ndim: int, reshape: Sequence[int] | None
) -> np.ndarray:
    tensor = record.get(key) if isinstance(record, dict) else None
    if tensor is None and isinstance(record, dict):
        raise KeyError(f"the record has no feature `{key}`; it has {', '.join(sorted(record))}")
    if not isinstance(tensor, OneRecTensor):
        raise TypeError("`decode_onerec` takes the records of a OneRecReader")
    values = tensor.values
    if isinstance(values, list) or values.dtype != dtype.numpy:
        stored = "texts or bytes" if isinstance(values, list) else values.dtype
        raise TypeError(f"feature `{key}` is stored as {stored}, and `dtype` is {dtype}")
    expected = tensor.shape if reshape is None else tuple(reshape)
    try:
        value = values.reshape(expected)
    except ValueError as error:
        raise ValueError(
            f"feature `{key}` has {values.size} elements, which is no shape {expected}"
        ) from error
    if value.ndim != ndim:
        raise ValueError(f"feature `{key}` has the shape {value.shape}, and `shape` {ndim} sizes")
    return value


def _padded(values: list[np.ndarray], size: int, key: str) -> list[np.ndarray]:
    longest = max(len(value) for value in values)
    if size != -1 and longest > size:
        raise ValueError(f"feature `{key}` has the length {longest}; `batch_padding` is {size}")
    size = longest if size == -1 else size
    return [
        np.pad(value, [(0, size - len(value))] + [(0, 0)] * (value.ndim - 1)) for value in values
    ]
