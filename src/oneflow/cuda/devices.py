"""Queries of CUDA devices, and waiting for them."""

from __future__ import annotations

from dataclasses import dataclass

from oneflow.base.device import (
    Device,
    current_index,
    device_count as count_devices,
    platform_devices,
    select,
    xla_device,
)
from oneflow.random.generator import manual_seed as seed_generator
from oneflow.runtime.eager import flush_all
from oneflow.runtime.memory import memory_statistics, wait_for


@dataclass(frozen=True)
class DeviceProperties:
    """A GPU's name, compute capability and memory in bytes.

    Example:
        >>> import oneflow as flow
        >>> if flow.cuda.is_available():
        ...     print(flow.cuda.get_device_properties(0).name)
    """

    name: str
    major: int
    minor: int
    total_memory: int


def gpu(device: Device | str | int | None) -> Device:
    """The GPU that `device` means; None is the current one."""
    if device is None or isinstance(device, int):
        return Device("cuda", device)
    return Device(device)


def is_available() -> bool:
    """Return True if XLA found a CUDA device.

    Example:
        >>> import oneflow as flow
        >>> flow.cuda.is_available() == (flow.cuda.device_count() > 0)
        True
    """
    return bool(platform_devices("cuda"))


def device_count() -> int:
    """Number of CUDA devices that the processes of this machine can use.

    Example:
        >>> import oneflow as flow
        >>> (flow.cuda.device_count() > 0) == flow.cuda.is_available()
        True
    """
    return count_devices("cuda")


def current_device() -> int:
    """Index of the device that ``"cuda"`` means.

    Example:
        >>> import oneflow as flow
        >>> if flow.cuda.is_available():
        ...     assert flow.cuda.current_device() < flow.cuda.device_count()
    """
    return current_index("cuda")


def set_device(device: Device | str | int) -> None:
    """Make `device` the one that ``"cuda"`` means.

    Raises:
        RuntimeError: there is no such device.

    Example:
        >>> import oneflow as flow
        >>> if flow.cuda.is_available():
        ...     flow.cuda.set_device(0)
    """
    select(gpu(device))


def synchronize(device: Device | str | int | None = None) -> None:
    """Run what was recorded and wait until `device` has finished it.

    Raises:
        RuntimeError: there is no such device.

    Example:
        >>> import oneflow as flow
        >>> if flow.cuda.is_available():
        ...     flow.cuda.synchronize()
    """
    device = gpu(device)
    xla_device(device)
    flush_all("sync")
    wait_for(device)


def get_device_properties(device: Device | str | int | None = None) -> DeviceProperties:
    """Name, compute capability and memory of a GPU.

    Raises:
        RuntimeError: there is no such device.

    Example:
        >>> import oneflow as flow
        >>> if flow.cuda.is_available():
        ...     gigabytes = flow.cuda.get_device_properties(0).total_memory / 1e9
    """
    device = gpu(device)
    found = xla_device(device)
    major, _, minor = str(getattr(found, "compute_capability", "0.0")).partition(".")
    total = memory_statistics(device).get("bytes_limit", 0)
    return DeviceProperties(found.device_kind, int(major), int(minor or 0), total)


def get_device_name(device: Device | str | int | None = None) -> str:
    """Name of a GPU; raises RuntimeError if there is no such device.

    Example:
        >>> import oneflow as flow
        >>> if flow.cuda.is_available():
        ...     name = flow.cuda.get_device_name(0)
    """
    return get_device_properties(device).name


def get_device_capability(device: Device | str | int | None = None) -> tuple[int, int]:
    """Compute capability ``(major, minor)`` of a GPU.

    Raises RuntimeError if there is no such device.

    Example:
        >>> import oneflow as flow
        >>> if flow.cuda.is_available():
        ...     major, minor = flow.cuda.get_device_capability(0)
    """
    properties = get_device_properties(device)
    return properties.major, properties.minor


def manual_seed(seed: int) -> None:
    """Start the default generator again from `seed`; all devices share it.

    Example:
        >>> import oneflow as flow
        >>> flow.cuda.manual_seed(7)
        >>> flow.initial_seed()
        7
    """
    seed_generator(seed)
