"""Objects that names in PyTorch's pickles stand for: tensors cut from storages, and plain data."""

from __future__ import annotations

import copy
import math
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from oneflow.base import dtype as dt
from oneflow.base.device import CPU, Device
from oneflow.base.dtype import DType
from oneflow.base.layout import Layout, MemoryFormat
from oneflow.base.shape import Size
from oneflow.checkpoint.load_errors import UnsafePickleError
from oneflow.checkpoint.narrow_types import COMPLEX32, NARROW_TYPES, NarrowType
from oneflow.checkpoint.nested_files import (
    JAGGED,
    JAGGED_CLASS,
    RANGE,
    STRIDED,
    DimensionRange,
    nested_of_buffer,
    nested_of_jagged,
)
from oneflow.checkpoint.numpy_pickle import Budget, Pending, finished, numpy_table
from oneflow.checkpoint.pickled_objects import TensorKind, set_plain_attributes
from oneflow.differentiation.grad_mode import no_grad
from oneflow.functional.creation.factory_functions import empty
from oneflow.functional.creation.storages import STORAGE_KINDS, TypedStorage
from oneflow.module.parameter import Parameter
from oneflow.nested.tensor import NestedTensor
from oneflow.primitives.strides import is_row_major
from oneflow.sparse.tensor import SparseTensor, rebuild as rebuild_sparse
from oneflow.tensor.copied_memory import as_part, views_to
from oneflow.tensor.copy_methods import rebuild_wrapper
from oneflow.tensor.tensor import Tensor
from oneflow.tensor.transfer import import_array, wrap_numpy
from oneflow.tensor.views import unwrap


def saved_device(location: Any) -> Device:
    """Return the device a storage was saved from; CPU for devices that are not known here."""
    try:
        return Device(location)
    except RuntimeError:
        return CPU


@dataclass(frozen=True)
class StorageType:
    """A class of storages."""

    dtype: DType


class TorchStorage(Pending):
    """A block of numbers that tensors are cut from; old files have it behind the pickle.

    A storage that stands alone becomes one when everything has been read.

    Attributes:
        dtype: the numbers' type.
        device: where it was.
        content: its bytes, once they are read.
        numel: how many numbers the pickle says that it has.
        public: the storage that a program has of it, if it has one already.
    """

    def __init__(
        self, kind: DType, device: Device, content: bytes | np.ndarray | None, numel: int
    ) -> None:
        super().__init__()
        self.dtype = kind
        self.device = device
        self.content = content
        self.numel = numel
        self.public: TypedStorage | None = None

    def replace_by(self, make: Callable[[], TypedStorage]) -> TorchStorage:
        """Become by itself what `make` makes."""
        self._make = make
        return self


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
        return isinstance(self.dtype, DType) and not self.is_negative and bool(self.numel)

    @property
    def numel(self) -> int:
        """The number of elements."""
        return math.prod(self.size)

    def empty_array(self, budget: Budget) -> np.ndarray:
        """An array for the numbers."""
        kind = self.dtype.read_as if isinstance(self.dtype, NarrowType) else self.dtype.numpy
        budget.take(self.numel * kind.itemsize)
        return np.empty(self.size, kind)

    def array(self, content: bytes | np.ndarray, budget: Budget) -> np.ndarray:
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
            return self.empty_array(budget)
        budget.take(math.prod(size) * dtype.itemsize)
        numbers = np.frombuffer(content, dtype.numpy, available)[offset:]
        if is_row_major(size, stride):
            array = numbers[: math.prod(size)].reshape(size)
        else:
            steps = [
                step * dtype.itemsize if n > 1 else 0 for n, step in zip(size, stride, strict=True)
            ]
            array = np.lib.stride_tricks.as_strided(numbers, size, steps, writeable=False)
        array = dtype.widened(array) if isinstance(dtype, NarrowType) else array
        array = np.conj(array) if self.is_conjugate else array
        return np.negative(array) if self.is_negative else array


