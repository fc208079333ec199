"""PyTorch's files, read without PyTorch: zip archives, and the plain files before version 1.6.

Both hold a pickle, which `PickleReader` reads without executing anything, and the storages that
tensors are cut from.
"""

from __future__ import annotations

import io
import pickle
import struct
import sys
import zipfile
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, BinaryIO

import numpy as np

from oneflow.base.device import Device
from oneflow.base.dtype import DType
from oneflow.checkpoint.load_errors import UnsafePickleError, load_errors
from oneflow.checkpoint.numpy_pickle import Budget
from oneflow.checkpoint.pickle_reader import PickleReader
from oneflow.checkpoint.pickled_objects import is_unpickled, read, trusted_module
from oneflow.checkpoint.streams import is_seekable, read_into, read_rest, seek_back
from oneflow.checkpoint.torch_builder import (
    StorageType,
    TorchBuilder,
    TorchStorage,
    saved_device,
)
from oneflow.runtime.memory import empty_aligned

HEAD_BYTES = 9
_ZIP_HEAD, _PICKLE_HEAD = b"PK\x03\x04", b"\x80"
# The last record of an archive, and the number that stands for those of more than 4 bytes in it.
_END_HEAD, _END_BYTES, _LARGE = b"PK\x05\x06", 22, 0xFFFFFFFF
# The length of the records before it that have larger numbers.
_LARGE_END_BYTES = 56 + 20
# The length of the fixed part of an entry, and where in it the lengths of the variable parts are.
_ENTRY_BYTES, _LENGTHS = 30, 26
# Files of Python that reach any place at once.
_IN_PLACE = io.BufferedReader | io.BufferedRandom | io.FileIO | io.BytesIO
LEGACY_MAGIC = 0x1950A86A20F9469CFC6C
LEGACY_PROTOCOL = 1001


class _ByteOrder:
    """The order of bytes in archives that do not name theirs: ``"little"`` or ``"big"``."""

    default = "little"


BYTE_ORDER = _ByteOrder()


def is_torch_file(head: bytes) -> bool:
    """Return whether a file that begins with `head` may be one of PyTorch's."""
    # A safetensors file begins with a length of any value, and then a brace.
    return head.startswith(_ZIP_HEAD) or (head.startswith(_PICKLE_HEAD) and head[8:] != b"{")


def load_stream(file: BinaryIO, head: bytes, restore_location: Callable[[Device], Device]) -> Any:
    """Read the object at the current position of a file, as `load` does.

    The file is left behind the object.

    Args:
        file: open for reading, behind `head`.
        head: the first bytes of the content.
        restore_location: returns the device for a saved device.
    """
    is_archive = head.startswith(_ZIP_HEAD)
    if is_seekable(file):
        start = file.seek(-len(head), io.SEEK_CUR)
        end = file.seek(0, io.SEEK_END)
        with _errors("the data"):
            if not is_archive:
                file.seek(start)
                return _read_legacy(file, end, restore_location)
            if _is_archive_to_the_end(file, start, end):
                result = _read_archive(file, end - start, restore_location)
                file.seek(end)
                return result
        file.seek(start + len(head))
    content = read_rest(file, head)
    end = _end_of_archive(content) if is_archive else len(content)
    source = io.BytesIO(content[:end])
    result = load(source, "the data", restore_location)
    seek_back(file, len(content) - (end if is_archive else source.tell()))
    return result


def _is_archive_to_the_end(file: BinaryIO, start: int, end: int) -> bool:
    """Return whether one archive is all that a file holds from a place on.

    Files that are unpacked while they are read are not asked: they begin anew for each step back.
    """
    if not isinstance(getattr(file, "file", file), _IN_PLACE):
        return False
    file.seek(max(start, end - _END_BYTES))
    last = file.read(_END_BYTES)
    if not last.startswith(_END_HEAD) or not last.endswith(b"\0\0"):
        return False
    with zipfile.ZipFile(file) as archive:
        return min((entry.header_offset for entry in archive.infolist()), default=-1) == start


