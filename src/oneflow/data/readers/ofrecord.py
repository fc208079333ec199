"""OFRecord files: records of named features, one after the other.

A file is a row of records, each an int64 with its length in bytes and a message
``OFRecord {map<string, Feature> feature = 1}``. A `Feature` has one of five lists: of bytes,
float32, float64, int32 or int64 (fields 1 to 5). All numbers are little endian.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np

from oneflow.data.readers.bounded_read import read_up_to
from oneflow.data.readers.protobuf import (
    LENGTH,
    DecodeError,
    decode_varint,
    encode_field,
    encode_varint,
    fields,
)

Feature = list[bytes] | np.ndarray
Record = dict[str, Feature]

_BYTES = 1
# The field of each kind of numbers in a `Feature`.
_KINDS = {2: np.dtype("<f4"), 3: np.dtype("<f8"), 4: np.dtype("<i4"), 5: np.dtype("<i8")}
_FIELDS = {dtype: number for number, dtype in _KINDS.items()}
_LENGTH = struct.Struct("<q")


def encode_record(record: Mapping[str, Any]) -> bytes:
    """Return the message of a record.

    Args:
        record: bytes, lists of bytes, or numbers and arrays of them, by name. Truth values and
            small integers become int32, float16 becomes float32.

    Raises:
        TypeError: a feature is something else.
    """
    entries = (
        encode_field(1, name.encode()) + encode_field(2, _encode_feature(name, value))
        for name, value in record.items()
    )
    return b"".join(encode_field(1, entry) for entry in entries)


def _encode_feature(name: str, value: Any) -> bytes:
    if isinstance(value, bytes | str):
        value = [value]
    if isinstance(value, Sequence) and value and isinstance(value[0], bytes | str):
        encoded = [item.encode() if isinstance(item, str) else item for item in value]
        return encode_field(_BYTES, b"".join(encode_field(1, item) for item in encoded))
    array = np.asarray(value).reshape(-1)
    if array.dtype.kind not in "bif" and array.dtype != np.uint8:
        raise TypeError(
            f"feature `{name}` must be bytes, integers or floating point numbers, "
            f"got {array.dtype if isinstance(value, np.ndarray) else type(value).__name__}"
        )
    dtype = _stored_dtype(array.dtype)
    packed = array.astype(dtype)
    if dtype.kind == "i":
        content = b"".join(map(encode_varint, packed.tolist()))
    else:
        content = packed.tobytes()
    return encode_field(_FIELDS[dtype], encode_field(1, content))


def _stored_dtype(dtype: np.dtype) -> np.dtype:
    if dtype.kind == "f":
        return _KINDS[3] if dtype.itemsize == 8 else _KINDS[2]
    return _KINDS[5] if dtype.itemsize == 8 else _KINDS[4]


def decode_record(data: bytes) -> Record:
    """Return the features of a message by name.

    Raises:
        DecodeError: it is no message of a record.
    """
    record: Record = {}
    for number, wire_type, entry in fields(memoryview(data)):
        if number != 1 or wire_type != LENGTH or isinstance(entry, int):
            continue
        name, feature = "", memoryview(b"")
        for key, _, content in fields(entry):
            if isinstance(content, int):
                continue
            if key == 1:
                name = bytes(content).decode()
            elif key == 2:
                feature = content
        record[name] = _decode_feature(feature)
    return record


def _decode_feature(data: memoryview) -> Feature:
    for number, _, content in fields(data):
        if isinstance(content, int):
            continue
        if number == _BYTES:
            return [bytes(field) for key, _, field in fields(content) if not isinstance(field, int)]
        if number in _KINDS:
            return _decode_numbers(content, _KINDS[number])
    return []


def _decode_numbers(data: memoryview, dtype: np.dtype) -> np.ndarray:
    """Return the numbers of a list, packed or each as a field of its own."""
    parts: list[np.ndarray] = []
    for number, wire_type, content in fields(data):
        if number != 1:
            continue
        if isinstance(content, int):
            parts.append(_signed([content], dtype))
        elif dtype.kind == "i" and wire_type == LENGTH:
            parts.append(_signed(_integers(content), dtype))
        elif len(content) % dtype.itemsize:
            raise DecodeError(f"{len(content)} bytes are no list of {dtype}")
        else:
            parts.append(np.frombuffer(content, dtype))
    return np.concatenate(parts) if parts else np.empty(0, dtype)


def _integers(data: memoryview) -> list[int]:
    numbers, position = [], 0
    while position < len(data):
        number, position = decode_varint(data, position)
        numbers.append(number)
    return numbers


def _signed(numbers: list[int], dtype: np.dtype) -> np.ndarray:
    return np.array(numbers, np.uint64).view(np.int64).astype(dtype)


class OFRecordWriter:
    """A file of records.

    Args:
        path: the path of the file; an existing one is replaced.

    Example:
        >>> import tempfile
        >>> import oneflow as flow
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     with flow.data.OFRecordWriter(f"{folder}/part-0") as file:
        ...         for label in range(4):
        ...             file.write({"label": label, "pixels": [0.5 * label, 1.0]})
        ...     records = flow.nn.OFRecordReader(folder, batch_size=2)()
        ...     flow.nn.OFRecordRawDecoder("pixels", (2,), flow.float32)(records).tolist()
        [[0.0, 1.0], [0.5, 1.0]]
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._file: IO[bytes] = Path(path).open("wb")  # noqa: SIM115, closed by `close`

    def write(self, record: Mapping[str, Any]) -> None:
        """Append a record; see `encode_record`."""
        message = encode_record(record)
        self._file.write(_LENGTH.pack(len(message)) + message)

    def close(self) -> None:
        """Finish the file."""
        self._file.close()

    def __enter__(self) -> OFRecordWriter:
        return self

    def __exit__(self, *error: Any) -> None:
        self.close()


def read_records(path: Path) -> Iterator[Record]:
    """Yield the records of a file.

    Raises:
        ValueError: the file is truncated or damaged; names it and the byte.
    """
    with path.open("rb") as file:
        while header := file.read(_LENGTH.size):
            start = file.tell() - len(header)
            size = _LENGTH.unpack(header)[0] if len(header) == _LENGTH.size else -1
            message = read_up_to(file, size)
            if size < 0 or len(message) < size:
                raise ValueError(
                    f"{path} is truncated or is no OFRecord file: the record at byte {start} "
                    "is not complete"
                )
            try:
                record = decode_record(message)
            except (DecodeError, UnicodeDecodeError) as error:
                raise ValueError(
                    f"{path} is damaged: the record at byte {start}: {error}"
                ) from error
            yield record
