"""Memory as PyTorch's storages: bytes, or elements of a dtype."""

from __future__ import annotations

import operator
from collections.abc import Iterator
from typing import Any, Self
from weakref import ref

import numpy as np

from oneflow.base import dtype as dt
from oneflow.base.device import Device
from oneflow.base.dtype import DType, get_default_dtype
from oneflow.base.placement import parse_device
from oneflow.base.program_name import program_name
from oneflow.functional.creation.factory_functions import zeros
from oneflow.functional.creation.file_storage import FileStorage, file_errors
from oneflow.runtime.eager import read_array
from oneflow.runtime.memory import address_of
from oneflow.tensor.call import wrap
from oneflow.tensor.shared_memory import SharedMemory, share_with_processes
from oneflow.tensor.storage import Storage
from oneflow.tensor.tensor import Tensor
from oneflow.tensor.transfer import import_array
from oneflow.tensor.views import Family, share

#: What PyTorch calls memory of each dtype, before "Storage".
STORAGE_KINDS = {
    dt.float64: "Double",
    dt.float32: "Float",
    dt.float16: "Half",
    dt.bfloat16: "BFloat16",
    dt.int64: "Long",
    dt.int32: "Int",
    dt.int16: "Short",
    dt.int8: "Char",
    dt.uint8: "Byte",
    dt.bool_: "Bool",
    dt.complex128: "ComplexDouble",
    dt.complex64: "ComplexFloat",
}


class _Memory:
    """The methods that both kinds of storages share.

    Attributes:
        dtype: the dtype of the elements.
    """

    dtype: DType
    _memory: Storage
    # The bytes of the memory, where they are not all.
    _part: range | None = None

    @property
    def device(self) -> Device:
        """The device of the memory; of a global tensor its placement."""
        return self._memory.value.spec.device

    @property
    def is_cuda(self) -> bool:
        """True if the memory is a GPU's."""
        return self.device.type == "cuda"

    def nbytes(self) -> int:
        """Return the number of bytes."""
        return self._memory.value.spec.nbytes if self._part is None else len(self._part)

    def element_size(self) -> int:
        """Return the number of bytes of an element."""
        return self.dtype.itemsize

    def size(self) -> int:
        """Return the number of elements."""
        return self.nbytes() // self.element_size()

    def is_shared(self) -> bool:
        """Return whether other processes can have the memory."""
        return isinstance(self._memory.host, SharedMemory)

    def share_memory_(self) -> Self:
        """Move the memory to where processes share it."""
        share_with_processes(self._memory)
        return self

    def data_ptr(self) -> int:
        """Return the address of the memory, for reading: values never change, and a write moves it.

        It is 0 on the device ``meta``. For a tensor with shards, or without values yet, it is a
        number that all tensors on the memory share.
        """
        value = self._memory.root()
        if self.device.type == "meta":
            return 0
        start = 0 if self._part is None else self._part.start
        if self._memory.host is not None:
            return self._memory.host.array.ctypes.data + start
        if value.is_symbolic or value.spec.sbp is not None:
            return id(self._memory)
        return address_of(read_array(value)) + start

    def untyped(self) -> UntypedStorage:
        """Return the same memory as bytes."""
        return UntypedStorage._of(self._memory, self._part)

    def tolist(self) -> list[Any]:
        """Return the elements."""
        return self._read().tolist()

    def fill_(self, value: Any) -> Self:
        """Write a number to all elements."""
        self._elements().fill_(value)
        return self

    def copy_(self, source: _Memory, non_blocking: bool | None = None) -> Self:
        """Write the elements of a storage of the same size.

        Raises:
            RuntimeError: it has another size.
        """
        if source.size() != self.size():
            raise RuntimeError(f"size does not match: {self.size()} and {source.size()} elements")
        self._elements().copy_(source._elements())
        return self

    def _elements(self) -> Tensor:
        """The elements, in one dimension, as a tensor of the same memory."""
        memory = self._memory
        root = wrap(memory.root().alias())
        root._family, root._seen = Family(memory, root._value, ref(root), [0]), memory.version
        memory.track(root._value)
        elements = root.reshape(-1)
        if self._part is not None:
            elements = elements.view(dt.uint8)[self._part.start : self._part.stop]
        return elements.view(self.dtype)

    def _contents(self) -> Tensor:
        """The contents of the whole memory as a tensor."""
        return wrap(self._memory.root().alias()) if self._part is None else self._elements()

    def _read(self) -> np.ndarray:
        if self.device.type == "meta":
            raise NotImplementedError("memory on the device `meta` has no contents to read")
        return self._elements().numpy()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        array = self._read()
        return array if dtype is None else array.astype(dtype)

    def __getitem__(self, index: int | slice) -> Any:
        if isinstance(index, slice):
            return self._slice(index)
        # The dots keep an array, whose numbers become those of Python, where one is chosen.
        return self._read()[index, ...].tolist()

    def _slice(self, index: slice) -> Any:
        """The memory between two places."""
        raise RuntimeError(
            "slices are only those of an UntypedStorage: take them of `untyped()`, got "
            f"{index} for a {type(self).__name__}"
        )

    def __setitem__(self, index: int | slice, value: Any) -> None:
        self._elements()[index] = value

    def __iter__(self) -> Iterator[Any]:
        return iter(self.tolist())

    def __len__(self) -> int:
        return self.size()

    def __hash__(self) -> int:
        return id(self._memory)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, _Memory) or type(other) is not type(self):
            return False
        return other._memory is self._memory and other._part == self._part

    def __repr__(self) -> str:
        return f"{program_name()}.{type(self).__name__}(device={self.device}) of size {self.size()}"


