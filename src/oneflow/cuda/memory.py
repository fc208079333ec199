"""The memory of CUDA devices, as XLA accounts for it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from oneflow.base.device import Device
from oneflow.cuda.devices import gpu, is_available
from oneflow.runtime.eager import flush_all
from oneflow.runtime.memory import memory_statistics


def free_and_total(statistics: Mapping[str, int]) -> tuple[int, int]:
    """Free and total bytes, of XLA's account of a device."""
    total = statistics.get("bytes_limit", 0)
    return total - statistics.get("bytes_in_use", 0), total


def reserved(statistics: Mapping[str, int]) -> int:
    """Bytes that XLA has set aside, of its account of a device."""
    return statistics.get("pool_bytes", statistics.get("bytes_in_use", 0))


def max_reserved(statistics: Mapping[str, int]) -> int:
    """Most bytes that XLA has set aside so far, of its account of a device."""
    return statistics.get("peak_pool_bytes", statistics.get("peak_bytes_in_use", 0))


def memory_allocated(device: Device | str | int | None = None) -> int:
    """Bytes in use on a GPU; 0 without one.

    Example:
        >>> import oneflow as flow
        >>> flow.cuda.memory_allocated() >= 0
        True
    """
    return memory_statistics(gpu(device)).get("bytes_in_use", 0) if is_available() else 0


def max_memory_allocated(device: Device | str | int | None = None) -> int:
    """Most bytes in use on a GPU so far; 0 without one.

    Example:
        >>> import oneflow as flow
        >>> flow.cuda.max_memory_allocated() >= flow.cuda.memory_allocated()
        True
    """
    return memory_statistics(gpu(device)).get("peak_bytes_in_use", 0) if is_available() else 0


def mem_get_info(device: Any = None) -> tuple[int, int]:
    """Free and total bytes of a GPU's memory.

    Raises:
        RuntimeError: there is no such device.

    Example:
        >>> import oneflow as flow
        >>> if flow.cuda.is_available():
        ...     free, total = flow.cuda.mem_get_info()
    """
    return free_and_total(memory_statistics(gpu(device)))


def empty_cache() -> None:
    """Run the recorded instructions, so that the memory of deleted tensors is freed.

    XLA keeps freed memory for the next program; there is nothing else to give back.

    Example:
        >>> import oneflow as flow
        >>> flow.cuda.empty_cache()
    """
    flush_all("sync")


def memory_reserved(device: Device | str | int | None = None) -> int:
    """Bytes of a GPU that XLA has set aside, in use or not; 0 without one.

    Example:
        >>> import oneflow as flow
        >>> flow.cuda.memory_reserved() >= 0
        True
    """
    return reserved(memory_stats(device))


def max_memory_reserved(device: Device | str | int | None = None) -> int:
    """Most bytes of a GPU that XLA has set aside so far; 0 without one.

    Example:
        >>> import oneflow as flow
        >>> flow.cuda.max_memory_reserved() >= 0
        True
    """
    return max_reserved(memory_stats(device))


def memory_stats(device: Device | str | int | None = None) -> dict[str, int]:
    """XLA's account of a GPU's memory by its own names, in bytes; empty without one.

    Example:
        >>> import oneflow as flow
        >>> bool(flow.cuda.memory_stats()) <= flow.cuda.is_available()
        True
    """
    return dict(memory_statistics(gpu(device))) if is_available() else {}


def memory_summary(device: Device | str | int | None = None, abbreviated: bool = False) -> str:
    """XLA's account of a GPU's memory as a table.

    Args:
        device: the GPU, by default the current one.
        abbreviated: only what is in use, and the most that was.

    Example:
        >>> import oneflow as flow
        >>> print(flow.cuda.memory_summary().splitlines()[0])
        | statistic | bytes |
    """
    names = ("bytes_in_use", "peak_bytes_in_use") if abbreviated else None
    rows = [
        f"| {name} | {value:,} |"
        for name, value in sorted(memory_stats(device).items())
        if names is None or name in names
    ]
    return "\n".join(["| statistic | bytes |", "| --- | ---: |", *rows])


def reset_peak_memory_stats(device: Device | str | int | None = None) -> None:
    """Accepted for PyTorch's sake: XLA counts its peaks from the start of the process.

    Example:
        >>> import oneflow as flow
        >>> flow.cuda.reset_peak_memory_stats()
    """
