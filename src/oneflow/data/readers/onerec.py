"""OneRec files: records of named tensors in frames with checksums.

A frame is the eight bytes ``^ONEREC$``, an int32 that is zero, an int32 with the length of the
message, their checksum, the message filled with zeros up to a multiple of eight bytes, and the
checksum of the message. Numbers are little endian; a checksum is the 64-bit xxHash with seed 0,
big endian. The message is a FlatBuffer with the identifier ``1REC``::

    table Example { features: [Feature]; }            // sorted by name
    table Feature { name: string (key); tensor: Tensor; }
    table Tensor  { shape: [int]; data: TensorData; }
    union TensorData { Int8List, Int16List, Int32List, Int64List, Float32List, Float64List,
                       StringList, BinaryList }

A list is a table with the one field ``values``; those of a `BinaryList` are tables of bytes.
"""

from __future__ import annotations

import importlib
import os
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import IO, Any

import numpy as np

from oneflow.base.extras import extra
from oneflow.data.readers.bounded_read import read_up_to

_MAGIC = b"^ONEREC$"
_IDENTIFIER = b"1REC"
_HEADER = struct.Struct("<8sii")
_HASH_SIZE = 8
# The members of `TensorData`.
_KINDS = {
    1: np.dtype("<i1"),
    2: np.dtype("<i2"),
    3: np.dtype("<i4"),
    4: np.dtype("<i8"),
    5: np.dtype("<f4"),
    6: np.dtype("<f8"),
}
_MEMBERS = {dtype: member for member, dtype in _KINDS.items()}
_STRINGS, _BINARY = 7, 8


@dataclass(frozen=True)
class OneRecTensor:
    """A feature of a OneRec record.

    Attributes:
        shape: as the record states it.
        values: all numbers in one dimension, or a list of texts or bytes.
    """

    shape: tuple[int, ...]
    values: np.ndarray | list[str] | list[bytes]


@cache
def _package(name: str) -> Any:
    """Return an optional package.

    Raises:
        ModuleNotFoundError: it is missing.
    """
    with extra("onerec", "a file of OneRec records"):
        return importlib.import_module(name)


def check_packages() -> None:
    """Check that the packages are there that read and write OneRec files.

    Raises:
        ModuleNotFoundError: one is missing.
    """
    for name in ("flatbuffers", "xxhash"):
        _package(name)


# --- messages


def encode_example(record: Mapping[str, Any]) -> bytes:
    """Return the message of a record.

    Args:
        record: numbers and arrays of them, texts, bytes, or lists of these, by name. A value
            without dimensions gets one. Truth values become int8, Python's numbers int64 and
            float32.

    Raises:
        TypeError: a feature is something else.
    """
    builder = _package("flatbuffers").Builder(1024)
    features = []
    for name, value in sorted(record.items(), key=lambda item: item[0].encode()):
        tensor = _add_tensor(builder, name, value)
        features.append(_add_table(builder, builder.CreateString(name), tensor))
    builder.Finish(_add_table(builder, _add_offsets(builder, features)), _IDENTIFIER)
    return bytes(builder.Output())


def _add_table(builder: Any, *offsets: int) -> int:
    builder.StartObject(len(offsets))
    for slot, offset in enumerate(offsets):
        builder.PrependUOffsetTRelativeSlot(slot, offset, 0)
    return builder.EndObject()


def _add_offsets(builder: Any, offsets: list[int]) -> int:
    builder.StartVector(4, len(offsets), 4)
    for offset in reversed(offsets):
        builder.PrependUOffsetTRelative(offset)
    return builder.EndVector()


def _add_tensor(builder: Any, name: str, value: Any) -> int:
    strings = [value] if isinstance(value, str | bytes) else value
    if isinstance(strings, list | tuple) and strings and isinstance(strings[0], str | bytes):
        member = _STRINGS if isinstance(strings[0], str) else _BINARY
        if any(type(string) is not type(strings[0]) for string in strings):
            raise TypeError(f"feature `{name}` must be only texts or only bytes")
        shape = (len(strings),)
        values = _add_offsets(builder, [_add_text(builder, string) for string in strings])
    else:
        array = np.atleast_1d(np.asarray(value))
        dtype = _stored_dtype(name, array.dtype, isinstance(value, np.ndarray | np.generic))
        member, shape = _MEMBERS[dtype], array.shape
        values = builder.CreateNumpyVector(array.astype(dtype).reshape(-1))
    content = _add_table(builder, values)
    dims = builder.CreateNumpyVector(np.asarray(shape, "<i4"))
    builder.StartObject(3)
    builder.PrependUOffsetTRelativeSlot(0, dims, 0)
    builder.PrependUint8Slot(1, member, 0)
    builder.PrependUOffsetTRelativeSlot(2, content, 0)
    return builder.EndObject()


def _add_text(builder: Any, text: str | bytes) -> int:
    if isinstance(text, str):
        return builder.CreateString(text)
    return _add_table(builder, builder.CreateByteVector(text))


def _stored_dtype(name: str, dtype: np.dtype, is_exact: bool) -> np.dtype:
    if dtype.kind == "b":
        return _KINDS[1]
    if dtype == np.float64 and not is_exact:
        return _KINDS[5]
    if dtype not in _MEMBERS:
        raise TypeError(
            f"feature `{name}` must be texts, bytes, or int8 to int64, float32 and float64, "
            f"got {dtype}"
        )
    return dtype.newbyteorder("<")


