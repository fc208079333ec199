"""The description, as JSON, of tensors inside plain Python data, which `save` stores.

Numbers, text and None stand for themselves and lists are lists; everything else is an object with
one key that names its kind. Tensors are only named: their values travel beside the description.
"""

from __future__ import annotations

import base64
import contextlib
import functools
import math
import pickle
from collections import OrderedDict, UserString
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from typing import Any

import numpy as np

from oneflow.base.device import Device
from oneflow.base.dtype import DType, dtype_named
from oneflow.base.placement import DeviceOrSharding, Placement, Sharding
from oneflow.base.sbp import named_sbp, nd_sbp_of
from oneflow.base.shape import Size
from oneflow.checkpoint import code_names, pickled_objects
from oneflow.checkpoint.numpy_pickle import Budget, text_array
from oneflow.checkpoint.plain_objects import KIND_NAMED, KIND_OF_TYPE
from oneflow.checkpoint.shared_memory import (
    MemoryLayout,
    SharedTensor,
    checked_layout,
    join_overlapping,
)
from oneflow.functional.creation.factory_functions import empty
from oneflow.module.module import Module
from oneflow.module.parameter import Parameter
from oneflow.module.state import StateDict
from oneflow.tensor.copied_memory import as_part
from oneflow.tensor.tensor import Tensor
from oneflow.tensor.views import unwrap

MakeTensor = Callable[[str, DeviceOrSharding, MemoryLayout | None], Tensor]
_ARRAY_KINDS, _TEXT_KINDS = "biufc", "US"
# Sequences that are texts: their elements are no objects of their own.
_STRING_TYPES = (str, bytes, bytearray, memoryview, UserString)


