"""Names of ``torch._utils``."""

from __future__ import annotations

import sys
import traceback
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any, NoReturn

from oneflow import Tensor, empty
from oneflow.base.device import CURRENT, Device
from oneflow.cuda import current_device, is_available as cuda_is_available
from oneflow.data.worker import PlainRepr
from oneflow.mock_torch.pytorch.devices import device as device_named
from oneflow.nn import Parameter


def _take_tensors(tensors: Iterable[Tensor], size_limit: int) -> Iterator[list[Tensor]]:
    """Yield lists of tensors of one data type and device, whose sizes do not exceed a limit.

    Args:
        tensors: the tensors; one that exceeds the limit alone has a list of its own.
        size_limit: the limit in bytes.
    """
    waiting: dict[object, list[Tensor]] = defaultdict(list)
    sizes: dict[object, int] = defaultdict(int)
    for tensor in tensors:
        kind = tensor.type()
        size = tensor.numel() * tensor.element_size()
        if waiting[kind] and sizes[kind] + size > size_limit:
            yield waiting.pop(kind)
            sizes[kind] = 0
        waiting[kind].append(tensor)
        sizes[kind] += size
    yield from filter(None, waiting.values())


def _rebuild_tensor(storage: Any, storage_offset: int, size: Any, stride: Any) -> Tensor:
    """Return a tensor on a storage's memory."""
    return empty(0, dtype=storage.dtype).set_(storage, storage_offset, size, stride)


def _rebuild_tensor_v2(
    storage: Any,
    storage_offset: int,
    size: Any,
    stride: Any,
    requires_grad: bool,
    backward_hooks: Any,
    metadata: Any = None,
) -> Tensor:
    """Return a tensor on a storage's memory, as files describe it; they have no hooks."""
    tensor = _rebuild_tensor(storage, storage_offset, size, stride)
    return tensor.requires_grad_(requires_grad)


def _rebuild_parameter(data: Tensor, requires_grad: bool, backward_hooks: Any) -> Parameter:
    """Return a parameter, as files describe it; they have no hooks."""
    return Parameter(data, requires_grad)


def _set_obj_state(obj: Any, state: Any) -> Any:
    """Give an object the attributes that its pickle has, and return it.

    Args:
        obj: the object.
        state: its attributes by name, or a pair of these and those in slots.

    Raises:
        RuntimeError: a tuple is no pair.
    """
    parts = state if isinstance(state, tuple) else (state,)
    if isinstance(state, tuple) and len(state) != 2:
        raise RuntimeError(f"Invalid serialized state: {state}")
    for attributes in parts:
        for name, value in (attributes or {}).items():
            setattr(obj, name, value)
    return obj


class ExceptionWrapper:
    """An exception with its traceback as text, which another thread or process raises again.

    Args:
        exc_info: type, value and traceback, by default of the exception that is handled.
        where: says where it was raised, behind "Caught ValueError".

    Example:
        >>> from oneflow.mock_torch.pytorch._utils import ExceptionWrapper
        >>> try:
        ...     int("x")
        ... except ValueError:
        ...     wrapper = ExceptionWrapper(where="in a thread")
        >>> try:
        ...     wrapper.reraise()
        ... except ValueError as error:
        ...     print(str(error).splitlines()[0])
        Caught ValueError in a thread.
    """

    def __init__(self, exc_info: Any = None, where: str = "in background") -> None:
        kind, value, trace = sys.exc_info() if exc_info is None else exc_info
        self.exc_type, self.where = kind, where
        self.exc_msg = "".join(traceback.format_exception(kind, value, trace))

    def reraise(self) -> NoReturn:
        """Raise the exception again.

        Raises:
            RuntimeError: with its text, where its type takes no single text.
        """
        kind: Any = self.exc_type
        text = f"Caught {kind.__name__} {self.where}.\nOriginal {self.exc_msg}"
        if kind is KeyError:
            text = PlainRepr(text)
        # Some types take their text by name, and have the attribute.
        by_name = {"message": text} if getattr(kind, "message", None) else {}
        try:
            error = kind(**by_name) if by_name else kind(text)
        except Exception:
            raise RuntimeError(text) from None
        raise error


class classproperty:
    """Decorator that makes a method a property of its class.

    Example:
        >>> from oneflow.mock_torch.pytorch._utils import classproperty
        >>> class Named:
        ...     @classproperty
        ...     def name(cls):
        ...         return cls.__name__.lower()
        >>> Named.name
        'named'
    """

    def __init__(self, function: Any) -> None:
        is_bound = isinstance(function, classmethod | staticmethod)
        self._method = function if is_bound else classmethod(function)

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self._method.__get__(instance, owner or type(instance))()


def _get_device_index(device: Any, optional: bool = False, allow_cpu: bool = False) -> int:
    """Return the index of a device; -1 for the CPU.

    Args:
        device: a device, its name or its index; None: the current one.
        optional: a device without an index stands for the current one.
        allow_cpu: the device may be the CPU.

    Raises:
        ValueError: it is the CPU, or has no index.
    """
    if isinstance(device, str):
        device = device_named(device)
    if isinstance(device, Device):
        if device.type == "cpu" and not allow_cpu:
            raise ValueError(f"expected a device that is not the CPU, got {device}")
        device = -1 if device.type == "cpu" else None if device.number == CURRENT else device.index
    if device is None and optional:
        return get_current_device_index()
    if not isinstance(device, int):
        raise ValueError(f"expected a device with an index, or an integer, got {device}")
    return device


def get_current_device_index() -> int:
    """Return the index of the current CUDA device; -1 where there is none."""
    return current_device() if cuda_is_available() else -1


__all__ = [
    "ExceptionWrapper",
    "_get_device_index",
    "_rebuild_parameter",
    "_rebuild_tensor",
    "_rebuild_tensor_v2",
    "_set_obj_state",
    "_take_tensors",
    "classproperty",
    "get_current_device_index",
]
