"""Files in the safetensors format: read through the safetensors library, written here.

The library would write a file all at once, from a copy of all arrays if the target is an open file,
and does not name a full disk. A complex128 array, which the format lacks, is stored as float64 with
a last dimension of 2; the metadata of files that are written here list the names of those.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO

import ml_dtypes
import numpy as np
import safetensors

from oneflow.checkpoint.atomic_file import atomic_write
from oneflow.checkpoint.load_errors import load_errors
from oneflow.checkpoint.narrow_types import NARROW_TYPES
from oneflow.checkpoint.streams import is_seekable

FORMAT = "oneflow"
_COMPLEX = "complex"
# The library reads no longer ones.
_LONGEST_HEADER = 100_000_000
_NUMPY_TYPES = {
    "BOOL": np.bool_,
    "U8": np.uint8,
    "I8": np.int8,
    "U16": np.uint16,
    "I16": np.int16,
    "U32": np.uint32,
    "I32": np.int32,
    "U64": np.uint64,
    "I64": np.int64,
    "F16": np.float16,
    "BF16": ml_dtypes.bfloat16,
    "F32": np.float32,
    "F64": np.float64,
    "C64": np.complex64,
}
_KINDS = {np.dtype(numpy_type): kind for kind, numpy_type in _NUMPY_TYPES.items()}


class TensorFile:
    """An open file: its metadata, and its arrays, which are read on demand.

    Attributes:
        metadata: text by name.
        names: names of the arrays.

    Args:
        label: what error messages call it.
    """

    def __init__(self, label: Any, names: list[str], metadata: Mapping[str, str]) -> None:
        self.names = names
        self.metadata = dict(metadata)
        self._label = label
        self._pairs: set[str] = set()
        if self.metadata.get("format") == FORMAT:
            self._pairs.update(json.loads(self.metadata.get(_COMPLEX, "[]")))
        for name in self._pairs:
            shape, kind = self._header(name)
            if kind != "F64" or shape[-1:] != (2,):
                raise ValueError(f"`{name}` cannot hold complex numbers")

    def shape_and_dtype(self, name: str) -> tuple[tuple[int, ...], np.dtype]:
        """Shape and dtype of the array called `name`.

        Raises:
            RuntimeError: there is none, or its type is not supported.
        """
        with load_errors(self._label):
            shape, kind = self._header(name)
            if name in self._pairs:
                return shape[:-1], np.dtype(np.complex128)
            if kind in NARROW_TYPES:
                return shape, NARROW_TYPES[kind].read_as
            if kind not in _NUMPY_TYPES:
                raise ValueError(f"`{name}` has the type {kind}, which is not supported")
            return shape, np.dtype(_NUMPY_TYPES[kind])

    def read(self, name: str) -> np.ndarray:
        """The array called `name`.

        Raises:
            RuntimeError: there is none, or its type is not supported.
        """
        self.shape_and_dtype(name)
        with load_errors(self._label):
            return self._joined(name, self._all(name))

    def part(self, name: str, slices: tuple[slice, ...]) -> np.ndarray:
        """A part of an array: slices with start and stop, one per dimension."""
        shape, dtype = self.shape_and_dtype(name)
        sizes = tuple([region.stop - region.start for region in slices])
        if sizes == shape:
            return self.read(name)
        if 0 in sizes:
            # The library refuses to read nothing.
            return np.empty(sizes, dtype)
        with load_errors(self._label):
            return self._joined(name, self._part(name, slices))

    def _joined(self, name: str, array: np.ndarray) -> np.ndarray:
        if name in self._pairs:
            return array.view(np.complex128)[..., 0]
        kind = self._header(name)[1]
        return NARROW_TYPES[kind].widened(array) if kind in NARROW_TYPES else array

    def _header(self, name: str) -> tuple[tuple[int, ...], str]:
        """Shape and dtype as the file says it."""
        raise NotImplementedError

    def _all(self, name: str) -> np.ndarray:
        raise NotImplementedError

    def _part(self, name: str, slices: tuple[slice, ...]) -> np.ndarray:
        raise NotImplementedError


class _MappedFile(TensorFile):
    """A file that is mapped into memory."""

    def __init__(self, path: Path, handle: Any) -> None:
        self._handle, self._path = handle, path
        super().__init__(path, list(handle.keys()), handle.metadata() or {})

    def _header(self, name: str) -> tuple[tuple[int, ...], str]:
        content = self._handle.get_slice(name)
        return tuple(content.get_shape()), content.get_dtype()

    def _all(self, name: str) -> np.ndarray:
        _, kind = self._header(name)
        return self._narrow(name) if kind in NARROW_TYPES else self._handle.get_tensor(name)

    def _part(self, name: str, slices: tuple[slice, ...]) -> np.ndarray:
        _, kind = self._header(name)
        if kind in NARROW_TYPES:
            return self._narrow(name)[slices]
        return self._handle.get_slice(name)[slices]

    def _narrow(self, name: str) -> np.ndarray:
        """An array of a type for which the library asks NumPy, which lacks it."""
        shape, kind = self._header(name)
        with self._path.open("rb") as file:
            length = int.from_bytes(file.read(8), "little")
            start, end = json.loads(file.read(length))[name]["data_offsets"]
            file.seek(start, os.SEEK_CUR)
            content = file.read(end - start)
        return np.frombuffer(content, NARROW_TYPES[kind].numpy).reshape(shape)


class _TensorContent(TensorFile):
    """The content of a file."""

    def __init__(self, views: dict[str, Any], metadata: Mapping[str, str]) -> None:
        self._views = views
        super().__init__("the data", list(views), metadata)

    def _header(self, name: str) -> tuple[tuple[int, ...], str]:
        return tuple(self._views[name]["shape"]), self._views[name]["dtype"]

    def _all(self, name: str) -> np.ndarray:
        shape, kind = self._header(name)
        dtype = NARROW_TYPES[kind].numpy if kind in NARROW_TYPES else _NUMPY_TYPES[kind]
        return np.frombuffer(self._views[name]["data"], dtype).reshape(shape)

    def _part(self, name: str, slices: tuple[slice, ...]) -> np.ndarray:
        return self._all(name)[slices]


def open_path(path: Path) -> TensorFile:
    """Open a file; arrays are mapped from disk.

    Raises:
        RuntimeError: it is damaged or not in this format.
    """
    with load_errors(path):
        return _MappedFile(path, safetensors.safe_open(path, framework="np"))


def open_bytes(content: bytes) -> TensorFile:
    """Like `open_path` for a file's content.

    Raises:
        RuntimeError: it is damaged or not in this format.
    """
    with load_errors("the data"):
        views = dict(safetensors.deserialize(content))
        length = int.from_bytes(content[:8], "little")
        metadata = json.loads(content[8 : 8 + length]).get("__metadata__", {})
        return _TensorContent(views, metadata)


def read_content(file: BinaryIO, head: bytes) -> bytes:
    """Return the content of a file that stands at a place of an open one, and read no further.

    Args:
        file: open for reading, behind `head`.
        head: the first bytes of the content, at least those of the header's length.

    Returns:
        The content; what there is of it, if it is damaged.
    """
    length = int.from_bytes(head[:8], "little")
    if length > _LONGEST_HEADER:
        return head
    header = head + file.read(max(8 + length - len(head), 0))
    try:
        entries = json.loads(header[8 : 8 + length])
        ends = [entry["data_offsets"][1] for name, entry in entries.items() if name[:2] != "__"]
        size = int(max(ends, default=0))
    except (ValueError, KeyError, TypeError, AttributeError, IndexError):
        return header
    if not is_seekable(file):
        return header + file.read(max(size, 0))
    # Read as one piece: joining two would take the memory twice.
    start = file.seek(-len(header), os.SEEK_CUR)
    left = file.seek(0, os.SEEK_END) - start
    file.seek(start)
    return file.read(min(left, max(8 + length + size, 0)))


def write(
    target: Path | BinaryIO, arrays: Mapping[str, np.ndarray], metadata: dict[Any, Any]
) -> None:
    """Write arrays; a path changes at once when everything is on disk.

    Raises:
        TypeError: an array has a dtype that the format lacks.
        ValueError: names and metadata are longer than the format allows.
        OSError: the file system's; names the path.
    """
    stored, pairs = {}, []
    for name, array in arrays.items():
        if array.dtype == np.complex128:
            pairs.append(name)
            array = np.stack([np.real(array), np.imag(array)], axis=-1)
        stored[name] = array.astype(array.dtype.newbyteorder("="), order="C", copy=False)
    metadata = {**metadata, "format": FORMAT}
    if pairs:
        metadata[_COMPLEX] = json.dumps(pairs)
    # Large elements first, so that each array lies aligned when the file is mapped.
    ordered = dict(sorted(stored.items(), key=lambda item: (-item[1].dtype.itemsize, item[0])))
    header = _header(ordered, metadata)
    if not isinstance(target, Path):
        _write(target, header, ordered)
        return
    with atomic_write(target) as file:
        _write(file, header, ordered)


def _header(arrays: Mapping[str, np.ndarray], metadata: Mapping[str, str]) -> bytes:
    """Return the start of the file: the offset of each array behind it."""
    entries: dict[str, Any] = {"__metadata__": metadata}
    end = 0
    for name, array in arrays.items():
        if array.dtype not in _KINDS:
            raise TypeError(f"cannot save `{name}`: files hold no arrays of {array.dtype}")
        start, end = end, end + array.nbytes
        entries[name] = {
            "dtype": _KINDS[array.dtype],
            "shape": array.shape,
            "data_offsets": [start, end],
        }
    text = json.dumps(entries).encode()
    text += b" " * (-len(text) % 8)
    if len(text) > _LONGEST_HEADER:
        raise ValueError(
            f"cannot save {len(text)} bytes of names, numbers and text beside the tensors: the "
            f"format allows {_LONGEST_HEADER}; save long text and lists of numbers as tensors"
        )
    return len(text).to_bytes(8, "little") + text


def _write(file: BinaryIO, header: bytes, arrays: Mapping[str, np.ndarray]) -> None:
    # Types that NumPy does not have itself, such as bfloat16, give a buffer of bytes only.
    contents: list[Any] = [header, *[array.reshape(-1).view(np.uint8) for array in arrays.values()]]
    for content in contents:
        left = memoryview(content)
        while left:
            # A file without a buffer may write less than it gets.
            count = file.write(left)
            left = left[len(left) if count is None else count :]