def decode_example(data: bytes, verify: bool = True) -> dict[str, OneRecTensor]:
    """Return the features of a message by name, except features without a tensor.

    Args:
        data: the message.
        verify: whether its identifier must be that of OneRec.

    Raises:
        ValueError: it is no message of a record.
    """
    if verify and data[4:8] != _IDENTIFIER:
        raise ValueError(f"the message has the identifier {data[4:8]!r}, not {_IDENTIFIER!r}")
    try:
        root = _table(data, 0)
        features = _tables(_table(data, root.Indirect(0)), 0)
        return {
            _text(feature, feature.Pos + _field(feature, 0)): _tensor(tensor)
            for feature in features
            if (tensor := _child(feature, 1)) is not None
        }
    except (struct.error, IndexError, TypeError, ValueError) as error:
        raise ValueError(f"the message is damaged ({error})") from error


def _table(data: bytes, position: int) -> Any:
    return _package("flatbuffers").Table(data, position)


def _field(table: Any, slot: int) -> int:
    """Return where a field is, from the start of the table; 0 if it is missing."""
    return table.Offset(4 + 2 * slot)


def _child(table: Any, slot: int) -> Any:
    field = _field(table, slot)
    return _table(table.Bytes, table.Indirect(table.Pos + field)) if field else None


def _elements(table: Any, slot: int) -> list[int]:
    """Return the positions of the offsets in a vector."""
    field = _field(table, slot)
    if not field:
        return []
    start = table.Vector(field)
    end = start + 4 * table.VectorLen(field)
    if end > len(table.Bytes):
        raise ValueError(f"a list ends at byte {end} of {len(table.Bytes)}")
    return list(range(start, end, 4))


def _tables(table: Any, slot: int) -> list:
    return [_table(table.Bytes, table.Indirect(element)) for element in _elements(table, slot)]


def _text(table: Any, position: int) -> str:
    return table.String(position).decode()


def _numbers(table: Any, slot: int, dtype: np.dtype) -> np.ndarray:
    field = _field(table, slot)
    if not field:
        return np.empty(0, dtype)
    return np.frombuffer(table.Bytes, dtype, table.VectorLen(field), table.Vector(field))


def _tensor(table: Any) -> OneRecTensor:
    shape = tuple(_numbers(table, 0, _KINDS[3]).tolist())
    field, content = _field(table, 1), _child(table, 2)
    member = table.Bytes[table.Pos + field] if field else 0
    if content is None or member not in {*_KINDS, _STRINGS, _BINARY}:
        raise ValueError(f"a tensor has values of the unknown kind {member}")
    if member == _STRINGS:
        return OneRecTensor(shape, [_text(content, at) for at in _elements(content, 0)])
    if member == _BINARY:
        values = _tables(content, 0)
        return OneRecTensor(shape, [_numbers(value, 0, _KINDS[1]).tobytes() for value in values])
    return OneRecTensor(shape, _numbers(content, 0, _KINDS[member]))


# --- files


class OneRecWriter:
    """A file of OneRec records.

    Args:
        path: the path of the file; an existing one is replaced.

    Raises:
        ImportError: a package of the extra `onerec` is missing.

    Example:
        >>> import tempfile
        >>> import oneflow as flow
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     with flow.data.OneRecWriter(f"{folder}/a.onerec") as file:
        ...         file.write({"labels": [7], "dense": [0.5, 1.5]})
        ...     reader = flow.nn.OneRecReader([f"{folder}/a.onerec"], 1, False, "instance")
        ...     flow.decode_onerec(reader(), "dense", flow.float32, (2,)).tolist()
        [[0.5, 1.5]]
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        check_packages()
        self._file: IO[bytes] = Path(path).open("wb")  # noqa: SIM115, closed by `close`

    def write(self, record: Mapping[str, Any]) -> None:
        """Append a record; see `encode_example`."""
        message = encode_example(record)
        header = _HEADER.pack(_MAGIC, 0, len(message))
        padding = bytes(-len(message) % 8)
        self._file.write(header + _hash(header) + message + padding + _hash(message))

    def close(self) -> None:
        """Finish the file."""
        self._file.close()

    def __enter__(self) -> OneRecWriter:
        return self

    def __exit__(self, *error: Any) -> None:
        self.close()


def _hash(data: bytes) -> bytes:
    return _package("xxhash").xxh64(data).digest()


def read_examples(path: Path, verify: bool = True) -> Iterator[dict[str, OneRecTensor]]:
    """Yield the records of a file.

    Args:
        path: the path of the file.
        verify: see `decode_example`; checksums are always compared.

    Raises:
        ValueError: the file is truncated or damaged; names it and the byte.
    """
    with path.open("rb") as file:
        start = 0
        while header := file.read(_HEADER.size + _HASH_SIZE):
            try:
                yield decode_example(_read_message(header, file), verify)
            except ValueError as error:
                raise ValueError(f"{path}: the record at byte {start}: {error}") from error
            start = file.tell()


def _read_message(header: bytes, file: IO[bytes]) -> bytes:
    """Return the message of the frame with this header."""
    if len(header) < _HEADER.size + _HASH_SIZE:
        raise ValueError("the file is truncated")
    magic, reserved, size = _HEADER.unpack_from(header)
    if magic != _MAGIC or reserved != 0 or size < 0:
        raise ValueError("this is no OneRec file, or it is damaged")
    if header[_HEADER.size :] != _hash(header[: _HEADER.size]):
        raise ValueError("the checksum of the header is wrong")
    padding = -size % 8
    body = read_up_to(file, size + padding + _HASH_SIZE)
    if len(body) < size + padding + _HASH_SIZE:
        raise ValueError("the file is truncated")
    if body[size + padding :] != _hash(body[:size]):
        raise ValueError("the checksum of the message is wrong")
    return body[:size]
