"""Pickles as PyTorch writes them: its names, and tensors as cuts of storages beside the pickle."""

from __future__ import annotations

import copyreg
import functools
import importlib
import io
import pickle
import warnings
from collections import OrderedDict
from collections.abc import Callable
from types import FunctionType
from typing import Any, NamedTuple

import numpy as np

from oneflow.base.change_count import VersionDict
from oneflow.base.device import Device
from oneflow.base.dtype import DType, uint8, uint16, uint32, uint64
from oneflow.base.layout import Layout, MemoryFormat
from oneflow.base.shape import Size
from oneflow.checkpoint import nested_files
from oneflow.checkpoint.pickled_objects import OF_VALUES
from oneflow.checkpoint.torch_names import PYTORCH_NAMES, TorchName
from oneflow.functional.creation.storages import STORAGE_KINDS, TypedStorage, UntypedStorage
from oneflow.functional.shape.complex_parts import ComplexPart
from oneflow.module.hooks import Hooks
from oneflow.module.module import Module
from oneflow.module.parameter import Parameter
from oneflow.module.pytorch_state import STORES, functions_of_hooks, state_for_pytorch
from oneflow.module.state import StateDict
from oneflow.nested.tensor import NestedTensor
from oneflow.primitives.strides import row_major
from oneflow.program.update_number import UpdateNumber
from oneflow.program.value import Value, ValueOfClass
from oneflow.runtime.eager import read_array
from oneflow.sparse.tensor import SparseTensor, described
from oneflow.tensor.copied_memory import Part, has_negated_elements, part_of
from oneflow.tensor.tensor import Tensor
from oneflow.tensor.views import unwrap

Reduced = str | tuple[Any, ...]
_UTILS = "torch._utils"
_TENSOR, _TENSOR_OF_DTYPE, _META, _PARAMETER, _PARAMETER_WITH_STATE, _SPARSE, _WRAPPER = (
    TorchName(_UTILS, f"_rebuild_{what}")
    for what in (
        *("tensor_v2", "tensor_v3", "meta_tensor_no_storage", "parameter"),
        *("parameter_with_state", "sparse_tensor", "wrapper_subclass"),
    )
)
_OF_TYPE = TorchName("torch._tensor", "_rebuild_from_type_v2")
_LAYOUT = TorchName("torch.serialization", "_get_layout")
_DEVICE, _SIZE = TorchName("torch", "device"), TorchName("torch", "Size")
_BYTES = TorchName("torch.storage", "UntypedStorage")
# Their tensors are cut from bytes, as storages of one type end with the older types.
_OF_BYTES = (uint16, uint32, uint64)

# Named as it is, so that PyTorch looks for nothing like it among its own.
_NEW = TorchName("oneflow.checkpoint.torch_pickler", "new_of_this_package")
# Classes whose objects have other attributes here, by their names in PyTorch.
_INCOMPATIBLE_WITH_PYTORCH = frozenset({("torch.optim.swa_utils", "AveragedModel")})


class GlobalTensorError(Exception):
    """A global tensor is to be pickled: PyTorch's files hold none."""


class SavedStorage:
    """All elements that tensors in a file are cut from.

    Attributes:
        key: its name in the file.
        device: where it is.
        dtype: the type that the file says its elements have.
    """

    def __init__(self, key: str, value: Value, dtype: DType) -> None:
        self.key, self.dtype = key, dtype
        self.device: Device = value.spec.device
        self._value = value

    @property
    def nbytes(self) -> int:
        """The number of bytes."""
        return self._value.spec.nbytes

    @property
    def numel(self) -> int:
        """The number of elements of the file's type."""
        return self.nbytes // self.dtype.itemsize

    def content(self) -> memoryview:
        """The bytes."""
        array = np.ascontiguousarray(np.asarray(read_array(self._value)))
        return array.reshape(-1).view(np.uint8).data