class StructureEncoder:
    """Turns an object into JSON data and named tensors.

    Args:
        gathered: global tensors will be stored as local ones with all of their values.
        pickle_module: a module like `pickle` for objects of other classes, which None refuses.

    Attributes:
        tensors: the tensors and NumPy arrays found, by name.
    """

    def __init__(self, gathered: bool = False, pickle_module: Any = None) -> None:
        self.tensors: dict[str, Tensor | np.ndarray] = {}
        self._gathered, self._pickle_module = gathered, pickle_module
        self._names: dict[Any, str] = {}
        # The pickled objects, with their numbers, by their identity.
        self._pickled: dict[int, tuple[int, Any]] = {}
        # The tensors on the device `meta`, with their numbers, by their memory.
        self._meta: dict[Any, tuple[int, Tensor]] = {}
        self._members: list[SharedTensor] = []
        self._modules: dict[int, int] = {}
        self._open: set[int] = set()

    def encode(self, value: Any) -> Any:
        """JSON data for an object.

        Raises:
            TypeError: something that cannot be saved; names its place.
            ValueError: a container that contains itself.
        """
        encoded = self._encode(value, "")
        join_overlapping(self._members, self.tensors, self._add)
        return encoded

    def _encode(self, value: Any, path: str) -> Any:
        """JSON data for `value`, which is at `path` inside the object."""
        if value is None or type(value) in (bool, int, str):
            return value
        if type(value) is float:
            return value if math.isfinite(value) else {"float": repr(value)}
        if isinstance(value, Tensor) and type(value) not in KIND_OF_TYPE:
            is_pickled = self._pickle_module is not None and pickled_objects.is_of_users(value)
            return self._code(value, path) if is_pickled else self._tensor(value, path)
        encode = _LEAVES.get(type(value))
        if encode is not None:
            return encode(value)
        if isinstance(value, np.ndarray | np.generic):
            return self._array(value, path)
        if type(value) in _CONTAINER_KINDS or type(value) in KIND_OF_TYPE:
            return self._container(value, path)
        if isinstance(value, Module) and self._is_described(value):
            return self._module(value, path)
        # Containers of configurations, and subclasses of Python's own containers.
        if isinstance(value, Mapping | Sequence | Set) and not isinstance(value, _STRING_TYPES):
            with self._enter(value, path):
                return self._encode(_plain_container(value), path)
        return self._code(value, path)

    def _is_described(self, module: Module) -> bool:
        """Return whether the file names a module's class; otherwise the module is pickled."""
        if type(module).__reduce__ is not Module.__reduce__:
            return False
        return self._pickle_module is None or not code_names.has_code(module)

    def _code(self, value: Any, path: str) -> Any:
        """A function or a class, saved by name; other objects are pickled."""
        function = code_names.name_of_function(value)
        if function is not None:
            return {"function": function}
        if isinstance(value, type) and issubclass(value, Module):
            return {"class": code_names.name_of_class(value)}
        if self._pickle_module is None:
            raise TypeError(_cannot_save(value, path))
        if id(value) in self._pickled:
            return {"same_pickled": self._pickled[id(value)][0]}
        try:
            encode = functools.partial(self._tensor, path=path)
            encoded = pickled_objects.dump(value, self._pickle_module, encode)
            number, _ = self._pickled[id(value)] = len(self._pickled), value
            return {**encoded, "number": number}
        except (pickle.PicklingError, AttributeError, TypeError) as error:
            raise TypeError(f"{_cannot_save(value, path)} ({error})") from error

    def _module(self, module: Module, path: str) -> Any:
        """A module; later ones that are the same one only name it."""
        first_number = self._modules.get(id(module))
        if first_number is not None:
            return {"same_module": first_number}
        name = code_names.name_of_class(type(module))
        number = self._modules[id(module)] = len(self._modules)
        attributes = self._mapping(code_names.attributes_of(module, path), path)
        return {"module": name, "number": number, "attributes": attributes}

    def _container(self, value: Any, path: str) -> Any:
        with self._enter(value, path):
            if type(value) in KIND_OF_TYPE:
                kind = KIND_OF_TYPE[type(value)]
                return {kind.name: self._encode(kind.describe(value), path)}
            if isinstance(value, dict):
                return self._mapping(value, path)
            # Sets have no order of their own; saving the same set twice should give the same file.
            ordered = sorted(value, key=repr) if isinstance(value, set | frozenset) else value
            items = [self._encode(item, _below(path, index)) for index, item in enumerate(ordered)]
            return items if type(value) is list else {_CONTAINER_KINDS[type(value)]: items}

    @contextlib.contextmanager
    def _enter(self, value: Any, path: str) -> Iterator[None]:
        """Note that what comes next is inside of `value`."""
        if id(value) in self._open:
            raise ValueError(f"cannot save {path or 'an object'}: it contains itself")
        self._open.add(id(value))
        yield
        self._open.discard(id(value))

    def _mapping(self, value: dict, path: str) -> Any:
        pairs = [
            [
                self._encode(key, f"a key of {path or 'the dict'}"),
                self._encode(item, _below(path, key)),
            ]
            for key, item in value.items()
        ]
        encoded: dict[str, Any] = {_CONTAINER_KINDS[type(value)]: pairs}
        metadata = getattr(value, "_metadata", None)
        if metadata is not None:
            encoded["metadata"] = self._encode(metadata, _below(path, "_metadata"))
        return encoded

    def _tensor(self, tensor: Tensor, path: str) -> Any:
        value = unwrap(tensor)
        if value.spec.sbp is None and value.spec.device.type == "meta":
            return self._without_values(tensor)
        shared = tensor._family
        memory = _memory_of(tensor)
        name = self._names.get(memory)
        if name is None:
            name = self._names[memory] = self._add(tensor, path)
        encoded: dict[str, Any] = {"tensor": name, **self._place(tensor), **_kind_of(tensor)}
        if shared is not None and value.spec.sbp is None:
            self._members.append(SharedTensor(name, tensor, encoded))
        return encoded

    def _without_values(self, tensor: Tensor) -> dict[str, Any]:
        """A tensor on the device ``meta``; later ones of the same number are the same."""
        spec = unwrap(tensor).spec
        number, _ = self._meta.setdefault(_memory_of(tensor), (len(self._meta), tensor))
        return {
            "meta": [spec.dtype.name, list(spec.shape)],
            "number": number,
            **_kind_of(tensor),
        }

    def _place(self, tensor: Tensor) -> dict[str, Any]:
        spec = unwrap(tensor).spec
        if spec.sbp is None:
            return {"device": str(spec.device)}
        if self._gathered:
            return {"device": str(Device(spec.device.type, 0))}
        placement: Placement = spec.device
        return {
            "placement": [placement.type, placement.ranks.tolist()],
            "sbp": [component.code for component in spec.sbp],
        }

    def _array(self, value: Any, path: str) -> Any:
        if value.dtype.kind in _TEXT_KINDS:
            if isinstance(value, np.generic):
                return self._encode(value.item(), path)
            content = np.frombuffer(value.tobytes(), np.uint8)
            kind = [value.dtype.str, list(value.shape)]
            return {"numpy_text": self._add(content, path), "kind": kind}
        if value.dtype.kind not in _ARRAY_KINDS:
            raise TypeError(_cannot_save(value, path))
        kind = "numpy" if isinstance(value, np.ndarray) else "numpy_scalar"
        return {kind: self._add(np.asarray(value), path)}

    def _add(self, value: Any, path: str) -> str:
        """Enter a tensor under a name that says where it is."""
        # Keys may be text that is no Unicode, as names of files are; entries may not.
        base_name = path.encode(errors="replace").decode() or "value"
        name, count = base_name, 1
        while name in self.tensors or name == "__metadata__":
            name, count = f"{base_name}#{count}", count + 1
        self.tensors[name] = value
        return name


