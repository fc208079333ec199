"""Names of ``torch.serialization`` for where the memory in a file was, and where it goes."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NoReturn

import oneflow as flow
from oneflow.base.dtype import DType
from oneflow.functional.creation.storages import STORAGE_KINDS, TypedStorage, UntypedStorage
from oneflow.mock_torch.missing import raise_missing
from oneflow.mock_torch.modules import MODULE_IN_PLACE

Storage = TypedStorage | UntypedStorage
_MAP_LOCATION = (
    "If you are running on a CPU-only machine, please use torch.load with "
    "map_location=torch.device('cpu') to map your storages to the CPU."
)


class StorageType:
    """A class of memory that a file names.

    Args:
        name: the class's name, such as ``FloatStorage``.
    """

    def __init__(self, name: str) -> None:
        dtypes = {f"{kind}Storage": dtype for dtype, kind in STORAGE_KINDS.items()}
        self._dtype = dtypes[name]

    @property
    def dtype(self) -> DType:
        """The dtype of the elements."""
        return self._dtype

    def __str__(self) -> str:
        return f"StorageType(dtype={self.dtype})"


def location_tag(storage: Storage) -> str:
    """Return the name that files have for the device of some memory.

    Args:
        storage: the memory.

    Example:
        >>> from oneflow import mock_torch
        >>> with mock_torch.enable():
        ...     import torch
        >>> torch.serialization.location_tag(torch.ones(2).untyped_storage())
        'cpu'
    """
    device = storage.device
    return device.type if device.type in ("cpu", "meta") else f"{device.type}:{device.index or 0}"


def default_restore_location(storage: Storage, location: str) -> Storage:
    """Return memory on the device that a file names.

    Args:
        storage: the memory on the CPU.
        location: the name, as of `location_tag`.

    Raises:
        RuntimeError: there is no such device.
    """
    try:
        device = flow.device(location)
    except (RuntimeError, ValueError) as error:
        raise RuntimeError(
            f"don't know how to restore data location of {type(storage).__name__} (tagged with "
            f"{location})"
        ) from error
    if device.type == "cuda":
        validate_cuda_device(location)
    if device == storage.device:
        return storage
    elements = flow.tensor(storage.tolist(), dtype=storage.dtype, device=device)
    moved = elements.untyped_storage()
    if isinstance(storage, UntypedStorage):
        return moved
    return TypedStorage(wrap_storage=moved, dtype=storage.dtype, _internal=True)


def validate_cuda_device(location: str) -> int:
    """Return the number of the GPU that a file names.

    Args:
        location: the name, as of `location_tag`.

    Raises:
        RuntimeError: there is no such GPU.
        ValueError: the name is no GPU's.
    """
    if not re.fullmatch(r"cuda(:\d+)?", location):
        raise ValueError(f"`location` must be cuda or cuda:N, got {location!r}")
    index, count = int(location.partition(":")[2] or 0), flow.cuda.device_count()
    if not count:
        raise RuntimeError(
            "Attempting to deserialize object on a CUDA device but torch.cuda.is_available() is "
            f"False. {_MAP_LOCATION}"
        )
    if index >= count:
        raise RuntimeError(
            f"Attempting to deserialize object on CUDA device {index} but "
            f"torch.cuda.device_count() is {count}. Please use torch.load with map_location to map "
            "your storages to an existing device."
        )
    return index


def validate_hpu_device(location: str) -> NoReturn:
    """Refuse a device of Intel's Gaudi, which JAX does not know.

    Raises:
        RuntimeError: always.
    """
    raise RuntimeError(
        "Attempting to deserialize object on a HPU device but torch.hpu.is_available() is False. "
        f"{_MAP_LOCATION}"
    )


def normalize_storage_type(storage_type: type) -> type:
    """Return the class of memory on the CPU for one on any device.

    Args:
        storage_type: the class, such as ``torch.cuda.FloatStorage``.
    """
    return getattr(MODULE_IN_PLACE.value("torch"), storage_type.__name__)


def storage_to_tensor_type(storage: TypedStorage) -> Any:
    """Return the constructor of tensors for some memory, such as ``torch.FloatTensor``.

    Args:
        storage: the memory.
    """
    name = f"{STORAGE_KINDS[storage.dtype]}Tensor"
    module = "torch" if storage.device.type == "cpu" else f"torch.{storage.device.type}"
    return getattr(MODULE_IN_PLACE.value(module), name)


def register_package(
    priority: int, tagger: Callable[..., Any], deserializer: Callable[..., Any]
) -> NoReturn:
    """Refuse a further kind of device: those here are what JAX knows."""
    raise_missing(
        "torch.serialization.register_package",
        "devices are those of JAX; `map_location` says where what is loaded goes",
    )


__all__ = [
    "StorageType",
    "default_restore_location",
    "location_tag",
    "normalize_storage_type",
    "register_package",
    "storage_to_tensor_type",
    "validate_cuda_device",
    "validate_hpu_device",
]
