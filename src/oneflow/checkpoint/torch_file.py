"""PyTorch's files, read without PyTorch: zip archives, and the plain files before version 1.6.

Both hold a pickle, which `PickleReader` reads without executing anything, and the storages that
tensors are cut from.
"""

from __future__ import annotations

import io
import math
import sys
import zipfile
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, BinaryIO

import numpy as np

from oneflow.base import dtype as dt
from oneflow.base.device import CPU, Device
from oneflow.base.dtype import DType
from oneflow.base.shape import Size
from oneflow.checkpoint.load_errors import UnsafePickleError, load_errors
from oneflow.checkpoint.narrow_types import COMPLEX32, NARROW_TYPES, NarrowType
from oneflow.checkpoint.numpy_pickle import Budget, Pending, finished, numpy_table
from oneflow.checkpoint.pickle_reader import PickleReader
from oneflow.checkpoint.pickled_objects import is_unpickled, read
from oneflow.functional.creation.factory_functions import empty
from oneflow.functional.creation.storages import STORAGE_CLASSES
from oneflow.module.parameter import Parameter
from oneflow.tensor.copied_memory import as_part, views_to
from oneflow.tensor.tensor import Tensor
from oneflow.tensor.transfer import import_array
from oneflow.tensor.views import unwrap

HEAD_BYTES = 9
_ZIP_HEAD, _PICKLE_HEAD = b"PK\x03\x04", b"\x80"
_LEGACY_MAGIC = 0x1950A86A20F9469CFC6C


def is_torch_file(head: bytes) -> bool:
    """Return whether a file that begins with `head` may be one of PyTorch's."""
    # A safetensors file begins with a length of any value, and then a brace.
    return head.startswith(_ZIP_HEAD) or (head.startswith(_PICKLE_HEAD) and head[8:] != b"{")


def load_stream(file: BinaryIO, head: bytes, restore_location: Callable[[Device], Device]) -> Any:
    """Like `load` for a file that stands at a place of an open one.

    Plain files say where they end, and what follows is left; archives are all that follows.

    Args:
        file: open for reading, behind `head`.
        head: the first bytes of the content.
        restore_location: returns the device for a saved device.
    """
    if head.startswith(_ZIP_HEAD) or not file.seekable():
        return load(io.BytesIO(head + file.read()), "the data", restore_location)
    start = file.seek(-len(head), io.SEEK_CUR)
    end = file.seek(0, io.SEEK_END)
    file.seek(start)
    with _errors("the data"):
        return _read_legacy(file, end, restore_location)


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
            kind, key, device = _named_storage(reference)
            if key not in storages:
                content = archive.read(f"{folder}data/{key}")
                storages[key] = TorchStorage(kind, device, content)
            return storages[key]

        if _byte_order(archive, folder) != sys.byteorder:
            raise ValueError("it was written on a machine with the other byte order")
        content = archive.read(pickled)
        table = _Builder(restore_location, Budget(size)).table()
        try:
            # Tensors are finished later, from storages that are in memory by then.
            return finished(PickleReader(io.BytesIO(content), table, persistent).read())
        except UnsafePickleError:
            if not is_unpickled():
                raise
        table = _at_once(_Builder(restore_location, Budget(size), is_at_once=True).table())
        return read(io.BytesIO(content), table, persistent)


def _at_once(table: Mapping[tuple[str, str], Any]) -> dict[tuple[str, str], Any]:
    """Return what names stand for, with tensors that are finished where they are made.

    They may be attributes of any object, in which nothing is looked for.
    """

    def finish(make: Callable[..., Any]) -> Callable[..., Any]:
        return lambda *arguments: finished(make(*arguments))

    return {
        name: finish(entry) if callable(entry) and not isinstance(entry, type) else entry
        for name, entry in table.items()
    }


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
    return archive.read(name).decode() if name in archive.namelist() else "little"


def _read_legacy(file: BinaryIO, end: int, restore_location: Callable) -> Any:
    """The object at the place where a file stands, which ends at `end`."""
    storages: dict[str, TorchStorage] = {}

    def persistent(reference: Any) -> TorchStorage:
        *reference, view = reference
        if view is not None:
            raise ValueError("it has views of storages, which PyTorch gave up in version 0.4")
        kind, key, device = _named_storage(reference)
        return storages.setdefault(key, TorchStorage(kind, device, b""))

    budget = Budget(end - file.tell())
    reader = PickleReader(file, _Builder(restore_location, budget).table(), persistent)
    magic, protocol, system = reader.read(), reader.read(), reader.read()
    if magic != _LEGACY_MAGIC or protocol != 1001 or not system["little_endian"]:
        raise ValueError("it does not begin as PyTorch's files do")
    result = reader.read()
    for key in reader.read():
        count = int.from_bytes(file.read(8), "little")
        length = count * storages[key].dtype.itemsize
        if length > end - file.tell():
            raise ValueError("the file ends early")
        storages[key].content = file.read(length)
    return finished(result)


