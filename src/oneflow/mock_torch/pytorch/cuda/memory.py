"""Names that ``torch.cuda.memory`` has beside those of `oneflow.cuda`: XLA owns the memory."""

from __future__ import annotations

import contextlib
import os
import warnings
from collections.abc import Iterator
from typing import Any, NoReturn

from oneflow.base.device import are_devices_in_use
from oneflow.cuda.devices import is_available
from oneflow.cuda.memory import (
    max_memory_reserved,
    memory_reserved,
    memory_stats,
    reset_peak_memory_stats,
)
from oneflow.mock_torch.missing import Missing, raise_missing
from oneflow.mock_torch.pytorch.cuda.device_queries import list_gpu_processes
from oneflow.mock_torch.pytorch.cuda.selection import (
    reset_max_memory_allocated,
    reset_max_memory_cached,
)

_FRACTION = "XLA_PYTHON_CLIENT_MEM_FRACTION"
_ALLOCATOR = "XLA_PYTHON_CLIENT_ALLOCATOR"
_REASON = "XLA allocates the memory of GPUs; `oneflow.empty` makes tensors of any size"


class CUDAPluggableAllocator(Missing):
    """The type of allocators of other libraries."""

    _reason = _REASON


class MemPool(Missing):
    """The type of pools of memory."""

    _reason = _REASON


@contextlib.contextmanager
def use_mem_pool(pool: MemPool, device: Any = None) -> Iterator[None]:
    """Allocate from a pool: there is none, since a `MemPool` cannot be made."""
    raise_missing("torch.cuda.use_mem_pool", _REASON)
    yield


def change_current_allocator(allocator: CUDAPluggableAllocator) -> NoReturn:
    """Refuse another allocator."""
    raise_missing("torch.cuda.change_current_allocator", _REASON)


def caching_allocator_alloc(size: int, device: Any = None, stream: Any = None) -> NoReturn:
    """Refuse to allocate memory that no tensor has."""
    raise_missing("torch.cuda.caching_allocator_alloc", _REASON)


def caching_allocator_delete(mem_ptr: int) -> NoReturn:
    """Refuse to free memory that no tensor has."""
    raise_missing("torch.cuda.caching_allocator_delete", _REASON)


def caching_allocator_enable(value: bool = True) -> None:
    """Keep freed memory for the next program, which XLA does.

    Raises:
        NotImplementedError: `value` is False.
    """
    if not value:
        raise_missing(
            "torch.cuda.caching_allocator_enable(False)",
            f"set {_ALLOCATOR}=platform before the process starts",
        )


@contextlib.contextmanager
def caching_allocator_disabled() -> Iterator[None]:
    """Refuse a block in which freed memory is given back at once."""
    caching_allocator_enable(False)
    yield


def get_allocator_backend() -> str:
    """Return the name of XLA's allocator on GPUs."""
    return os.environ.get(_ALLOCATOR, "bfc")


def get_per_process_memory_fraction(device: Any = None) -> float:
    """Return the share of a GPU's memory that XLA sets aside for this process.

    Args:
        device: accepted for PyTorch's sake: the share is the same on all GPUs.
    """
    return float(os.environ.get(_FRACTION, "0.75"))


def set_per_process_memory_fraction(fraction: float, device: Any = None) -> None:
    """Set the share of all GPUs' memory that XLA sets aside for this process.

    Args:
        fraction: between 0 and 1.
        device: accepted for PyTorch's sake: the share is the same on all GPUs.

    Raises:
        TypeError: the share is no `float`.
        ValueError: it is not between 0 and 1.
        RuntimeError: devices are in use, so that the memory is set aside already.
    """
    if not isinstance(fraction, float):
        raise TypeError("Invalid type for fraction argument, must be `float`")
    if not 0 <= fraction <= 1:
        raise ValueError(f"Invalid fraction value: {fraction}. Allowed range: 0~1")
    if are_devices_in_use():
        raise RuntimeError(
            "set_per_process_memory_fraction: XLA set the memory aside when devices were first "
            "used; call this before"
        )
    os.environ[_FRACTION] = str(fraction)


def memory_stats_as_nested_dict(device: Any = None) -> dict[str, Any]:
    """Return what `oneflow.cuda.memory_stats` does: XLA's names have no parts."""
    return memory_stats(device)


def memory_snapshot(mempool_id: Any = None, include_traces: bool = True) -> list[Any]:
    """Return the segments of the allocator: of XLA's none is known.

    Raises:
        NotImplementedError: there is a GPU.
    """
    if is_available():
        raise_missing(
            "torch.cuda.memory_snapshot", "`jax.profiler.device_memory_profile()` lists the arrays"
        )
    return []


def memory_cached(device: Any = None) -> int:
    """Return what `memory_reserved` does, which is its name today."""
    _warn_of_name("memory_cached", "memory_reserved")
    return memory_reserved(device)


def max_memory_cached(device: Any = None) -> int:
    """Return what `max_memory_reserved` does, which is its name today."""
    _warn_of_name("max_memory_cached", "max_memory_reserved")
    return max_memory_reserved(device)


def _warn_of_name(before: str, now: str) -> None:
    text = f"`torch.cuda.{before}` has been renamed to `torch.cuda.{now}`"
    warnings.warn(text, FutureWarning, stacklevel=3)


def reset_accumulated_memory_stats(device: Any = None) -> None:
    """Do what `reset_peak_memory_stats` does: XLA counts from the start of the process."""
    reset_peak_memory_stats(device)


def host_memory_stats() -> dict[str, Any]:
    """Return an empty dictionary: no memory of the host is pinned and cached."""
    return {}


host_memory_stats_as_nested_dict = host_memory_stats


def reset_accumulated_host_memory_stats() -> None:
    """Reset nothing: no memory of the host is counted."""


reset_peak_host_memory_stats = reset_accumulated_host_memory_stats

__all__ = [
    "CUDAPluggableAllocator",
    "MemPool",
    "caching_allocator_alloc",
    "caching_allocator_delete",
    "caching_allocator_disabled",
    "caching_allocator_enable",
    "change_current_allocator",
    "get_allocator_backend",
    "get_per_process_memory_fraction",
    "host_memory_stats",
    "host_memory_stats_as_nested_dict",
    "list_gpu_processes",
    "max_memory_cached",
    "memory_cached",
    "memory_snapshot",
    "memory_stats_as_nested_dict",
    "reset_accumulated_host_memory_stats",
    "reset_accumulated_memory_stats",
    "reset_max_memory_allocated",
    "reset_max_memory_cached",
    "reset_peak_host_memory_stats",
    "set_per_process_memory_fraction",
    "use_mem_pool",
]
