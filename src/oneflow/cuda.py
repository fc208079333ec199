"""CUDA devices: what is there, and asking them to wait."""

from oneflow.functional.gpu import DeviceProperties as DeviceProperties
from oneflow.functional.gpu import current_device as current_device
from oneflow.functional.gpu import device_count as device_count
from oneflow.functional.gpu import empty_cache as empty_cache
from oneflow.functional.gpu import get_device_capability as get_device_capability
from oneflow.functional.gpu import get_device_name as get_device_name
from oneflow.functional.gpu import get_device_properties as get_device_properties
from oneflow.functional.gpu import is_available as is_available
from oneflow.functional.gpu import manual_seed as manual_seed
from oneflow.functional.gpu import max_memory_allocated as max_memory_allocated
from oneflow.functional.gpu import mem_get_info as mem_get_info
from oneflow.functional.gpu import memory_allocated as memory_allocated
from oneflow.functional.gpu import set_device as set_device
from oneflow.functional.gpu import synchronize as synchronize
from oneflow.functional.gpu import manual_seed as manual_seed_all

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