def _end_of_archive(content: bytes) -> int:
    """Return where the archive ends with which `content` begins; behind it may come others."""
    at = content.find(_END_HEAD)
    while at >= 0 and len(content) - at >= _END_BYTES:
        size, start, comment = struct.unpack_from("<IIH", content, at + 12)
        # Sizes of large archives are in a record before it, which PyTorch always writes.
        if start + size in (at, at - _LARGE_END_BYTES) or _LARGE in (start, size):
            return at + _END_BYTES + comment
        at = content.find(_END_HEAD, at + 1)
    return len(content)


def load(file: BinaryIO, label: str, restore_location: Callable[[Device], Device]) -> Any:
    """The object in a file.

    Args:
        file: open for reading, at its start.
        label: what error messages call it.
        restore_location: returns the device for a saved device.

    Raises:
        RuntimeError: the file is damaged, or contains more than tensors and plain data.
    """
    head = file.read(HEAD_BYTES)
    size = file.seek(0, io.SEEK_END)
    file.seek(0)
    reader = _read_archive if head.startswith(_ZIP_HEAD) else _read_legacy
    with _errors(label):
        return reader(file, size, restore_location)


def _errors(label: str) -> AbstractContextManager[None]:
    return load_errors(label, "it is a damaged or incomplete PyTorch file, or no PyTorch file")


# --- the two kinds of file


def _read_archive(file: BinaryIO, size: int, restore_location: Callable) -> Any:
    with zipfile.ZipFile(file) as archive:
        _check_sizes(archive, size)
        pickled = next((n for n in archive.namelist() if n.endswith("/data.pkl")), None)
        if pickled is None:
            raise ValueError("the archive has no data.pkl; TorchScript archives are not read")
        folder = pickled.removesuffix("data.pkl")
        storages: dict[str, TorchStorage] = {}

        def persistent(reference: Any) -> TorchStorage:
            key, storage = _named_storage(reference)
            if key not in storages:
                content = _content(file, archive, f"{folder}data/{key}")
                storage.content = content if is_native else _swapped(content, storage.dtype)
                storage.numel = len(storage.content) // storage.dtype.itemsize
                storages[key] = storage
            return storages[key]

        is_native = _byte_order(archive, folder) == sys.byteorder
        objects = io.BytesIO(archive.read(pickled))
        return _read_pickle(objects, size, restore_location, persistent, lambda builder: None)


def _read_pickle(
    file: BinaryIO,
    size: int,
    restore_location: Callable,
    persistent: Callable[[Any], Any],
    fill: Callable[[TorchBuilder], None],
) -> Any:
    """Return the object in a pickle at the place where a file stands.

    Tensors of plain data are made when all of them are known, so that those alone get a memory of
    their own that nobody else is cut from. Other objects are read a second time, as `pickle` reads
    them, if the file is trusted or classes are declared safe.

    Args:
        file: it is left behind what was read.
        size: the size of the file.
        restore_location: returns the device for a saved device.
        persistent: gives the object behind a persistent id.
        fill: reads the contents of storages that come behind the pickle.
    """
    start = file.tell()
    if trusted_module() in (None, pickle):
        builder = TorchBuilder(restore_location, Budget(size))
        reader = PickleReader(file, builder.table(), _with_storages(builder, persistent))
        try:
            result = reader.read()
            fill(builder)
            return builder.finished(result)
        except Exception as error:
            if not (trusted_module() or (is_unpickled() and isinstance(error, UnsafePickleError))):
                raise
    file.seek(start)
    is_trusted = trusted_module() is not None
    builder = TorchBuilder(restore_location, Budget(size), is_at_once=True, is_trusted=is_trusted)
    result = read(file, builder.table_at_once(), _with_storages(builder, persistent))
    fill(builder)
    return builder.finished(result)


