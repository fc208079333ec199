"""The accelerator of this process, whatever its kind: a GPU or a TPU."""

from oneflow.cuda.accelerator import (
    current_accelerator as current_accelerator,
    current_device_index as current_device_index,
    device_count as device_count,
    device_index as device_index,
    is_available as is_available,
    set_device_index as set_device_index,
    synchronize as synchronize,
)
from oneflow.cuda.accelerator_memory import (
    empty_cache as empty_cache,
    get_memory_info as get_memory_info,
    max_memory_allocated as max_memory_allocated,
    max_memory_reserved as max_memory_reserved,
    memory_allocated as memory_allocated,
    memory_reserved as memory_reserved,
    memory_stats as memory_stats,
    reset_peak_memory_stats as reset_peak_memory_stats,
)

# PyTorch's first names of these.
current_device_idx = current_device_index
set_device_idx = set_device_index