class _StorageReference(NamedTuple):
    """A persistent object: it stands in a pickle for a memory outside of it."""

    saved: SavedStorage
    kind: TorchName
    numel: int


class _Values:
    """A tensor without its class and its attributes."""

    def __init__(self, tensor: Tensor) -> None:
        self.tensor = tensor


class SavedStorages:
    """The storages of the tensors in one file, each once."""

    def __init__(self) -> None:
        self._by_identity: dict[int, SavedStorage] = {}
        # Objects by which storages are told apart live as long as they do.
        self._alive: list[Any] = []

    def all(self) -> list[SavedStorage]:
        """Return them in the order in which they were met."""
        return list(self._by_identity.values())

    def of_tensor(self, tensor: Tensor) -> tuple[SavedStorage, Part]:
        """Return the memory of a tensor, and the part of it that the tensor is.

        Raises:
            RuntimeError: it was met before with elements of another type.
        """
        value, family = unwrap(tensor), tensor._family
        # Parts of conjugates have memory of their own in files: PyTorch's mark of the other sign is
        # not read by all that read the rest.
        if family is None or has_negated_elements(tensor):
            shape = tuple(value.spec.shape)
            part: Part = (shape, row_major(shape), 0, False, value.spec.dtype)
            return self._saved(value, value, _in_memory(part[-1])), part
        part = part_of(tensor)
        return self._saved(family.storage, family.storage.root(), _in_memory(part[-1])), part

    def of_storage(self, storage: TypedStorage | UntypedStorage) -> SavedStorage:
        """Return the memory of a storage.

        Raises:
            RuntimeError: it was met before with elements of another type.
        """
        if storage._part is not None:
            storage = storage.clone()
        return self._saved(storage._memory, storage._memory.value, storage.dtype)

    def _saved(self, identity: Any, value: Value, dtype: DType) -> SavedStorage:
        saved = self._by_identity.get(id(identity))
        if saved is None:
            self._alive.append(identity)
            saved = SavedStorage(str(len(self._by_identity)), value, dtype)
            self._by_identity[id(identity)] = saved
        if saved.dtype is not dtype:
            raise RuntimeError(
                "Cannot save multiple tensors or storages that view the same data as different "
                f"types, here {saved.dtype} and {dtype}: save a clone of one"
            )
        return saved


def _in_memory(dtype: DType) -> DType:
    """Return the type that files give the elements of the memory of tensors of a type."""
    return uint8 if dtype in _OF_BYTES else dtype


def dump(
    obj: Any, pickle_module: Any, protocol: int, storages: SavedStorages, *, is_legacy: bool = False
) -> bytes:
    """Return the pickle of an object, with names as in PyTorch.

    Args:
        obj: the object.
        pickle_module: a module like `pickle`.
        protocol: the protocol of pickles.
        storages: gets the storages of the tensors in it.
        is_legacy: whether it is for the plain files before PyTorch 1.6.

    Raises:
        GlobalTensorError: it holds a global tensor.
        RuntimeError: tensors see the same memory as elements of several types.
    """
    content = io.BytesIO()
    pickler = _pickler_class(pickle_module)(content, protocol)
    pickler.storages, pickler.is_legacy = storages, is_legacy
    pickler.dispatch_table = _DispatchTable(pickler)
    pickler.dump(obj)
    return content.getvalue()


class _TorchNames:
    """The part of a pickler that writes names as in PyTorch, and storages as persistent objects."""

    storages: SavedStorages
    is_legacy: bool

    def persistent_id(self, obj: Any) -> Any:
        """Return the description of a storage; of other objects what the base class says."""
        if type(obj) is _StorageReference:
            return _persistent_id(obj, self.is_legacy)
        if isinstance(obj, TypedStorage | UntypedStorage):
            return _persistent_id(_of_storage(obj, self), self.is_legacy)
        return super().persistent_id(obj)  # pyright: ignore[reportAttributeAccessIssue]

    def save_global(self, obj: Any, name: str | None = None) -> None:
        """Write the name of an object."""
        place = _place_of(obj)
        if place is None:
            super().save_global(obj, name)  # pyright: ignore[reportAttributeAccessIssue]
        else:
            _write_name(self, obj, *place)


