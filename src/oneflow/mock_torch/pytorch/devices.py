"""PyTorch's `device`, which may be named without a number: the current one where it is used."""

from __future__ import annotations

from typing import Any

from oneflow.base.device import CURRENT, INDEXED_TYPES, Device


class _DeviceClass(type):
    """The class of `device`: every device is an instance, those with a number too."""

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, Device)


class device(Device, metaclass=_DeviceClass):
    """A device; ``device("cuda")`` is the current one where it is used, and has no index.

    Args:
        type: the same as for `oneflow.device`; a number is the ordinal of an accelerator.
        index: ordinal of the device among those of its type.

    Example:
        >>> from oneflow import mock_torch
        >>> with mock_torch.enable():
        ...     import torch
        ...     torch.device("cuda"), torch.device("cuda", 1), torch.device("cpu")
        (device(type='cuda'), device(type='cuda', index=1), device(type='cpu'))
    """

    __slots__ = ()

    def __new__(cls, type: str | int | Device, index: int | None = None) -> Device:
        """The one device of that type and index, or without an index."""
        if isinstance(type, Device):
            return type
        indexed = Device(type, index)
        is_current = index is None and type in INDEXED_TYPES
        return cls._add(indexed.type, CURRENT) if is_current else indexed

    def __reduce__(self) -> tuple[Any, ...]:
        return (device, (self.type,))
