"""PyTorch's files, written without PyTorch: zip archives, and the plain files before version 1.6.

An archive holds a pickle and, each beside it and at an address that is a multiple of 64, the bytes
of the storages that tensors are cut from.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import pickle
import sys
import threading
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

from oneflow.checkpoint.atomic_file import atomic_write
from oneflow.checkpoint.torch_file import LEGACY_MAGIC, LEGACY_PROTOCOL
from oneflow.checkpoint.torch_pickler import SavedStorages, dump

_ALIGNMENT = 64
# The length of an entry's header in an archive, without its name; of an extra field, and of the
# one that entries from 4 GiB on have.
_HEADER, _FIELD, _LARGE_FIELD = 30, 4, 20
ARCHIVE_VERSION = b"3\n"
# The calls of Python's pickler for one of the pickler in C, and some for its reducers.
_CALLS = 8
_RECURSION = threading.RLock()
_CANNOT_PICKLE = (pickle.PicklingError, AttributeError, TypeError)


def save(
    obj: Any,
    target: Path | BinaryIO,
    pickle_module: Any = pickle,
    protocol: int = 2,
    *,
    is_archive: bool = True,
    has_byte_order: bool = True,
) -> None:
    """Save anything that can be pickled so that PyTorch loads it.

    A file that is named changes at once, when everything is on disk.

    Args:
        obj: what to save.
        target: name of a file, or a file that is open for writing bytes.
        pickle_module: a module like `pickle`.
        protocol: the protocol of pickles; PyTorch trusts files of the second alone without being
            asked to.
        is_archive: whether it is an archive, or a file as before PyTorch 1.6.
        has_byte_order: whether an archive says in which order the bytes of numbers are.

    Raises:
        GlobalTensorError: `obj` holds a global tensor.
        RuntimeError: tensors see the same storage as elements of several types.
        OSError: the file system's; names the path.
    """
    pickled, storages = _pickled(obj, pickle_module, protocol, is_archive)
    if isinstance(target, Path):
        with atomic_write(target) as file:
            _write(file, target.stem, pickled, storages, protocol, is_archive, has_byte_order)
    else:
        _write(target, "archive", pickled, storages, protocol, is_archive, has_byte_order)


def _pickled(
    obj: Any, pickle_module: Any, protocol: int, is_archive: bool
) -> tuple[bytes, SavedStorages]:
    """Return the pickle of an object and the storages of the tensors in it.

    Errors have a note that says where in it is what cannot be pickled.
    """

    def pickled(part: Any) -> tuple[bytes, SavedStorages]:
        storages = SavedStorages()
        return dump(part, pickle_module, protocol, storages, is_legacy=not is_archive), storages

    def pickled_with_retry(part: Any) -> tuple[bytes, SavedStorages]:
        try:
            return pickled(part)
        except RecursionError:
            with _deep_recursion():
                return pickled(part)

    try:
        return pickled_with_retry(obj)
    except _CANNOT_PICKLE as error:
        place = _place_of_failure(obj, pickled_with_retry, set())
        error.add_note(f"cannot save {place or 'the object'}")
        raise
    except RecursionError as error:
        error.add_note("cannot save objects that are nested so deeply, or without an end")
        raise


@contextlib.contextmanager
def _deep_recursion() -> Iterator[None]:
    """Allow calls as deep as the recursion of the pickler that is written in C.

    This one is Python's, which calls several functions for each that one in C calls. The limit is
    one for all threads: those that change it wait for each other, and others may recurse deeper
    for that time.
    """
    with _RECURSION:
        limit = sys.getrecursionlimit()
        sys.setrecursionlimit(_CALLS * limit)
        try:
            yield
        finally:
            sys.setrecursionlimit(limit)


def _place_of_failure(obj: Any, pickled: Callable[[Any], Any], path: set[int]) -> str:
    """Return the keys that lead to what cannot be pickled; nothing if that is all of the object.

    Args:
        obj: cannot be pickled.
        pickled: pickles an object.
        path: the identities of the objects that it is in, which it may hold again.
    """
    path.add(id(obj))
    items = obj.items() if isinstance(obj, dict) else ()
    for key, item in enumerate(obj) if isinstance(obj, list | tuple) else items:
        if id(item) in path:
            continue
        try:
            pickled(item)
        except _CANNOT_PICKLE:
            return f"{key}.{_place_of_failure(item, pickled, path)}".strip(".")
    return ""


def _write(
    file: BinaryIO,
    folder: str,
    pickled: bytes,
    storages: SavedStorages,
    protocol: int,
    is_archive: bool,
    has_byte_order: bool,
) -> None:
    if is_archive:
        _write_archive(file, folder, pickled, storages, has_byte_order)
    else:
        _write_legacy(file, pickled, storages, protocol)


def _write_archive(
    file: BinaryIO, folder: str, pickled: bytes, storages: SavedStorages, has_byte_order: bool
) -> None:
    first: dict[str, bytes] = {
        "data.pkl": pickled,
        ".format_version": b"1",
        ".storage_alignment": str(_ALIGNMENT).encode(),
    }
    if has_byte_order:
        first["byteorder"] = sys.byteorder.encode()
    # Files of the same content are the same.
    identity = int.from_bytes(hashlib.sha256(pickled).digest()[:16], "little")
    output: Any = ArchiveOutput(file)
    with zipfile.ZipFile(output, "w") as archive:
        for name, content in first.items():
            add_entry(archive, f"{folder}/{name}", memoryview(content))
        for storage in storages.all():
            add_entry(archive, f"{folder}/data/{storage.key}", storage.content())
        add_entry(archive, f"{folder}/version", memoryview(ARCHIVE_VERSION))
        add_entry(
            archive, f"{folder}/.data/serialization_id", memoryview(f"{identity:040}".encode())
        )


class ArchiveOutput:
    """A file that is written from a place on, which may be no more than written.

    Addresses in an archive count from there, as it has no place of its own to tell.
    """

    def __init__(self, file: BinaryIO) -> None:
        self._file = file

    def write(self, content: Any) -> int:
        """Write all of some bytes; a file without a buffer may take fewer at a time."""
        left = memoryview(content)
        while left:
            count = self._file.write(left)
            left = left[len(left) if count is None else count :]
        return len(content)

    def flush(self) -> None:
        """Nothing waits here."""


def add_entry(archive: zipfile.ZipFile, name: str, content: memoryview) -> None:
    """Add an entry whose content lies at a multiple of `_ALIGNMENT`."""
    entry = zipfile.ZipInfo(name)
    entry.file_size = content.nbytes
    is_large = content.nbytes * 1.05 > zipfile.ZIP64_LIMIT
    fields = _LARGE_FIELD if is_large else 0
    start = archive.start_dir + _HEADER + len(name.encode()) + fields + _FIELD
    padding = -start % _ALIGNMENT
    entry.extra = b"FB" + padding.to_bytes(2, "little") + b"Z" * padding
    with archive.open(entry, "w", force_zip64=is_large) as stream:
        stream.write(content)


def _write_legacy(file: BinaryIO, pickled: bytes, storages: SavedStorages, protocol: int) -> None:
    ordered = sorted(storages.all(), key=lambda storage: storage.key)
    machine = {
        "protocol_version": LEGACY_PROTOCOL,
        "little_endian": sys.byteorder == "little",
        "type_sizes": {"short": 2, "int": 4, "long": 4},
    }
    content = io.BytesIO()
    for head in (LEGACY_MAGIC, LEGACY_PROTOCOL, machine):
        pickle.dump(head, content, protocol)
    content.write(pickled)
    pickle.dump([storage.key for storage in ordered], content, protocol)
    output = ArchiveOutput(file)
    output.write(content.getvalue())
    for storage in ordered:
        output.write(storage.numel.to_bytes(8, "little"))
        output.write(storage.content())