def _pickler_class(pickle_module: Any) -> Any:
    """Return a class of picklers that uses PyTorch's names, and reduces as a module's.

    Names can be replaced in a pickler that is written in Python alone. A pickler in C, such as
    cloudpickle's, contributes its `reducer_override` and `dispatch_table`.
    """
    pickler_class = pickle_module.Pickler
    base: Any = pickler_class if issubclass(pickler_class, pickle._Pickler) else pickle._Pickler
    # A table of the same class, which may know more types than it holds.
    dispatch = type(base.dispatch)(base.dispatch)
    for kind in (FunctionType, type):
        dispatch[kind] = _by_name_or(base.dispatch[kind])
    dispatch[UpdateNumber] = lambda pickler, number: pickler.save(float(number))
    members = (
        {}
        if pickler_class in (base, pickle.Pickler)
        else _reduction_members(pickler_class(io.BytesIO()))
    )
    return type("TorchPickler", (_TorchNames, base), {"dispatch": dispatch, **members})


def _by_name_or(save: Callable[[Any, Any], None]) -> Callable[[Any, Any], None]:
    """Return what saves a class or a function, by its name in PyTorch if it has one."""

    def save_named(pickler: Any, obj: Any) -> None:
        place = _place_of(obj)
        save(pickler, obj) if place is None else _write_name(pickler, obj, *place)

    return save_named


def _reduction_members(pickler: Any) -> dict[str, Any]:
    """Return the members of a pickler that reduce objects, for another class."""
    members: dict[str, Any] = {"other_dispatch_table": getattr(pickler, "dispatch_table", None)}
    if hasattr(pickler, "reducer_override"):
        members["reducer_override"] = staticmethod(
            _foreign_reducer_override(pickler.reducer_override)
        )
    return members