def _kind_of(tensor: Tensor) -> dict[str, bool]:
    """Describe if a tensor is a parameter, and if it requires a gradient."""
    if isinstance(tensor, Parameter):
        return {"parameter": tensor.requires_grad}
    return {"requires_grad": True} if tensor.requires_grad else {}


def _of_kind(tensor: Tensor, data: Mapping[str, Any]) -> Tensor:
    """A new tensor as what `_kind_of` has described."""
    if "parameter" in data:
        return Parameter(tensor, requires_grad=data["parameter"])
    return tensor.requires_grad_() if data.get("requires_grad") else tensor


def _below(path: str, key: Any) -> str:
    return f"{path}.{key}" if path else str(key)


def _plain_container(value: Any) -> dict | tuple | set | list:
    """A container of Python's own in the place of another."""
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, Set):
        return set(value)
    return tuple(value) if isinstance(value, tuple) else list(value)


def _memory_of(tensor: Tensor) -> Any:
    """The memory of a tensor and the views that lead to it, as something to compare it by."""
    shared = tensor._family
    return id(unwrap(tensor)) if shared is None else (id(shared.storage), *_views_of(tensor))


def _views_of(tensor: Tensor) -> Iterator[tuple]:
    """The views from the memory to a tensor in it, as something to compare them by."""
    for primitive, numbers, attributes in (*tensor._family.root_views(), *tensor._chain):
        yield primitive, numbers, tuple(attributes.items())


def _cannot_save(value: Any, path: str) -> str:
    what = f"a {type(value).__module__}.{type(value).__qualname__}"
    hint = "tensors, NumPy arrays, numbers, text, bytes and dicts, lists, tuples and sets of these"
    if hasattr(value, "state_dict"):
        return f"cannot save {path or 'the object'}: {what}; save its `state_dict()` instead"
    return f"cannot save {path or 'the object'}: it is {what}, and a file holds {hint}"


_LEAVES: dict[type, Callable[[Any], Any]] = {
    bytes: lambda value: {"bytes": base64.b64encode(value).decode()},
    bytearray: lambda value: {"bytearray": base64.b64encode(bytes(value)).decode()},
    complex: lambda value: {"complex": [repr(value.real), repr(value.imag)]},
    DType: lambda value: {"dtype": value.name},
    Device: lambda value: {"device": str(value)},
    Size: lambda value: {"size": list(value)},
}
_CONTAINER_KINDS: dict[type, str] = {
    dict: "dict",
    OrderedDict: "ordered_dict",
    StateDict: "ordered_dict",
    list: "list",
    tuple: "tuple",
    set: "set",
    frozenset: "frozenset",
}