def _named_storage(reference: Any) -> tuple[DType, str, Device]:
    """Element type, key and device of the storage that a pickle refers to."""
    what, kind, key, location, _ = reference
    if what != "storage" or not isinstance(kind, _StorageType) or not isinstance(key, str):
        raise ValueError("it refers to something that is no storage")
    return kind.dtype, key, _device(location)


def _device(location: Any) -> Device:
    """The device a storage was saved from; CPU for devices that are not known here."""
    try:
        return Device(location)
    except RuntimeError:
        return CPU


# --- what the pickle's names stand for


@dataclass(frozen=True)
class _StorageType:
    """A class of storages."""

    dtype: DType


class TorchStorage:
    """A block of numbers that tensors are cut from; old files have it behind the pickle."""

    def __init__(self, kind: DType, device: Device, content: bytes) -> None:
        self.dtype = kind
        self.device = device
        self.content = content


@dataclass(frozen=True)
class _Cut:
    """A tensor's part of a storage: offset, shape and strides in elements.

    Attributes:
        is_conjugate: the numbers in the storage are the conjugates.
        is_negative: the numbers in the storage have the other sign.
    """

    dtype: DType | NarrowType
    offset: int
    size: tuple[int, ...]
    stride: tuple[int, ...]
    is_conjugate: bool
    is_negative: bool

    def __post_init__(self) -> None:
        numbers = (self.offset, *self.size, *self.stride)
        if any(type(number) is not int or number < 0 for number in numbers):
            raise ValueError(
                f"a tensor reaches beyond its storage: it begins at {self.offset} with shape "
                f"{self.size} and strides {self.stride}"
            )
        if not isinstance(self.dtype, DType | NarrowType):
            raise ValueError("a tensor's dtype is none")

    @property
    def is_plain(self) -> bool:
        """True if the tensor has the storage's elements, or conjugates of them."""
        return isinstance(self.dtype, DType) and not self.is_negative and bool(math.prod(self.size))

    def array(self, content: bytes, budget: Budget) -> np.ndarray:
        """The numbers.

        Raises:
            ValueError: they are not all in the storage, or too many.
        """
        dtype, offset, size, stride = self.dtype, self.offset, self.size, self.stride
        available = len(content) // dtype.itemsize
        last = offset + sum((n - 1) * step for n, step in zip(size, stride, strict=True))
        if math.prod(size) and last >= available:
            raise ValueError("a tensor reaches beyond its storage")
        if not math.prod(size):
            return np.empty(size, dtype.numpy)
        budget.take(math.prod(size) * dtype.itemsize)
        numbers = np.frombuffer(content, dtype.numpy, available)[offset:]
        steps = [
            step * dtype.itemsize if n > 1 else 0 for n, step in zip(size, stride, strict=True)
        ]
        array = np.lib.stride_tricks.as_strided(numbers, size, steps, writeable=False)
        array = dtype.widened(array) if isinstance(dtype, NarrowType) else array
        array = np.conj(array) if self.is_conjugate else array
        return np.negative(array) if self.is_negative else array


