"""The accelerator of this process, whatever its kind: a GPU or a TPU."""

from __future__ import annotations

import contextlib

from oneflow.base.device import Device, current_index, device_count as count_devices, select
from oneflow.cuda.streams import synchronize_device

_TYPES = ("cuda", "tpu")


def current_accelerator(check_available: bool = False) -> Device | None:
    """Return the kind of accelerator as a device without an index; None if there is none.

    Args:
        check_available: accepted for PyTorch's sake: what is not there is never returned.

    Example:
        >>> import oneflow as flow
        >>> if flow.accelerator.is_available():
        ...     x = flow.ones(3, device=flow.accelerator.current_accelerator())
    """
    for type in _TYPES:
        if count_devices(type):
            return Device(type)
    return None


def is_available() -> bool:
    """Return whether XLA has found a GPU or a TPU.

    Example:
        >>> import oneflow as flow
        >>> flow.accelerator.is_available() == (flow.accelerator.device_count() > 0)
        True
    """
    return current_accelerator() is not None


def device_count() -> int:
    """Return the number of accelerators of the current kind; 0 without one.

    Example:
        >>> import oneflow as flow
        >>> flow.accelerator.device_count() >= 0
        True
    """
    device = current_accelerator()
    return 0 if device is None else count_devices(device.type)


def current_device_index() -> int:
    """Return the index of the current accelerator.

    Raises:
        RuntimeError: there is none.

    Example:
        >>> import oneflow as flow
        >>> if flow.accelerator.is_available():
        ...     assert flow.accelerator.current_device_index() >= 0
    """
    return current_index(_required().type)


def set_device_index(device: Device | str | int) -> None:
    """Make an accelerator the current one.

    Raises:
        RuntimeError: there is no such accelerator.

    Example:
        >>> import oneflow as flow
        >>> if flow.accelerator.is_available():
        ...     flow.accelerator.set_device_index(0)
    """
    select(named_accelerator(device))


def synchronize(device: Device | str | int | None = None) -> None:
    """Run the recorded instructions, and wait until an accelerator has finished them.

    Raises:
        RuntimeError: there is no such accelerator.

    Example:
        >>> import oneflow as flow
        >>> if flow.accelerator.is_available():
        ...     flow.accelerator.synchronize()
    """
    synchronize_device(named_accelerator(device))


class device_index(contextlib.ContextDecorator):
    """A context manager or decorator in which an accelerator is the current one.

    Args:
        device: its index; with None nothing changes.

    Example:
        >>> import oneflow as flow
        >>> with flow.accelerator.device_index(None):
        ...     x = flow.ones(2)
    """

    def __init__(self, device: int | None) -> None:
        self._index = device

    def __enter__(self) -> None:
        if self._index is not None:
            self._before = current_device_index()
            set_device_index(self._index)

    def __exit__(self, *exception: object) -> None:
        if self._index is not None:
            set_device_index(self._before)


def named_accelerator(device: Device | str | int | None) -> Device:
    """Return the accelerator that a device, its index, or None means."""
    if device is None or isinstance(device, int):
        return Device(_required().type, device)
    return Device(device)


def _required() -> Device:
    device = current_accelerator()
    if device is None:
        raise RuntimeError("there is no accelerator: XLA found neither CUDA devices nor TPUs")
    return device
