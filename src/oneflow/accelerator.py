"""The accelerator of this process, whatever its kind: a GPU or a TPU."""

from oneflow.cuda.accelerator import (
    current_accelerator as current_accelerator,
    current_device_index as current_device_index,
    device_count as device_count,
    is_available as is_available,
    set_device_index as set_device_index,
    synchronize as synchronize,
)
