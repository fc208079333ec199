"""PyTorch's files, read without PyTorch: zip archives, and the plain files before version 1.6.

Both hold a pickle, which `PickleReader` reads without executing anything, and the storages that
tensors are cut from.
"""

from __future__ import annotations

import io
import math
import sys
import zipfile
from collections.abc import Callable
from typing import Any, BinaryIO

import numpy as np

from oneflow.base import dtype as dt
from oneflow.base.device import CPU, Device
from oneflow.base.dtype import DType
from oneflow.base.shape import Size
from oneflow.checkpoint.numpy_pickle import NUMPY_TABLE, Pending, finished
from oneflow.checkpoint.pickle_reader import PickleReader
from oneflow.nn.parameter import Parameter
from oneflow.tensor.tensor import Tensor

HEAD_BYTES = 9
_ZIP_HEAD, _PICKLE_HEAD = b"PK\x03\x04", b"\x80"
_LEGACY_MAGIC = 0x1950A86A20F9469CFC6C
_STORAGE_TYPES = {
    "DoubleStorage": dt.float64,
    "FloatStorage": dt.float32,
    "HalfStorage": dt.float16,
    "BFloat16Storage": dt.bfloat16,
    "LongStorage": dt.int64,
    "IntStorage": dt.int32,
    "ShortStorage": dt.int16,
    "CharStorage": dt.int8,
    "ByteStorage": dt.uint8,
    "BoolStorage": dt.bool_,
    "ComplexFloatStorage": dt.complex64,
    "ComplexDoubleStorage": dt.complex128,
}


def recognizes(head: bytes) -> bool:
    """Whether a file that begins with `head` may be one of PyTorch's."""
    # A safetensors file begins with a length of any value, and then a brace.
    return head.startswith(_ZIP_HEAD) or (head.startswith(_PICKLE_HEAD) and head[8:] != b"{")


def load_bytes(content: bytes, place: Callable[[Device], Device]) -> Any:
    """Like `load` for a file's content."""
    return load(io.BytesIO(content), "the data", place)


def load(file: BinaryIO, label: str, place: Callable[[Device], Device]) -> Any:
    """The object in a file.

    Args:
        file: open for reading, at its start.
        label: what error messages call it.
        place: gives the device for a saved device.

    Raises:
        RuntimeError: the file is damaged, or contains more than tensors and plain data.
    """
    head = file.read(HEAD_BYTES)
    file.seek(0)
    reader = _read_archive if head.startswith(_ZIP_HEAD) else _read_legacy
    try:
        return reader(file, place)
    except (ValueError, KeyError, OverflowError, EOFError, zipfile.BadZipFile) as error:
        raise RuntimeError(
            f"cannot load `{label}`: it is a damaged or incomplete PyTorch file, or no PyTorch "
            f"file ({error})"
        ) from error


# --- the two kinds of file


def _read_archive(file: BinaryIO, place: Callable) -> Any:
    with zipfile.ZipFile(file) as archive:
        pickled = next((n for n in archive.namelist() if n.endswith("/data.pkl")), None)
        if pickled is None:
            raise ValueError("the archive has no data.pkl; TorchScript archives are not read")
        folder = pickled.removesuffix("data.pkl")
        storages: dict[str, Storage] = {}

        def persistent(reference: Any) -> Storage:
            _, kind, key, location, _ = reference
            if key not in storages:
                content = archive.read(f"{folder}data/{key}")
                storages[key] = Storage(kind, _device(location), content)
            return storages[key]

        if _byte_order(archive, folder) != sys.byteorder:
            raise ValueError("it was written on a machine with the other byte order")
        content = io.BytesIO(archive.read(pickled))
        return finished(PickleReader(content, _Builder(place).table(), persistent).read(), set())


def _byte_order(archive: zipfile.ZipFile, folder: str) -> str:
    name = f"{folder}byteorder"
    return archive.read(name).decode() if name in archive.namelist() else "little"


def _read_legacy(file: BinaryIO, place: Callable) -> Any:
    storages: dict[str, Storage] = {}

    def persistent(reference: Any) -> Storage:
        _, kind, key, location, _, view = reference
        if view is not None:
            raise ValueError("it has views of storages, which PyTorch gave up in version 0.4")
        return storages.setdefault(key, Storage(kind, _device(location), b""))

    reader = PickleReader(file, _Builder(place).table(), persistent)
    magic, protocol, system = reader.read(), reader.read(), reader.read()
    if magic != _LEGACY_MAGIC or protocol != 1001 or not system["little_endian"]:
        raise ValueError("it does not begin as PyTorch's files do")
    result = reader.read()
    for key in reader.read():
        count = int.from_bytes(file.read(8), "little")
        size = count * storages[key].dtype.itemsize
        storages[key].content = file.read(size)
        if len(storages[key].content) != size:
            raise ValueError("the file ends early")
    return finished(result, set())


