"""Files in the safetensors format, through the safetensors library.

A complex128 array, which the format lacks, is stored as float64 with a last dimension of 2; the
file's metadata lists the names of those.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
from collections.abc import Callable, Iterator, Mapping
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

    def __init__(
        self, names: list[str], metadata: Mapping[str, str], read: Callable[[str], np.ndarray]
    ) -> None:
        self.names = names
        self.metadata = dict(metadata)
        self._read = read
        self._pairs = set(json.loads(self.metadata.get(_COMPLEX, "[]")))

    def read(self, name: str) -> np.ndarray:
        """The array called `name`."""
        array = self._read(name)
        return array.view(np.complex128)[..., 0] if name in self._pairs else array


def open_path(path: Path) -> TensorFile:
    """Open a file; arrays are mapped from disk.

    Raises:
        RuntimeError: it is damaged or not in this format.
    """
    try:
        opened = safetensors.safe_open(path, framework="np")
    except safetensors.SafetensorError as error:
        raise RuntimeError(_damaged(path, error)) from error
    return TensorFile(list(opened.keys()), opened.metadata() or {}, opened.get_tensor)


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

    def read(name: str) -> np.ndarray:
        view = views[name]
        return np.frombuffer(view["data"], _NUMPY_TYPES[view["dtype"]]).reshape(view["shape"])

    return TensorFile(list(views), metadata, read)


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
    with _replacing(target) as partial:
        safetensors.numpy.save_file(stored, partial, metadata)


@contextlib.contextmanager
def _replacing(target: Path) -> Iterator[Path]:
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
