"""Settings of job functions' session."""

# Generated from `base/old_modules.py` by `tools/make_stubs.py` (make stubs).
from oneflow.legacy.config import (
    __getattr__ as __getattr__,
    cpu_device_num as cpu_device_num,
    ctrl_port as ctrl_port,
    gpu_device_num as gpu_device_num,
    legacy_model_io_enabled as legacy_model_io_enabled,
    load_library as load_library,
    load_library as load_library_now,
    machine_num as machine_num,
)

# fmt: off
__all__ = [
    "cpu_device_num", "ctrl_port", "gpu_device_num", "legacy_model_io_enabled", "load_library",
    "load_library_now", "machine_num",
]
# fmt: on