def _device(location: Any) -> Device:
    """The device a storage was saved from; CPU for devices that are not known here."""
    try:
        return Device(location)
    except RuntimeError:
        return CPU


# --- what the pickle's names stand for


class Storage:
    """A block of numbers that tensors are cut from; old files have it behind the pickle."""

    def __init__(self, kind: DType, device: Device, content: bytes) -> None:
        self.dtype = kind
        self.device = device
        self.content = content

    def cut(self, dtype: DType, offset: int, size: tuple, stride: tuple) -> np.ndarray:
        """The array with that shape and those strides, in elements."""
        available = len(self.content) // dtype.itemsize
        last = offset + sum((n - 1) * step for n, step in zip(size, stride, strict=True))
        if min((offset, *size, *stride), default=0) < 0 or (math.prod(size) and last >= available):
            raise ValueError("a tensor reaches beyond its storage")
        if not math.prod(size):
            return np.empty(size, dtype.numpy)
        numbers = np.frombuffer(self.content, dtype.numpy, available)[offset:]
        steps = [step * dtype.itemsize for step in stride]
        return np.lib.stride_tricks.as_strided(numbers, size, steps, writeable=False)


class _Builder:
    """Makes what a pickle describes; remembers tensors, so that tied ones stay tied."""

    def __init__(self, place: Callable[[Device], Device]) -> None:
        self._place = place
        self._tensors: dict[Any, Pending] = {}

    def table(self) -> dict[tuple[str, str], Any]:
        """What the names in PyTorch's pickles stand for."""
        rebuild = "torch._utils"
        table: dict[tuple[str, str], Any] = {
            (rebuild, "_rebuild_tensor"): self.tensor,
            (rebuild, "_rebuild_tensor_v2"): self.tensor,
            (rebuild, "_rebuild_tensor_v3"): self.tensor_of_dtype,
            (rebuild, "_rebuild_parameter"): self.parameter,
            (rebuild, "_rebuild_parameter_with_state"): self.parameter,
            ("torch._tensor", "_rebuild_from_type_v2"): self.typed,
            ("torch.nn.parameter", "Parameter"): "parameter",
            ("torch.storage", "UntypedStorage"): dt.uint8,
            ("torch", "Size"): Size,
            ("torch", "device"): Device,
            **NUMPY_TABLE,
        }
        table.update({("torch", name): dtype for name, dtype in _STORAGE_TYPES.items()})
        table.update({("torch", dtype.name): dtype for dtype in dt.ALL_DTYPES})
        return table

    def tensor(
        self,
        storage: Storage,
        offset: int,
        size: tuple,
        stride: tuple,
        requires_grad: bool = False,
        *_: Any,
    ) -> Pending:
        """A tensor of the storage's dtype."""
        return self.tensor_of_dtype(
            storage, offset, size, stride, requires_grad, None, storage.dtype
        )

    def tensor_of_dtype(
        self,
        storage: Storage,
        offset: int,
        size: tuple,
        stride: tuple,
        requires_grad: bool,
        hooks: Any,
        dtype: DType,
        *_: Any,
    ) -> Pending:
        """A tensor cut from a storage."""
        key = (id(storage), offset, tuple(size), tuple(stride), dtype, requires_grad)

        def make() -> Tensor:
            array = storage.cut(dtype, offset, size, stride)
            tensor = Tensor._import(array, None, self._place(storage.device))
            return tensor.requires_grad_(requires_grad)

        return self._tensors.setdefault(key, Pending(make))

    def parameter(self, data: Pending, requires_grad: bool, *_: Any) -> Pending:
        """A parameter."""
        key = ("parameter", id(data))
        return self._tensors.setdefault(
            key, Pending(lambda: Parameter(data.value(), requires_grad=bool(requires_grad)))
        )

    def typed(self, make: Callable, kind: Any, arguments: tuple, state: Any) -> Pending:
        """A tensor of a subclass, which becomes a plain tensor."""
        if make not in (self.tensor, self.tensor_of_dtype, self.parameter):
            raise ValueError("a tensor's class names an unknown way to make it")
        return make(*arguments)