def _with_storages(builder: TorchBuilder, persistent: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return what gives the objects behind persistent ids, with storages as the builder wants."""

    def find(reference: Any) -> Any:
        entry = persistent(reference)
        return builder.resolve_storage(entry) if isinstance(entry, TorchStorage) else entry

    return find


def _content(file: BinaryIO, archive: zipfile.ZipFile, name: str) -> np.ndarray:
    """Return the bytes of an entry, read into memory that a tensor can keep.

    As in PyTorch, the check sums of tensors are not compared: that takes longer than to read them.
    """
    entry = archive.getinfo(name)
    file.seek(entry.header_offset)
    header = file.read(_ENTRY_BYTES)
    if not header.startswith(_ZIP_HEAD):
        raise ValueError(f"`{name}` is not where the archive says")
    # The lengths of the name and of what follows it, which may not be those of the archive's list.
    file.seek(sum(struct.unpack_from("<HH", header, _LENGTHS)), io.SEEK_CUR)
    memory = empty_aligned((entry.file_size,), np.dtype(np.uint8))
    read_into(file, memory)
    return memory


def _swapped(content: np.ndarray, dtype: DType) -> np.ndarray:
    """Turn the bytes of each number around; those of a machine with the other order of bytes."""
    size = dtype.itemsize // 2 if dtype.is_complex else dtype.itemsize
    return content.view(f"u{size}").byteswap(inplace=True).view(np.uint8)


def _check_sizes(archive: zipfile.ZipFile, size: int) -> None:
    """Make sure that the contents of an archive are no larger than the archive."""
    contents = archive.infolist()
    if any(content.compress_type != zipfile.ZIP_STORED for content in contents):
        raise ValueError(
            "its contents are compressed, which PyTorch does not do; unpack the archive and pack "
            "it again without compression"
        )
    if sum(content.file_size for content in contents) > size:
        raise ValueError("its contents claim to be larger than the file")


def _byte_order(archive: zipfile.ZipFile, folder: str) -> str:
    name = f"{folder}byteorder"
    return archive.read(name).decode() if name in archive.namelist() else BYTE_ORDER.default


def _read_legacy(file: BinaryIO, end: int, restore_location: Callable) -> Any:
    """The object at the place where a file stands, which ends at `end`."""
    storages: dict[str, TorchStorage] = {}

    def persistent(reference: Any) -> TorchStorage | type:
        if reference[0] in ("module", b"module"):
            return reference[1]
        *reference, view = reference
        if view is not None:
            raise ValueError("it has views of storages, which PyTorch gave up in version 0.4")
        key, storage = _named_storage(reference)
        return storages.setdefault(key, storage)

    size = end - file.tell()
    reader = PickleReader(file, {}, persistent)
    magic, protocol, system = reader.read(), reader.read(), reader.read()
    if magic != LEGACY_MAGIC or protocol != LEGACY_PROTOCOL or not system["little_endian"]:
        raise ValueError("it does not begin as PyTorch's files do")

    def fill(builder: TorchBuilder) -> None:
        for key in reader.read():
            key = key.decode("ascii") if isinstance(key, bytes) else key
            storage, count = storages[key], int.from_bytes(file.read(8), "little")
            length = count * storage.dtype.itemsize
            if length > end - file.tell():
                raise ValueError("the file ends early")
            builder.fill(storage, file.read(length))

    return _read_pickle(file, size, restore_location, persistent, fill)


def _named_storage(reference: Any) -> tuple[str, TorchStorage]:
    """Return the key and the storage, without its content, that a pickle refers to."""
    # Texts of Python 2 may be read as bytes.
    what, kind, key, location, numel = [
        part.decode("ascii") if isinstance(part, bytes) else part for part in reference
    ]
    if what != "storage" or not isinstance(kind, StorageType) or not isinstance(key, str):
        raise ValueError("it refers to something that is no storage")
    if type(numel) is not int or numel < 0:
        raise ValueError(f"a storage has {numel!r} elements")
    return key, TorchStorage(kind.dtype, saved_device(location), None, numel)