class UntypedStorage(_Memory):
    """The memory of a tensor and of all its views, in bytes.

    Args:
        contents: how many bytes, or which.
        device: where, default the CPU.

    Attributes:
        device: where it is.

    Example:
        >>> import oneflow as flow
        >>> x = flow.ones(2, 3)
        >>> x[1].untyped_storage().nbytes(), x[1].untyped_storage() == x.untyped_storage()
        (24, True)
        >>> flow.UntypedStorage([1, 2]).tolist()
        [1, 2]
    """

    dtype = dt.uint8

    def __init__(self, contents: Any = 0, *, device: Device | str | None = None) -> None:
        self._memory = share(_new_elements(contents, self.dtype, device)).storage

    @classmethod
    def _of(cls, memory: Storage, part: range | None = None) -> Self:
        storage = cls.__new__(cls)
        storage._memory, storage._part = memory, part
        return storage

    def _slice(self, index: slice) -> Self:
        if index.step not in (None, 1):
            raise RuntimeError(f"slices of a storage must have step 1, got {index.step}")
        places = range(self.nbytes()) if self._part is None else self._part
        return self._of(self._memory, places[index])

    @staticmethod
    def from_file(filename: str, shared: bool = False, nbytes: int = 0) -> FileStorage:
        """Return the first bytes of a file as memory, which is read when tensors are made of it.

        Args:
            filename: the file's path.
            shared: changes nothing: tensors are made of copies.
            nbytes: how many bytes; 0 means all.

        Raises:
            RuntimeError: the file cannot be read, or is shorter.
        """
        shape = (nbytes,) if nbytes else None
        with file_errors(filename):
            return FileStorage(np.memmap(filename, np.uint8, "r", shape=shape))

    def clone(self) -> Self:
        """Return other memory with the same contents."""
        return self._of(share(self._contents().clone()).storage)

    def cpu(self) -> Self:
        """Return the memory, or a copy on the CPU if it is elsewhere."""
        if self.device.type == "cpu":
            return self
        return self._of(share(self._contents().cpu()).storage)

    def type(self) -> str:
        """Return the name of the class in PyTorch."""
        return "torch.storage.UntypedStorage"

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self._of(_copied(self._memory, memo), self._part)

    def __reduce__(self) -> tuple[Any, ...]:
        return _untyped_on, (self._contents().detach(),)


