"""CUDA devices: what is there, and asking them to wait."""

from oneflow.functional.gpu import (
    DeviceProperties as DeviceProperties,
    current_device as current_device,
    device_count as device_count,
    empty_cache as empty_cache,
    get_device_capability as get_device_capability,
    get_device_name as get_device_name,
    get_device_properties as get_device_properties,
    is_available as is_available,
    manual_seed as manual_seed,
    manual_seed as manual_seed_all,
    max_memory_allocated as max_memory_allocated,
    mem_get_info as mem_get_info,
    memory_allocated as memory_allocated,
    set_device as set_device,
    synchronize as synchronize,
)

__all__ = [
    "DeviceProperties",
    "current_device",
    "device_count",
    "empty_cache",
    "get_device_capability",
    "get_device_name",
    "get_device_properties",
    "is_available",
    "manual_seed",
    "manual_seed_all",
    "max_memory_allocated",
    "mem_get_info",
    "memory_allocated",
    "set_device",
    "synchronize",
]
