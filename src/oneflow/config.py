"""Settings of job functions' session."""

from oneflow.legacy.config import (
    __getattr__ as __getattr__,
    cpu_device_num as cpu_device_num,
    ctrl_port as ctrl_port,
    gpu_device_num as gpu_device_num,
    legacy_model_io_enabled as legacy_model_io_enabled,
    load_library as load_library,
    machine_num as machine_num,
)

load_library_now = load_library
