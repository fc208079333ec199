"""PyTorch's classes of memory of one dtype, such as ``FloatStorage``."""

from __future__ import annotations

from typing import Any

from oneflow.base.dtype import DType
from oneflow.functional.creation.storages import STORAGE_KINDS, TypedStorage, UntypedStorage


class _OfOneDtype(type):
    """The type of the classes of PyTorch for memory with elements of one dtype."""

    dtype: DType
    device_type: str

    def __instancecheck__(cls, instance: Any) -> bool:
        if type(instance) is not TypedStorage or instance.dtype is not cls.dtype:
            return False
        return instance.device.type == cls.device_type


class LegacyStorage(TypedStorage, metaclass=_OfOneDtype):
    """A class of PyTorch such as ``FloatStorage``: calling it makes a `TypedStorage`."""

    def __new__(
        cls,
        *contents: Any,
        wrap_storage: UntypedStorage | None = None,
        dtype: Any = None,
        device: Any = None,
        _internal: bool = False,
    ) -> Any:
        """Make memory with elements of the dtype of this class."""
        if cls is LegacyStorage:
            raise RuntimeError("only classes of one dtype, such as FloatStorage, can be called")
        if dtype is not None or device is not None:
            raise RuntimeError(
                f"{cls.__name__}: `dtype` and `device` are those of the class; TypedStorage takes "
                "others"
            )
        device = cls.device_type if wrap_storage is None else None
        return TypedStorage(*contents, wrap_storage=wrap_storage, dtype=cls.dtype, device=device)


def legacy_storage(name: str, dtype: DType, device_type: str = "cpu") -> type[LegacyStorage]:
    """Make the class of PyTorch for memory with elements of one dtype on one type of device."""
    kind = _OfOneDtype(name, (LegacyStorage,), {"dtype": dtype, "device_type": device_type})
    kind.__doc__ = f"Memory of {dtype}."
    kind.__module__ = "torch" if device_type == "cpu" else f"torch.{device_type}"
    return kind


#: The classes of PyTorch by dtype.
STORAGE_CLASSES: dict[DType, type[LegacyStorage]] = {
    dtype: legacy_storage(f"{kind}Storage", dtype) for dtype, kind in STORAGE_KINDS.items()
}
