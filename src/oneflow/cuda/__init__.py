"""CUDA devices: queries, selection and synchronization."""

from typing import TYPE_CHECKING

from oneflow.base.errors import OutOfMemoryError as OutOfMemoryError
from oneflow.base.lazy_import import lazy_getattr as _lazy_getattr
from oneflow.cuda import amp as amp
from oneflow.cuda.devices import (
    DeviceProperties as DeviceProperties,
    current_device as current_device,
    device_count as device_count,
    get_device_capability as get_device_capability,
    get_device_name as get_device_name,
    get_device_properties as get_device_properties,
    get_rng_state as get_rng_state,
    get_rng_state_all as get_rng_state_all,
    init as init,
    is_available as is_available,
    is_bf16_supported as is_bf16_supported,
    is_initialized as is_initialized,
    manual_seed as manual_seed,
    manual_seed as manual_seed_all,
    set_device as set_device,
    set_rng_state as set_rng_state,
    set_rng_state_all as set_rng_state_all,
    synchronize as synchronize,
)
from oneflow.cuda.memory import (
    empty_cache as empty_cache,
    max_memory_allocated as max_memory_allocated,
    max_memory_reserved as max_memory_reserved,
    mem_get_info as mem_get_info,
    memory_allocated as memory_allocated,
    memory_reserved as memory_reserved,
    memory_stats as memory_stats,
    memory_summary as memory_summary,
    reset_peak_memory_stats as reset_peak_memory_stats,
)
from oneflow.cuda.streams import (
    Event as Event,
    Stream as Stream,
    current_stream as current_stream,
    default_stream as default_stream,
    stream as stream,
)
from oneflow.functional.creation.constructors import (
    CudaBFloat16Tensor as BFloat16Tensor,
    CudaBoolTensor as BoolTensor,
    CudaByteTensor as ByteTensor,
    CudaCharTensor as CharTensor,
    CudaDoubleTensor as DoubleTensor,
    CudaFloatTensor as FloatTensor,
    CudaHalfTensor as HalfTensor,
    CudaIntTensor as IntTensor,
    CudaLongTensor as LongTensor,
    CudaShortTensor as ShortTensor,
)
from oneflow.random.generator import initial_seed as initial_seed, seed as seed, seed as seed_all

if not TYPE_CHECKING:  # for a type checker it would give every name a meaning
    __getattr__ = _lazy_getattr(__name__)

__all__ = [
    "BFloat16Tensor",
    "BoolTensor",
    "ByteTensor",
    "CharTensor",
    "DeviceProperties",
    "DoubleTensor",
    "Event",
    "FloatTensor",
    "HalfTensor",
    "IntTensor",
    "LongTensor",
    "ShortTensor",
    "Stream",
    "current_device",
    "current_stream",
    "default_stream",
    "device_count",
    "empty_cache",
    "get_device_capability",
    "get_device_name",
    "get_device_properties",
    "get_rng_state",
    "get_rng_state_all",
    "init",
    "initial_seed",
    "is_available",
    "is_bf16_supported",
    "is_initialized",
    "manual_seed",
    "manual_seed_all",
    "max_memory_allocated",
    "max_memory_reserved",
    "mem_get_info",
    "memory_allocated",
    "memory_reserved",
    "memory_stats",
    "memory_summary",
    "reset_peak_memory_stats",
    "seed",
    "seed_all",
    "set_device",
    "set_rng_state",
    "set_rng_state_all",
    "stream",
    "synchronize",
]
