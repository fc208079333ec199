"""``torch.xpu``, ``torch.mtia`` and ``torch.mps``: devices that JAX does not know here.

There is none: counts, memory and lists are empty, seeds are for nobody, and what would need one
says so.
"""

from __future__ import annotations

import platform
from typing import Any, NoReturn


def is_available(*args: Any, **kwargs: Any) -> bool:
    """Return False."""
    return False


is_initialized = is_bf16_supported = is_tf32_supported = is_available
is_built = is_available


def is_macos_or_newer(major: int, minor: int) -> bool:
    """Return whether the system is a macOS of this version or a later one."""
    version = platform.mac_ver()[0]
    return bool(version) and tuple(map(int, version.split(".")))[:2] >= (major, minor)


def is_macos13_or_newer(minor: int = 0) -> bool:
    """Return whether the system is a macOS of version 13 or a later one."""
    return is_macos_or_newer(13, minor)


def device_count() -> int:
    """Return 0."""
    return 0


def memory_allocated(device: Any = None) -> int:
    """Return 0 bytes."""
    return 0


max_memory_allocated = memory_reserved = max_memory_reserved = memory_allocated


def get_arch_list() -> list[Any]:
    """Return an empty list."""
    return []


get_rng_state_all = memory_snapshot = get_arch_list


def memory_stats(device: Any = None) -> dict[str, Any]:
    """Return an empty dictionary."""
    return {}


memory_stats_as_nested_dict = memory_stats


def get_gencode_flags() -> str:
    """Return an empty text."""
    return ""


def manual_seed(seed: int) -> None:
    """Seed the generators of no device."""


def seed() -> None:
    """Seed the generators of no device."""


def empty_cache() -> None:
    """Free the memory of no device."""


def record_memory_history(*args: Any, **kwargs: Any) -> None:
    """Record what no device allocates."""


manual_seed_all, seed_all = manual_seed, seed
default_generators = ()


def _no_device(name: str) -> NoReturn:
    raise RuntimeError(
        f"`{name}`: there is no such device here; `torch.cuda` and `torch.accelerator` are the "
        "GPUs and TPUs that JAX knows"
    )


class _MissingDevice:
    """The base of classes whose objects belong to a device."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        _no_device(type(self).__name__)


class Event(_MissingDevice):
    """An event of a device that is not here."""


class Stream(_MissingDevice):
    """A stream of a device that is not here."""


class StreamContext(_MissingDevice):
    """A block on a stream of a device that is not here."""


class Graph(_MissingDevice):
    """A recorded sequence of work for a device that is not here."""


class graph(_MissingDevice):
    """A block that is recorded as a `Graph`."""


class MemPool(_MissingDevice):
    """Memory of a device that is not here, apart from the rest."""


class PluggableAllocator(_MissingDevice):
    """A library that allocates memory of a device that is not here."""


class device(_MissingDevice):
    """A block on a device that is not here."""


class device_of(_MissingDevice):
    """A block on the device of a tensor, which none is on."""


def _unsupported(name: str) -> Any:
    def refuse(*args: Any, **kwargs: Any) -> NoReturn:
        _no_device(name)

    refuse.__name__ = refuse.__qualname__ = name
    refuse.__doc__ = "Raise the error that says that there is no such device."
    return refuse


#: Functions that need a device.
_NEEDS_DEVICE = (
    "attach_out_of_memory_observer can_device_access_peer change_current_allocator clock_rate "
    "compile_shader current_allocated_memory current_device current_stream default_stream "
    "device_memory_used driver_allocated_memory get_core_count get_device_capability "
    "get_device_name get_device_properties get_name get_per_process_memory_fraction "
    "get_rng_state get_stream_from_external graph_pool_handle init initial_seed "
    "is_current_stream_capturing "
    "is_capturing_metal is_metal_capture_enabled load_metallib make_graphed_callables "
    "mem_get_info memory_usage metal_capture power_draw profile recommended_max_memory "
    "reset_accumulated_memory_stats reset_peak_memory_stats set_device "
    "set_per_process_memory_fraction set_rng_state set_rng_state_all set_stream snapshot start "
    "stop stream synchronize temperature use_mem_pool utilization"
)
globals().update({name: _unsupported(name) for name in _NEEDS_DEVICE.split()})
