"""Queries of CUDA devices, their memory, and waiting for them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

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


def _gpu(device: Device | str | int | None) -> Device:
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
    select(_gpu(device))


def synchronize(device: Device | str | int | None = None) -> None:
    """Run what was recorded and wait until `device` has finished it.

    Raises:
        RuntimeError: there is no such device.

    Example:
        >>> import oneflow as flow
        >>> if flow.cuda.is_available():
        ...     flow.cuda.synchronize()
    """
    device = _gpu(device)
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
    device = _gpu(device)
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


def memory_allocated(device: Device | str | int | None = None) -> int:
    """Bytes in use on a GPU; 0 without one.

    Example:
        >>> import oneflow as flow
        >>> flow.cuda.memory_allocated() >= 0
        True
    """
    return memory_statistics(_gpu(device)).get("bytes_in_use", 0) if is_available() else 0


def max_memory_allocated(device: Device | str | int | None = None) -> int:
    """Most bytes in use on a GPU so far; 0 without one.

    Example:
        >>> import oneflow as flow
        >>> flow.cuda.max_memory_allocated() >= flow.cuda.memory_allocated()
        True
    """
    return memory_statistics(_gpu(device)).get("peak_bytes_in_use", 0) if is_available() else 0


def mem_get_info(device: Any = None) -> tuple[int, int]:
    """Free and total bytes of a GPU's memory.

    Raises:
        RuntimeError: there is no such device.

    Example:
        >>> import oneflow as flow
        >>> if flow.cuda.is_available():
        ...     free, total = flow.cuda.mem_get_info()
    """
    statistics = memory_statistics(_gpu(device))
    total = statistics.get("bytes_limit", 0)
    return total - statistics.get("bytes_in_use", 0), total


def empty_cache() -> None:
    """Run what was recorded, so that the memory of tensors that are gone is free.

    XLA keeps freed memory for the next program; there is nothing else to give back.

    Example:
        >>> import oneflow as flow
        >>> flow.cuda.empty_cache()
    """
    flush_all("sync")


def manual_seed(seed: int) -> None:
    """Start the default generator again from `seed`; all devices share it.

    Example:
        >>> import oneflow as flow
        >>> flow.cuda.manual_seed(7)
        >>> flow.initial_seed()
        7
    """
    seed_generator(seed)