class TypedStorage(_Memory):
    """The memory of a tensor and of all its views, in elements.

    Args:
        contents: how many elements, or which.
        wrap_storage: the memory, in place of a new one.
        dtype: the dtype of the elements, default the default one.
        device: where, default the CPU.

    Attributes:
        device: where it is.

    Raises:
        RuntimeError: there are arguments beside `wrap_storage`, or several contents.
        TypeError: something is of another type.

    Example:
        >>> import oneflow as flow
        >>> storage = flow.ones(2, 3)[1].storage()
        >>> storage.size(), storage.element_size(), storage.dtype
        (6, 4, oneflow.float32)
        >>> flow.TypedStorage([1, 2], dtype=flow.float64).int().tolist()
        [1, 2]
    """

    def __init__(
        self,
        *contents: Any,
        wrap_storage: UntypedStorage | None = None,
        dtype: DType | None = None,
        device: Device | str | None = None,
        _internal: bool = False,
    ) -> None:
        if wrap_storage is None:
            self.dtype = get_default_dtype() if dtype is None else dtype
            self._memory = share(_new_elements(_only(contents), self.dtype, device)).storage
            return
        if contents or device is not None or dtype is None:
            raise RuntimeError(
                "TypedStorage: with `wrap_storage`, `dtype` must be given, and nothing else"
            )
        if not isinstance(dtype, DType) or not isinstance(wrap_storage, UntypedStorage):
            raise TypeError(
                "TypedStorage: expected a dtype and `wrap_storage` to be an UntypedStorage, got "
                f"{dtype!r} and {wrap_storage!r}"
            )
        self.dtype, self._memory, self._part = dtype, wrap_storage._memory, wrap_storage._part

    @classmethod
    def _of(cls, memory: Storage, dtype: DType, part: range | None = None) -> Self:
        storage = cls.__new__(cls)
        storage._memory, storage.dtype, storage._part = memory, dtype, part
        return storage

    def clone(self) -> Self:
        """Return other memory with the same contents."""
        return self._of(self.untyped().clone()._memory, self.dtype)

    def cpu(self) -> Self:
        """Return the memory, or a copy on the CPU if it is elsewhere."""
        untyped = self.untyped().cpu()
        return self._of(untyped._memory, self.dtype, untyped._part)

    def type(self) -> str:
        """Return the name of the class in PyTorch for elements of this dtype."""
        return f"torch.{self.pickle_storage_type()}"

    def pickle_storage_type(self) -> str:
        """Return the name of the class in PyTorch's files."""
        return f"{STORAGE_KINDS[self.dtype]}Storage"

    def _to(self, dtype: DType) -> TypedStorage:
        """Other memory with the elements in another dtype, or the same one."""
        if dtype is self.dtype:
            return self
        return TypedStorage._of(share(self._elements().to(dtype)).storage, dtype)

    def double(self) -> TypedStorage:
        """Return the elements as float64."""
        return self._to(dt.float64)

    def float(self) -> TypedStorage:
        """Return the elements as float32."""
        return self._to(dt.float32)

    def half(self) -> TypedStorage:
        """Return the elements as float16."""
        return self._to(dt.float16)

    def bfloat16(self) -> TypedStorage:
        """Return the elements as bfloat16."""
        return self._to(dt.bfloat16)

    def long(self) -> TypedStorage:
        """Return the elements as int64."""
        return self._to(dt.int64)

    def int(self) -> TypedStorage:
        """Return the elements as int32."""
        return self._to(dt.int32)

    def short(self) -> TypedStorage:
        """Return the elements as int16."""
        return self._to(dt.int16)

    def char(self) -> TypedStorage:
        """Return the elements as int8."""
        return self._to(dt.int8)

    def byte(self) -> TypedStorage:
        """Return the elements as uint8."""
        return self._to(dt.uint8)

    def bool(self) -> TypedStorage:
        """Return the elements as bool."""
        return self._to(dt.bool_)

    def complex_double(self) -> TypedStorage:
        """Return the elements as complex128."""
        return self._to(dt.complex128)

    def complex_float(self) -> TypedStorage:
        """Return the elements as complex64."""
        return self._to(dt.complex64)

    def __deepcopy__(self, memo: dict) -> Self:
        return self._of(_copied(self._memory, memo), self.dtype, self._part)

    def __reduce__(self) -> tuple[Any, ...]:
        return _typed_on, (self._contents().detach(), self.dtype)


def contents_of(data: Any, dtype: DType | None) -> Any:
    """The elements of a storage as a tensor of its memory; other data as it is.

    Args:
        data: a storage, or any other object.
        dtype: the elements' dtype; bytes are read as such, and as integers by default.

    Raises:
        RuntimeError: the memory has elements of another dtype.
    """
    if not isinstance(data, _Memory | FileStorage):
        return data
    if isinstance(data, FileStorage):
        return import_array(np.asarray(data).view((dtype or dt.uint8).numpy))
    if isinstance(data, UntypedStorage):
        return data._elements().view(dtype or dt.int64)
    if dtype not in (None, data.dtype):
        raise RuntimeError(
            f"expected a storage with elements of {dtype}, or an UntypedStorage, got one of "
            f"{data.dtype}"
        )
    return data._elements()


def _only(contents: tuple) -> Any:
    if len(contents) > 1:
        raise RuntimeError(f"TypedStorage: expected one size or sequence, got {len(contents)}")
    return contents[0] if contents else 0


def _new_elements(contents: Any, dtype: DType, device: Device | str | None) -> Tensor:
    """New memory with so many elements, or with these.

    Raises:
        TypeError: `contents` is neither a number nor a sequence, or memory of another dtype.
    """
    if isinstance(contents, _Memory) and contents.dtype is not dtype:
        raise TypeError(
            f"a storage of {dtype} is made of a size or a sequence, got memory of "
            f"{contents.dtype}; give an UntypedStorage as `wrap_storage`"
        )
    if hasattr(contents, "__index__") and not isinstance(contents, Tensor | _Memory):
        return zeros(operator.index(contents), dtype=dtype, device=device)
    if isinstance(contents, Tensor | str | bytes) or not hasattr(contents, "__len__"):
        actual = type(contents).__name__
        raise TypeError(f"a storage is made of a size or a sequence, got {actual}")
    if not len(contents):
        return zeros(0, dtype=dtype, device=device)
    return import_array(contents, dtype, parse_device(device))


def _copied(memory: Storage, memo: dict[Any, Any]) -> Storage:
    """Other memory with the same contents, one for all that refer to it."""
    if id(memory) not in memo:
        memo[id(memory)] = share(wrap(memory.root().alias()).clone()).storage, memory
    return memo[id(memory)][0]


def _untyped_on(tensor: Tensor) -> UntypedStorage:
    """Make a storage on a tensor's memory; pickles of storages call this."""
    return UntypedStorage._of(share(tensor).storage)


def _typed_on(tensor: Tensor, dtype: DType) -> TypedStorage:
    """Make a storage on a tensor's memory; pickles of storages call this."""
    return TypedStorage._of(share(tensor).storage, dtype)
