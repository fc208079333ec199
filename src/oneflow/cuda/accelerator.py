"""The accelerator of this process, whatever its kind: a GPU or a TPU."""

from __future__ import annotations

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
    select(_named(device))


def synchronize(device: Device | str | int | None = None) -> None:
    """Run what was recorded, and wait until an accelerator has finished it.

    Raises:
        RuntimeError: there is no such accelerator.

    Example:
        >>> import oneflow as flow
        >>> if flow.accelerator.is_available():
        ...     flow.accelerator.synchronize()
    """
    synchronize_device(_named(device))


def _named(device: Device | str | int | None) -> Device:
    """Return the accelerator that a device, its index, or None means."""
    if device is None or isinstance(device, int):
        return Device(_required().type, device)
    return Device(device)


def _required() -> Device:
    device = current_accelerator()
    if device is None:
        raise RuntimeError("there is no accelerator: XLA found neither CUDA devices nor TPUs")
    return device
