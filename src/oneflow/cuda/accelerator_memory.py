"""The memory of the accelerator of this process, a GPU or a TPU, as XLA accounts for it."""

from __future__ import annotations

from oneflow.base.device import Device
from oneflow.cuda.accelerator import named_accelerator
from oneflow.cuda.memory import (
    empty_cache as empty_cache,
    free_and_total,
    max_reserved,
    reserved,
)
from oneflow.runtime.memory import memory_statistics


def memory_stats(device_index: Device | str | int | None = None) -> dict[str, int]:
    """XLA's account of an accelerator's memory by its own names, in bytes.

    Raises:
        RuntimeError: there is no such accelerator.

    Example:
        >>> import oneflow as flow
        >>> if flow.accelerator.is_available():
        ...     statistics = flow.accelerator.memory_stats()
    """
    return dict(memory_statistics(named_accelerator(device_index)))


def memory_allocated(device_index: Device | str | int | None = None) -> int:
    """Bytes in use on an accelerator.

    Raises:
        RuntimeError: there is no such accelerator.

    Example:
        >>> import oneflow as flow
        >>> if flow.accelerator.is_available():
        ...     assert flow.accelerator.memory_allocated() >= 0
    """
    return memory_stats(device_index).get("bytes_in_use", 0)


def max_memory_allocated(device_index: Device | str | int | None = None) -> int:
    """Most bytes in use on an accelerator so far.

    Raises:
        RuntimeError: there is no such accelerator.

    Example:
        >>> import oneflow as flow
        >>> if flow.accelerator.is_available():
        ...     assert flow.accelerator.max_memory_allocated() >= 0
    """
    return memory_stats(device_index).get("peak_bytes_in_use", 0)


def memory_reserved(device_index: Device | str | int | None = None) -> int:
    """Bytes of an accelerator that XLA has set aside, in use or not.

    Raises:
        RuntimeError: there is no such accelerator.

    Example:
        >>> import oneflow as flow
        >>> if flow.accelerator.is_available():
        ...     assert flow.accelerator.memory_reserved() >= 0
    """
    return reserved(memory_stats(device_index))


def max_memory_reserved(device_index: Device | str | int | None = None) -> int:
    """Most bytes of an accelerator that XLA has set aside so far.

    Raises:
        RuntimeError: there is no such accelerator.

    Example:
        >>> import oneflow as flow
        >>> if flow.accelerator.is_available():
        ...     assert flow.accelerator.max_memory_reserved() >= 0
    """
    return max_reserved(memory_stats(device_index))


def get_memory_info(device_index: Device | str | int | None = None) -> tuple[int, int]:
    """Free and total bytes of an accelerator's memory.

    Raises:
        RuntimeError: there is no such accelerator.

    Example:
        >>> import oneflow as flow
        >>> if flow.accelerator.is_available():
        ...     free, total = flow.accelerator.get_memory_info()
    """
    return free_and_total(memory_stats(device_index))


def reset_peak_memory_stats(device_index: Device | str | int | None = None) -> None:
    """Accepted for PyTorch's sake: XLA counts its peaks from the start of the process.

    Raises:
        RuntimeError: there is no such accelerator.

    Example:
        >>> import oneflow as flow
        >>> if flow.accelerator.is_available():
        ...     flow.accelerator.reset_peak_memory_stats()
    """
    named_accelerator(device_index)
