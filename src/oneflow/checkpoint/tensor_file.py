"""Files in the safetensors format, through the safetensors library.

A complex128 array, which the format lacks, is stored as float64 with a last dimension of 2; the
file's metadata lists the names of those.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO

import ml_dtypes
import numpy as np
import safetensors
import safetensors.numpy

_COMPLEX = "complex"
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


class TensorFile:
    """An open file: its metadata and its arrays, which are read when they are asked for.

    Attributes:
        metadata: text by name.
        names: names of the arrays.
    """

    def __init__(self, names: list[str], metadata: Mapping[str, str]) -> None:
        self.names = names
        self.metadata = dict(metadata)
        self._pairs = set(json.loads(self.metadata.get(_COMPLEX, "[]")))

    def described(self, name: str) -> tuple[tuple[int, ...], np.dtype]:
        """Shape and dtype of the array called `name`."""
        shape, kind = self._header(name)
        if name in self._pairs:
            return shape[:-1], np.dtype(np.complex128)
        return shape, np.dtype(_NUMPY_TYPES[kind])

    def read(self, name: str) -> np.ndarray:
        """The array called `name`."""
        return self._joined(name, self._whole(name))

    def part(self, name: str, slices: tuple[slice, ...]) -> np.ndarray:
        """A part of an array: slices with start and stop, one per dimension."""
        shape, dtype = self.described(name)
        sizes = tuple([each.stop - each.start for each in slices])
        if sizes == shape:
            return self.read(name)
        if 0 in sizes:
            # The library refuses to read nothing.
            return np.empty(sizes, dtype)
        return self._joined(name, self._part(name, slices))

    def _joined(self, name: str, array: np.ndarray) -> np.ndarray:
        return array.view(np.complex128)[..., 0] if name in self._pairs else array

    def _header(self, name: str) -> tuple[tuple[int, ...], str]:
        """Shape and dtype as the file says it."""
        raise NotImplementedError

    def _whole(self, name: str) -> np.ndarray:
        raise NotImplementedError

    def _part(self, name: str, slices: tuple[slice, ...]) -> np.ndarray:
        raise NotImplementedError


class _MappedFile(TensorFile):
    """A file that is mapped into memory."""

    def __init__(self, opened: Any) -> None:
        super().__init__(list(opened.keys()), opened.metadata() or {})
        self._opened = opened

    def _header(self, name: str) -> tuple[tuple[int, ...], str]:
        found = self._opened.get_slice(name)
        return tuple(found.get_shape()), found.get_dtype()

    def _whole(self, name: str) -> np.ndarray:
        return self._opened.get_tensor(name)

    def _part(self, name: str, slices: tuple[slice, ...]) -> np.ndarray:
        return self._opened.get_slice(name)[slices]


class _Content(TensorFile):
    """The content of a file."""

    def __init__(self, views: dict[str, Any], metadata: Mapping[str, str]) -> None:
        super().__init__(list(views), metadata)
        self._views = views

    def _header(self, name: str) -> tuple[tuple[int, ...], str]:
        return tuple(self._views[name]["shape"]), self._views[name]["dtype"]

    def _whole(self, name: str) -> np.ndarray:
        shape, kind = self._header(name)
        return np.frombuffer(self._views[name]["data"], _NUMPY_TYPES[kind]).reshape(shape)

    def _part(self, name: str, slices: tuple[slice, ...]) -> np.ndarray:
        return self._whole(name)[slices]


def open_path(path: Path) -> TensorFile:
    """Open a file; arrays are mapped from disk.

    Raises:
        RuntimeError: it is damaged or not in this format.
    """
    try:
        return _MappedFile(safetensors.safe_open(path, framework="np"))
    except safetensors.SafetensorError as error:
        raise RuntimeError(_damaged(path, error)) from error


def open_bytes(content: bytes, label: str = "the data") -> TensorFile:
    """Like `open_path` for a file's content.

    Raises:
        RuntimeError: it is damaged or not in this format.
    """
    try:
        views = dict(safetensors.deserialize(content))
        length = int.from_bytes(content[:8], "little")
        metadata = json.loads(content[8 : 8 + length]).get("__metadata__", {})
    except (safetensors.SafetensorError, ValueError) as error:
        raise RuntimeError(_damaged(label, error)) from error
    return _Content(views, metadata)


def _damaged(source: Any, error: Exception) -> str:
    return (
        f"cannot load `{source}`: it is damaged, incomplete, or not a file written by "
        f"`oneflow.save`, safetensors or PyTorch ({error})"
    )


def write(target: Path | BinaryIO, arrays: Mapping[str, np.ndarray], metadata: dict) -> None:
    """Write arrays; a path changes at once when everything is on disk."""
    stored, pairs = {}, []
    for name, array in arrays.items():
        if array.dtype == np.complex128:
            pairs.append(name)
            array = np.stack([np.real(array), np.imag(array)], axis=-1)
        stored[name] = np.ascontiguousarray(array).reshape(array.shape)
    if pairs:
        metadata = {**metadata, _COMPLEX: json.dumps(pairs)}
    if not isinstance(target, Path):
        target.write(safetensors.numpy.save(stored, metadata))
        return
    with replacing(target) as partial:
        safetensors.numpy.save_file(stored, partial, metadata)


@contextlib.contextmanager
def replacing(target: Path) -> Iterator[Path]:
    """A new file beside `target` that takes its place when the block ends without an error."""
    if not target.parent.is_dir():
        raise FileNotFoundError(f"cannot save to `{target}`: the folder does not exist")
    if target.is_dir():
        raise IsADirectoryError(f"cannot save to `{target}`: it is a folder")
    partial = target.with_name(f".{target.name}.{secrets.token_hex(6)}.partial")
    try:
        # Made here to learn the permissions that new files get; the library makes private ones.
        partial.touch(exist_ok=False)
        permissions = partial.stat().st_mode
        yield partial
        partial.chmod(permissions)
        _flush_to_disk(partial)
        partial.replace(target)
        _flush_to_disk(target.parent)
    finally:
        partial.unlink(missing_ok=True)


def _flush_to_disk(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