def _foreign_reducer_override(override: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return a pickler's way to reduce objects, for those that are not of this package."""

    def reduce(obj: Any) -> Any:
        is_here = type(obj) in _DISPATCH_TABLE or isinstance(
            obj, TorchName | Tensor | Device | _Values
        )
        is_here = is_here or (isinstance(obj, type | FunctionType) and _place_of(obj) is not None)
        return NotImplemented if is_here else override(obj)

    return reduce


def _place_of(obj: Any) -> tuple[str, str] | None:
    """Return module and name in PyTorch; None for objects of other packages."""
    if isinstance(obj, TorchName):
        return obj.module, obj.name
    if isinstance(obj, DType | MemoryFormat):
        return "torch", obj.name
    return PYTORCH_NAMES.value.name_of(obj)


def _write_name(pickler: Any, obj: Any, module: str, name: str) -> None:
    owner, _, attribute = name.rpartition(".")
    if owner and pickler.proto < 4:
        pickler.save_reduce(getattr, (TorchName(module, owner), attribute), obj=obj)
        return
    if pickler.proto >= 4:
        pickler.save(module)
        pickler.save(name)
        pickler.write(pickle.STACK_GLOBAL)
    else:
        pickler.write(pickle.GLOBAL + f"{module}\n{name}\n".encode())
    pickler.memoize(obj)


def _persistent_id(reference: _StorageReference, is_legacy: bool) -> tuple[Any, ...]:
    saved, kind, numel = reference
    place = "storage", kind, saved.key, _location(saved.device), numel
    # Old files say which part of another memory it is: none.
    return (*place, None) if is_legacy else place


def _location(device: Device) -> str:
    """The name of a device in PyTorch's files."""
    return device.type if device.type == "cpu" else f"{device.type}:{max(device.number, 0)}"


def _of_storage(storage: TypedStorage | UntypedStorage, pickler: _TorchNames) -> _StorageReference:
    saved = pickler.storages.of_storage(storage)
    # Old files have no memory without a type of elements.
    if isinstance(storage, UntypedStorage) and not pickler.is_legacy:
        return _StorageReference(saved, _BYTES, saved.nbytes)
    return _StorageReference(saved, _storage_name(storage.dtype), saved.numel)


def _storage_name(dtype: DType) -> TorchName:
    return TorchName("torch", f"{STORAGE_KINDS[dtype]}Storage")


# --- how objects are reduced


class _DispatchTable:
    """The reducers of this package's objects, and the reducers in `copyreg`."""

    def __init__(self, pickler: Any) -> None:
        self._storages: SavedStorages = pickler.storages
        self._is_legacy: bool = pickler.is_legacy
        self._others = getattr(pickler, "other_dispatch_table", None) or copyreg.dispatch_table

    def get(self, kind: type) -> Callable[[Any], Reduced] | None:
        """Return what reduces objects of a class; None: they do so themselves."""
        if kind is _Values:
            return self._values
        if kind is ComplexPart:
            return self._part
        if kind in _DISPATCH_TABLE:
            return _DISPATCH_TABLE[kind]
        if issubclass(kind, Device):
            return _device
        if issubclass(kind, Parameter) and kind.__reduce_ex__ in OF_VALUES:
            return self._parameter
        if issubclass(kind, Tensor) and kind.__reduce_ex__ in OF_VALUES:
            return self._tensor
        if issubclass(kind, VersionDict):
            return _ordered_dict
        return self._others.get(kind) or _reducer_of_attributes(kind)

    def _tensor(self, tensor: Tensor) -> Reduced:
        state = dict(vars(tensor))
        kind = type(tensor)
        if kind is Tensor and not state:
            return self._reduced(tensor, tensor.requires_grad)
        rebuild, arguments = self._reduced(tensor, tensor.requires_grad)
        return _OF_TYPE, (rebuild, kind, arguments, state)

    def _parameter(self, parameter: Parameter) -> Reduced:
        state, grad = dict(vars(parameter)), parameter.requires_grad
        hooks: OrderedDict[str, Any] = OrderedDict()
        if state:
            return _PARAMETER_WITH_STATE, (_Values(parameter), grad, hooks, state)
        return _PARAMETER, (_Values(parameter), grad, hooks)

    def _part(self, part: ComplexPart) -> Reduced:
        return self._reduced(part, part.requires_grad)

    def _values(self, values: _Values) -> Reduced:
        return self._reduced(values.tensor, False)

    def _reduced(self, tensor: Tensor, requires_grad: bool) -> tuple[TorchName, tuple[Any, ...]]:
        value = unwrap(tensor)
        spec = value.spec
        if spec.sbp is not None:
            raise GlobalTensorError
        if isinstance(value, ValueOfClass):
            place = tuple(tensor.stride()), tensor.storage_offset(), Layout.strided, spec.device
            return _WRAPPER, (type(tensor), spec.dtype, tuple(spec.shape), *place, requires_grad)
        if spec.device.type == "meta":
            stride = tuple(tensor.stride())
            return _META, (spec.dtype, tuple(spec.shape), stride, requires_grad)
        saved, (shape, strides, offset, is_conjugate, dtype) = self._storages.of_tensor(tensor)
        is_of_bytes = dtype in _OF_BYTES
        if is_of_bytes and self._is_legacy:
            raise NotImplementedError(
                f"PyTorch's files before 1.6 hold no {dtype}: save without "
                "`_use_new_zipfile_serialization=False`, or convert the tensor"
            )
        kind = _BYTES if is_of_bytes else _storage_name(dtype)
        reference = _StorageReference(saved, kind, saved.nbytes if is_of_bytes else saved.numel)
        place = reference, int(offset), tuple(shape), tuple(strides), requires_grad, OrderedDict()
        marks = ({"conj": True},) if is_conjugate else ()
        if is_of_bytes:
            return _TENSOR_OF_DTYPE, (*place, dtype, *marks)
        return _TENSOR, (*place, *marks)


def _reducer_of_attributes(kind: type) -> Callable[[Any], Reduced] | None:
    """Return what reduces objects of a class whose attributes PyTorch has otherwise, if any."""
    if (kind.__reduce_ex__, kind.__reduce__) != (object.__reduce_ex__, object.__reduce__):
        return None
    if _is_incompatible_with_pytorch(kind):
        return _of_this_package
    if issubclass(kind, Module):
        return _module
    return _with_state_in_pytorch if hasattr(kind, "_state_in_pytorch") else None


def _ordered_dict(value: Any) -> Reduced:
    attributes = getattr(value, "__dict__", None) or None
    return OrderedDict, (), attributes, None, iter(value.items())


def _module(module: Module) -> Reduced:
    rebuild, arguments, *rest = module.__reduce_ex__(2)
    # A class may have a state of its own, which is not the attributes of a module.
    if rest and isinstance(rest[0], dict) and rest[0].keys() >= set(STORES):
        rest[0] = {**state_for_pytorch(rest[0]), **module._attributes_in_pytorch()}
    return rebuild, arguments, *rest


def _with_state_in_pytorch(obj: Any) -> Reduced:
    return copyreg.__newobj__, (type(obj),), obj._state_in_pytorch()  # pyright: ignore[reportAttributeAccessIssue]


@functools.cache
def _is_incompatible_with_pytorch(kind: type) -> bool:
    """Return whether objects of a class have attributes that PyTorch's class does not read."""
    return any(_place_of(base) in _INCOMPATIBLE_WITH_PYTORCH for base in kind.__mro__[:-1])


def _of_this_package(obj: Any) -> Reduced:
    """Reduce an object that PyTorch's class of the same name could not read."""
    name = type(obj).__name__
    warnings.warn(
        f"PyTorch does not read a whole {name}: it is saved for this package alone; save its "
        f"`state_dict()`, or that of the model it belongs to, to load it in PyTorch",
        stacklevel=2,
    )
    rebuild, arguments, *rest = _module(obj) if isinstance(obj, Module) else obj.__reduce_ex__(2)
    if rebuild is not copyreg.__newobj__ or arguments != (type(obj),):  # pyright: ignore[reportAttributeAccessIssue]
        return rebuild, arguments, *rest
    return _NEW, (type(obj).__module__, type(obj).__qualname__), *rest


def new_of_this_package(module: str, name: str) -> Any:
    """Make an object without attributes of a class, by names that are not PyTorch's.

    So PyTorch without this package refuses the file, rather than fail when the object is used.
    """
    kind: Any = functools.reduce(getattr, name.split("."), importlib.import_module(module))
    return kind.__new__(kind)


def _sparse(tensor: SparseTensor) -> Reduced:
    name, index, values, size, coalesced = described(tensor)
    layout = Layout[name]
    if layout is Layout.sparse_coo:
        return _SPARSE, (layout, (*index, values, Size(size), coalesced))
    return _SPARSE, (layout, (*index, values, Size(size)))


def _device(device: Device) -> Reduced:
    has_number = device.number > 0 or (device.number == 0 and device.type not in ("cpu", "meta"))
    return _DEVICE, (device.type, device.number) if has_number else (device.type,)


_DISPATCH_TABLE: dict[type, Callable[[Any], Reduced]] = {
    TorchName: lambda name: name.name,
    DType: lambda dtype: dtype.name,
    MemoryFormat: lambda memory_format: memory_format.name,
    Layout: lambda layout: (_LAYOUT, (f"torch.{layout.name}",)),
    Size: lambda size: (_SIZE, (tuple(size),)),
    StateDict: _ordered_dict,
    Hooks: lambda hooks: (OrderedDict, (), None, None, functions_of_hooks(hooks)),
    SparseTensor: _sparse,
    NestedTensor: nested_files.reduced,
}