class TorchBuilder:
    """Makes what a pickle describes; tensors that are cut from one storage share its memory.

    Args:
        restore_location: gives the device for that of a storage.
        budget: the bytes that tensors may take.
        is_at_once: tensors are finished where they are made, when nobody knows yet whether others
            are cut from the same storage; so all share its memory.
        is_trusted: names lead to what they are in this process, and tensors get any state.
    """

    def __init__(
        self,
        restore_location: Callable[[Device], Device],
        budget: Budget,
        is_at_once: bool = False,
        is_trusted: bool = False,
    ) -> None:
        self._restore_location, self._is_at_once = restore_location, is_at_once
        self._budget, self._is_trusted = budget, is_trusted
        # The number of tensors cut from a storage, by its identity; all of it once it is needed.
        self._counts: Counter[int] = Counter()
        self._memories: dict[int, Tensor] = {}
        # Tensors with numbers of their own, made of a storage that is still to be read.
        self._unfilled: dict[int, list[tuple[Tensor, _Cut]]] = {}
        # The functions of the last table that make tensors.
        self._rebuild_functions: list[Any] = []
        # Storages by the identity of the public ones that pickles get at once.
        self._storages: dict[int, TorchStorage] = {}

    def resolve_storage(self, storage: TorchStorage) -> TorchStorage | TypedStorage:
        """Return what stands for a storage that a pickle refers to."""
        if not self._is_at_once:
            return storage.replace_by(lambda: self._shared_memory(storage).storage())
        if storage.public is None:
            storage.public = self._shared_memory(storage).storage()
            self._storages[id(storage.public)] = storage
        return storage.public

    def table(self) -> dict[tuple[str, str], Any]:
        """Return the objects that the names in a pickle stand for that is not trusted."""
        table = self._rebuild_table()
        self._register_rebuild_functions(table)
        return {
            **table,
            ("torch.nn.parameter", "Parameter"): self.parameter,
            ("torch", "Tensor"): TensorKind(Tensor),
            ("torch", "Size"): Size,
            ("torch", "device"): _named_device,
            **{("torch", dtype.name): dtype for dtype in dt.ALL_DTYPES},
            **{("torch", order.name): order for order in MemoryFormat},
            **numpy_table(self._budget),
        }

    def table_at_once(self) -> dict[tuple[str, str], Any]:
        """Return what names stand for, with tensors that are finished where they are made.

        They may be attributes of any object, in which nothing is looked for.
        """

        def finish(make: Callable[..., Any]) -> Callable[..., Any]:
            return lambda *arguments: finished(make(*arguments))

        table = self._rebuild_table() if self._is_trusted else self.table()
        table = {
            name: finish(entry) if callable(entry) and not isinstance(entry, type) else entry
            for name, entry in table.items()
        }
        self._register_rebuild_functions(table)
        return table

    def _register_rebuild_functions(self, table: dict[tuple[str, str], Any]) -> None:
        names = [name for name in table if name[1].startswith("_rebuild_")]
        self._rebuild_functions = [table[name] for name in names]

    def _rebuild_table(self) -> dict[tuple[str, str], Any]:
        """Return the functions that build tensors, and their arguments."""
        rebuild = "torch._utils"
        table: dict[tuple[str, str], Any] = {
            (rebuild, "_rebuild_tensor"): self.tensor,
            (rebuild, "_rebuild_tensor_v2"): self.tensor,
            (rebuild, "_rebuild_tensor_v3"): self.tensor_of_dtype,
            (rebuild, "_rebuild_device_tensor_from_numpy"): self.tensor_of_array,
            (rebuild, "_rebuild_device_tensor_from_cpu_tensor"): self.moved_tensor,
            (rebuild, "_rebuild_meta_tensor_no_storage"): self.meta_tensor,
            (rebuild, "_rebuild_sparse_tensor"): self.sparse_tensor,
            (rebuild, "_rebuild_wrapper_subclass"): self.wrapper,
            (rebuild, "_rebuild_parameter"): self.parameter,
            (rebuild, "_rebuild_parameter_with_state"): self.parameter_with_state,
            ("torch._tensor", "_rebuild_from_type_v2"): self.typed,
            (STRIDED.module, STRIDED.name): self.nested_tensor,
            (JAGGED.module, JAGGED.name): self.jagged_tensor,
            (JAGGED_CLASS.module, JAGGED_CLASS.name): NestedTensor,
            (RANGE.module, RANGE.name): DimensionRange,
            ("torch.serialization", "_get_layout"): _named_layout,
            ("torch.storage", "UntypedStorage"): StorageType(dt.uint8),
        }
        kinds = {f"{kind}Storage": StorageType(dtype) for dtype, kind in STORAGE_KINDS.items()}
        table.update({("torch", name): kind for name, kind in kinds.items()})
        table.update({("torch.cuda", name): kind for name, kind in kinds.items()})
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
        storage = self._storages.get(id(storage), storage)
        marks = dict(metadata or {})
        is_conjugate, is_negative = bool(marks.pop("conj", False)), bool(marks.pop("neg", False))
        if marks:
            raise UnsafePickleError(f"a tensor has the property `{next(iter(marks))}`")
        cut = _Cut(dtype, offset, tuple(size), tuple(stride), is_conjugate, is_negative)

        def make() -> Tensor:
            is_exclusive = not self._is_at_once and self._counts[id(storage)] == 1
            is_shared = not is_exclusive or not is_row_major(cut.size, cut.stride)
            array = None if storage.content is None else cut.array(storage.content, self._budget)
            if is_shared and cut.is_plain:
                tensor = self._part(storage, cut)
            else:
                numbers = cut.empty_array(self._budget) if array is None else array
                tensor = _imported(numbers, self._restore_location(storage.device))
            if array is None and not cut.is_plain:
                self._unfilled.setdefault(id(storage), []).append((tensor, cut))
            return tensor.requires_grad_(bool(requires_grad))

        self._counts[id(storage)] += 1
        return Pending(make)

    def _part(self, storage: TorchStorage, cut: _Cut) -> Tensor:
        """A tensor that shares its memory with the others that are cut from its storage."""
        memory = self._shared_memory(storage)
        part = (cut.size, cut.stride, cut.offset, cut.is_conjugate, cut.dtype)
        return as_part(Tensor.__new__(Tensor), memory, views_to(part, unwrap(memory)))

    def _shared_memory(self, storage: TorchStorage) -> Tensor:
        memory = self._memories.get(id(storage))
        if memory is None:
            memory = self._memories[id(storage)] = self._memory(storage)
        return memory

    def _memory(self, storage: TorchStorage) -> Tensor:
        place = self._restore_location(storage.device)
        self._budget.take(storage.numel * storage.dtype.itemsize)
        if storage.content is None:
            return empty(storage.numel, dtype=storage.dtype, device=place)
        return _imported(np.frombuffer(storage.content, storage.dtype.numpy), place)

    def finished(self, result: Any) -> Any:
        """Return an object with its tensors, when all storages have their contents."""
        return result if self._is_at_once else finished(result)

    def fill(self, storage: TorchStorage, content: bytes) -> None:
        """Take the content of a storage from which tensors have been cut already."""
        storage.content = content
        memory = self._memories.get(id(storage))
        with no_grad():
            if memory is not None:
                memory.copy_(self._memory(storage))
            for tensor, cut in self._unfilled.pop(id(storage), ()):
                tensor.copy_(import_array(cut.array(content, self._budget), None, tensor.device))

    def tensor_of_array(
        self, array: Any, dtype: DType, device: str, requires_grad: bool
    ) -> Pending:
        """A tensor of a device whose storages are not saved, from its numbers."""

        def make() -> Tensor:
            place = self._restore_location(saved_device(device))
            tensor = import_array(_value(array), None, place).to(dtype)
            return tensor.requires_grad_(bool(requires_grad))

        return Pending(make)

    def moved_tensor(self, data: Any, dtype: DType, device: str, requires_grad: bool) -> Pending:
        """A tensor of a device whose storages are not saved, from its copy on the CPU."""

        def make() -> Tensor:
            tensor = _value(data).detach().to(self._restore_location(saved_device(device)), dtype)
            return tensor.requires_grad_(bool(requires_grad))

        return Pending(make)

    def meta_tensor(self, dtype: DType, size: tuple, stride: tuple, requires_grad: bool) -> Pending:
        """A tensor that has a shape only."""
        return Pending(
            lambda: empty(*size, dtype=dtype, device="meta", requires_grad=bool(requires_grad))
        )

    def sparse_tensor(self, layout: Layout, data: tuple[Any, ...]) -> Pending:
        """A sparse tensor, of positions and values."""

        def make() -> SparseTensor:
            *parts, size = [_value(part) for part in data[: 3 if is_coordinates else 4]]
            coalesced = bool(data[3]) if is_coordinates and len(data) > 3 else not is_coordinates
            *index, values = parts
            if not all(type(part) is Tensor for part in parts):
                raise ValueError("a sparse tensor is made of something that is no tensor")
            return rebuild_sparse(layout.name, index, values, size, coalesced)

        if not isinstance(layout, Layout):
            raise ValueError(f"a layout is described by a {type(layout).__name__}")
        is_coordinates = layout is Layout.sparse_coo
        return Pending(make)

    def nested_tensor(self, *places: Any) -> Pending:
        """A nested tensor of a buffer, and sizes, strides and offsets of its components."""
        return Pending(lambda: nested_of_buffer(*map(_value, places)))

    def jagged_tensor(self, arguments: Mapping[str, Any]) -> Pending:
        """A nested tensor whose components differ in one dimension."""
        return Pending(lambda: nested_of_jagged({n: _value(x) for n, x in arguments.items()}))

    def wrapper(
        self,
        kind: Any,
        dtype: DType,
        size: tuple,
        stride: tuple,
        offset: int,
        layout: Any,
        device: Device,
        requires_grad: bool,
    ) -> Pending:
        """A tensor without values of a class that computes its operators."""

        def make() -> Tensor:
            if not (isinstance(kind, type) and issubclass(kind, Tensor)):
                raise UnsafePickleError(f"it makes a tensor of the class {kind!r}")
            place = self._restore_location(device)
            return rebuild_wrapper(kind, dtype, size, stride, offset, place, requires_grad)

        return Pending(make)

    def parameter(self, data: Any, requires_grad: bool = True, *_: Any) -> Pending:
        """A parameter."""
        return Pending(lambda: Parameter(_value(data), requires_grad=bool(requires_grad)))

    def parameter_with_state(self, data: Any, requires_grad: bool, hooks: Any, state: Any) -> Any:
        """A parameter with attributes."""
        return self._with_state(lambda: Parameter(_value(data), bool(requires_grad)), state)

    def typed(self, make: Callable, kind: Any, arguments: tuple, state: Any) -> Pending:
        """A tensor of a class of its own, or with attributes."""
        if not any(make is function for function in self._rebuild_functions):
            raise ValueError("a tensor's class names an unknown way to make it")
        plain = make(*arguments)
        if kind is NestedTensor:
            return plain  # its attributes in PyTorch are parts of it
        kind = kind.type if isinstance(kind, TensorKind) else kind
        kind = kind if isinstance(kind, type) and issubclass(kind, Tensor) else None

        def typed() -> Tensor:
            tensor = _value(plain)
            # Other tensors that are cut at the same place have attributes of their own.
            return copy.copy(tensor) if kind in (None, type(tensor)) else tensor.as_subclass(kind)

        return self._with_state(typed, state)

    def _with_state(self, make: Callable[[], Tensor], state: Any) -> Pending:
        def with_state() -> Tensor:
            tensor = make()
            set_state = getattr(type(tensor), "__setstate__", None)
            attributes = self.finished(state)
            if set_state is not None:
                set_state(tensor, attributes)
                return tensor
            if not self._is_trusted:
                set_plain_attributes(tensor, attributes)
                return tensor
            # Attributes without a dictionary are slots.
            named, slots = attributes if isinstance(attributes, tuple) else (attributes, None)
            vars(tensor).update(named or {})
            for name, value in (slots or {}).items():
                setattr(tensor, name, value)
            return tensor

        return Pending(with_state)


def _imported(numbers: np.ndarray, place: Any) -> Tensor:
    """Return a tensor of numbers that nobody writes to: on the CPU, if it can be, in their memory.

    It can be if the memory was read for them, and they are most of it.
    """
    owner = numbers
    while isinstance(owner.base, np.ndarray):
        owner = owner.base
    is_most = owner.nbytes <= 2 * numbers.nbytes and isinstance(numbers.base, np.ndarray)
    if place == CPU and is_most and numbers.flags.c_contiguous:
        return wrap_numpy(numbers)
    return import_array(numbers, None, place)


def _value(data: Any) -> Any:
    return data.value() if isinstance(data, Pending) else data


def _named_layout(name: str) -> Layout:
    try:
        return Layout[name.removeprefix("torch.")]
    except (KeyError, AttributeError):
        raise ValueError(f"there is no layout `{name}`") from None


def _named_device(name: str, index: int | None = None) -> Device:
    if not isinstance(name, str):
        raise ValueError(f"a device is described by a {type(name).__name__}")
    return Device(name) if index is None else Device(name, index)
