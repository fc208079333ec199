"""CUDA devices: what is there, and asking them to wait."""

from oneflow.amp import cuda as amp
from oneflow.base.errors import OutOfMemoryError as OutOfMemoryError
from oneflow.cuda.devices import (
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
from oneflow.functional.creation.constructors import (
    CudaBoolTensor as BoolTensor,
    CudaByteTensor as ByteTensor,
    CudaCharTensor as CharTensor,
    CudaDoubleTensor as DoubleTensor,
    CudaFloatTensor as FloatTensor,
    CudaHalfTensor as HalfTensor,
    CudaIntTensor as IntTensor,
    CudaLongTensor as LongTensor,
)

__all__ = [
    "BoolTensor",
    "ByteTensor",
    "CharTensor",
    "DeviceProperties",
    "DoubleTensor",
    "FloatTensor",
    "HalfTensor",
    "IntTensor",
    "LongTensor",
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