class StructureDecoder:
    """Turns JSON data back into an object.

    Args:
        read: gives the NumPy array with a name.
        make: makes the tensor with a name, or that of a layout in it, for the place that it was
            saved from.
        size: the size of the file, in bytes.
    """

    def __init__(self, read: Callable[[str], np.ndarray], make: MakeTensor, size: int) -> None:
        self._read, self._make = read, make
        self._budget = Budget(size)
        self._tensors: dict[tuple, Tensor] = {}
        # The local tensors, which may share memory, by name.
        self._memories: dict[str | int, Tensor] = {}
        self._modules: dict[int, Module] = {}
        self._pickled: dict[int, Any] = {}

    def decode(self, data: Any) -> Any:
        """The object that `data` describes.

        Raises:
            ValueError: `data` is not what `StructureEncoder` writes.
        """
        if isinstance(data, list):
            return [self.decode(item) for item in data]
        if not isinstance(data, dict):
            return data
        kind = next(iter(data), "nothing")
        content: Any = data.get(kind)
        special = {
            "tensor": self._tensor,
            "part": self._tensor,
            "meta": self._without_values,
            "module": self._module,
            "numpy_text": self._text_array,
            "pickled": self._pickled_object,
        }
        if kind in special:
            return special[kind](data)
        if kind in ("dict", "ordered_dict"):
            return self._mapping(kind, content, data.get("metadata"))
        if kind in ("same_module", "same_pickled"):
            return (self._modules if kind == "same_module" else self._pickled)[content]
        if kind in KIND_NAMED:
            return KIND_NAMED[kind].make(self.decode(content))
        if kind in _SEQUENCES:
            return _SEQUENCES[kind](self.decode(content))
        if kind in ("numpy", "numpy_scalar"):
            array = self._read(content)
            return np.array(array) if kind == "numpy" else array[()]
        if kind not in _SIMPLE:
            raise ValueError(f"unknown kind of data `{kind}`")
        return _SIMPLE[kind](content)

    def _pickled_object(self, data: Mapping[str, Any]) -> Any:
        loaded = pickled_objects.load(data, decode=self.decode)
        if "number" in data:
            self._pickled[data["number"]] = loaded
        return loaded

    def _text_array(self, data: Mapping[str, Any]) -> np.ndarray:
        return text_array(self._read(data["numpy_text"]).tobytes(), *data["kind"])

    def _module(self, data: Mapping[str, Any]) -> Module:
        module = code_names.empty_module(code_names.class_named(*data["module"]))
        # Known before its attributes are, which may refer to it.
        self._modules[data["number"]] = module
        vars(module).update(self.decode(data["attributes"]))
        return module

    def _mapping(self, kind: str, pairs: Any, metadata: Any) -> dict:
        result: dict = {} if kind == "dict" else OrderedDict()
        result.update((self.decode(key), self.decode(value)) for key, value in pairs)
        if metadata is not None:
            vars(result)["_metadata"] = self.decode(metadata)
        return result

    def _tensor(self, data: Mapping[str, Any]) -> Tensor:
        """A tensor; names that occur twice give the same tensor, so tied ones stay tied."""
        name = data["part"] if "part" in data else data["tensor"]
        return self._of_memory(name, data, functools.partial(self._detached, name, data))

    def _without_values(self, data: Mapping[str, Any]) -> Tensor:
        """A tensor on the device ``meta``; numbers that occur twice give the same tensor."""
        number, (name, shape) = data.get("number"), data["meta"]
        make = functools.partial(empty, *shape, dtype=dtype_named(name), device="meta")
        if number is None:
            return _of_kind(make(), data)

        def detached() -> Tensor:
            memory = self._memories.get(number)
            if memory is None:
                memory = self._memories[number] = make()
                return memory
            return as_part(Tensor.__new__(Tensor), memory, ())

        return self._of_memory(number, data, detached)

    def _of_memory(
        self, name: str | int, data: Mapping[str, Any], make: Callable[[], Tensor]
    ) -> Tensor:
        """The tensor of a kind in the memory of a name, which `make` makes at first."""
        key = (name, repr(data.get("layout")), data.get("parameter"), data.get("requires_grad"))
        tensor = self._tensors.get(key)
        if tensor is None:
            tensor = self._tensors[key] = _of_kind(make(), data)
        return tensor

    def _detached(self, name: str, data: Mapping[str, Any]) -> Tensor:
        """A new tensor that shares memory with earlier tensors of `name`."""
        place = _saved_place(data)
        memory = self._memories.get(name)
        is_first = memory is None
        if memory is None:
            memory = self._make(name, place, None)
        is_local = unwrap(memory).spec.sbp is None
        if is_local:
            self._memories[name] = memory
        if "part" in data:
            layout = checked_layout(data["layout"], memory, self._budget)
            return layout.tensor(memory) if is_local else self._make(name, place, layout)
        return memory if is_first else as_part(Tensor.__new__(Tensor), memory, ())


def _saved_place(data: Mapping[str, Any]) -> Device | Sharding:
    """Return the device or sharding that a tensor was saved from."""
    if "placement" not in data:
        return Device(data["device"])
    kind, ranks = data["placement"]
    placement = Placement(kind, ranks)
    return Sharding(placement, nd_sbp_of([named_sbp(code) for code in data["sbp"]], placement.ndim))


_SEQUENCES: dict[str, Callable[..., Any]] = {"tuple": tuple, "set": set, "frozenset": frozenset}
_SIMPLE: dict[str, Callable[[Any], Any]] = {
    "float": float,
    "bytes": base64.b64decode,
    "bytearray": lambda text: bytearray(base64.b64decode(text)),
    "complex": lambda parts: complex(*map(float, parts)),
    "class": lambda name: code_names.class_named(*name),
    "function": code_names.function_named,
    "dtype": dtype_named,
    "device": Device,
    "size": Size,
}