class _Builder:
    """Makes what a pickle describes; remembers tensors, so that tied ones stay tied.

    Args:
        restore_location: gives the device for that of a storage.
        budget: the bytes that tensors may take.
        is_at_once: tensors are finished where they are made, when nobody knows yet whether others
            are cut from the same storage; so all share its memory.
    """

    def __init__(
        self,
        restore_location: Callable[[Device], Device],
        budget: Budget,
        is_at_once: bool = False,
    ) -> None:
        self._restore_location, self._is_at_once = restore_location, is_at_once
        self._budget = budget
        self._tensors: dict[Any, Pending] = {}
        # The parts to read of a storage, by its identity, and all of it once that is needed.
        self._cuts: dict[int, set[_Cut]] = {}
        self._memories: dict[int, Tensor] = {}

    def table(self) -> dict[tuple[str, str], Any]:
        """Return the objects that the names in PyTorch's pickles stand for."""
        rebuild = "torch._utils"
        table: dict[tuple[str, str], Any] = {
            (rebuild, "_rebuild_tensor"): self.tensor,
            (rebuild, "_rebuild_tensor_v2"): self.tensor,
            (rebuild, "_rebuild_tensor_v3"): self.tensor_of_dtype,
            (rebuild, "_rebuild_device_tensor_from_numpy"): self.tensor_of_array,
            (rebuild, "_rebuild_device_tensor_from_cpu_tensor"): self.moved_tensor,
            (rebuild, "_rebuild_meta_tensor_no_storage"): self.meta_tensor,
            (rebuild, "_rebuild_parameter"): self.parameter,
            (rebuild, "_rebuild_parameter_with_state"): self.parameter,
            ("torch._tensor", "_rebuild_from_type_v2"): self.typed,
            ("torch.nn.parameter", "Parameter"): self.parameter,
            ("torch.storage", "UntypedStorage"): _StorageType(dt.uint8),
            ("torch", "Size"): Size,
            ("torch", "device"): _named_device,
            **numpy_table(self._budget),
        }
        kinds = {kind.__name__: _StorageType(dtype) for dtype, kind in STORAGE_CLASSES.items()}
        table.update({("torch", name): kind for name, kind in kinds.items()})
        table.update({("torch.cuda", name): kind for name, kind in kinds.items()})
        table.update({("torch", dtype.name): dtype for dtype in dt.ALL_DTYPES})
        narrow = (*NARROW_TYPES.values(), COMPLEX32)
        table.update({("torch", kind.name): kind for kind in narrow})
        return table

    def tensor(
        self,
        storage: TorchStorage,
        offset: int,
        size: tuple,
        stride: tuple,
        requires_grad: bool = False,
        hooks: Any = None,
        metadata: Mapping[str, bool] | None = None,
    ) -> Pending:
        """A tensor of the storage's dtype."""
        return self.tensor_of_dtype(
            storage, offset, size, stride, requires_grad, hooks, storage.dtype, metadata
        )

    def tensor_of_dtype(
        self,
        storage: TorchStorage,
        offset: int,
        size: tuple,
        stride: tuple,
        requires_grad: bool,
        hooks: Any,
        dtype: DType | NarrowType,
        metadata: Mapping[str, bool] | None = None,
    ) -> Pending:
        """A tensor cut from a storage; its backward hooks are left out."""
        marks = dict(metadata or {})
        is_conjugate, is_negative = bool(marks.pop("conj", False)), bool(marks.pop("neg", False))
        if marks:
            raise UnsafePickleError(f"a tensor has the property `{next(iter(marks))}`")
        cut = _Cut(dtype, offset, tuple(size), tuple(stride), is_conjugate, is_negative)

        def make() -> Tensor:
            array = cut.array(storage.content, self._budget)
            is_shared = self._is_at_once or len(self._cuts[id(storage)]) > 1
            if is_shared and cut.is_plain and storage.dtype is cut.dtype:
                tensor = self._part(storage, cut)
            else:
                tensor = import_array(array, None, self._restore_location(storage.device))
            return tensor.requires_grad_(bool(requires_grad))

        self._cuts.setdefault(id(storage), set()).add(cut)
        key = (id(storage), cut, bool(requires_grad))
        return self._tensors.setdefault(key, Pending(make))

    def _part(self, storage: TorchStorage, cut: _Cut) -> Tensor:
        """A tensor that shares its memory with the others that are cut from its storage."""
        memory = self._memories.get(id(storage))
        if memory is None:
            elements = np.frombuffer(storage.content, storage.dtype.numpy)
            self._budget.take(elements.nbytes)
            memory = import_array(elements, None, self._restore_location(storage.device))
            self._memories[id(storage)] = memory
        part = (cut.size, cut.stride, cut.offset, cut.is_conjugate, cut.dtype)
        return as_part(Tensor.__new__(Tensor), memory, views_to(part, unwrap(memory)))

    def tensor_of_array(
        self, array: Pending, dtype: DType, device: str, requires_grad: bool
    ) -> Pending:
        """A tensor of a device whose storages are not saved, from its numbers."""

        def make() -> Tensor:
            place = self._restore_location(_device(device))
            tensor = import_array(array.value(), None, place).to(dtype)
            return tensor.requires_grad_(bool(requires_grad))

        return Pending(make)

    def moved_tensor(
        self, data: Pending, dtype: DType, device: str, requires_grad: bool
    ) -> Pending:
        """A tensor of a device whose storages are not saved, from its copy on the CPU."""

        def make() -> Tensor:
            tensor = data.value().detach().to(self._restore_location(_device(device)), dtype)
            return tensor.requires_grad_(bool(requires_grad))

        return Pending(make)

    def meta_tensor(self, dtype: DType, size: tuple, stride: tuple, requires_grad: bool) -> Pending:
        """A tensor that has a shape only."""
        return Pending(
            lambda: empty(*size, dtype=dtype, device="meta", requires_grad=bool(requires_grad))
        )

    def parameter(self, data: Pending, requires_grad: bool = True, *_: Any) -> Pending:
        """A parameter."""
        key = ("parameter", id(data), bool(requires_grad))
        return self._tensors.setdefault(
            key, Pending(lambda: Parameter(data.value(), requires_grad=bool(requires_grad)))
        )

    def typed(self, make: Callable, kind: Any, arguments: tuple, state: Any) -> Pending:
        """A tensor of a subclass, which becomes a plain tensor."""
        if make not in (self.tensor, self.tensor_of_dtype, self.parameter):
            raise ValueError("a tensor's class names an unknown way to make it")
        return make(*arguments)


def _named_device(name: str, index: int | None = None) -> Device:
    if not isinstance(name, str):
        raise ValueError(f"a device is described by a {type(name).__name__}")
    return Device(name) if index is None else Device(name, index)
