"""Readings of NVIDIA's management library: temperature, power, clocks and load of GPUs."""

from __future__ import annotations

import importlib
import os
from typing import Any

from oneflow.cuda.devices import gpu

_MB = 1 << 20


def _library() -> Any:
    """The library in Python, ready for questions.

    Raises:
        ModuleNotFoundError: it is not installed.
    """
    try:
        library = importlib.import_module("pynvml")
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            "nvidia-ml-py does not seem to be installed or it can't be imported: readings of GPUs "
            "are NVIDIA's, `pip install nvidia-ml-py`"
        ) from error
    library.nvmlInit()
    return library


def _reading(device: Any) -> tuple[Any, Any]:
    """The library, and what it calls a GPU.

    CUDA counts the GPUs that are visible to this process, the library those of the machine.
    """
    library, index = _library(), gpu(device).index or 0
    visible = [name.strip() for name in os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",")]
    name = visible[index] if index < len(visible) and visible != [""] else str(index)
    if name.isdigit():
        return library, library.nvmlDeviceGetHandleByIndex(int(name))
    return library, library.nvmlDeviceGetHandleByUUID(name)


def device_memory_used(device: Any = None) -> int:
    """Return how many bytes of a GPU's memory all processes use.

    Args:
        device: the GPU, by default the current one.

    Raises:
        ModuleNotFoundError: ``nvidia-ml-py`` is not installed, as in each function of this module.
    """
    library, handle = _reading(device)
    return library.nvmlDeviceGetMemoryInfo(handle).used


def memory_usage(device: Any = None) -> int:
    """Return the share of the last second, in percent, in which a GPU's memory was in use."""
    library, handle = _reading(device)
    return library.nvmlDeviceGetUtilizationRates(handle).memory


def utilization(device: Any = None) -> int:
    """Return the share of the last second, in percent, in which a kernel ran on a GPU."""
    library, handle = _reading(device)
    return library.nvmlDeviceGetUtilizationRates(handle).gpu


def temperature(device: Any = None) -> int:
    """Return a GPU's temperature in degrees Celsius."""
    library, handle = _reading(device)
    return library.nvmlDeviceGetTemperature(handle, library.NVML_TEMPERATURE_GPU)


def power_draw(device: Any = None) -> int:
    """Return the power that a GPU takes, in milliwatts."""
    library, handle = _reading(device)
    return library.nvmlDeviceGetPowerUsage(handle)


def clock_rate(device: Any = None) -> int:
    """Return the rate of a GPU's multiprocessors in megahertz."""
    library, handle = _reading(device)
    return library.nvmlDeviceGetClockInfo(handle, library.NVML_CLOCK_SM)


def list_gpu_processes(device: Any = None) -> str:
    """Return a text that lists the processes on a GPU and their memory.

    Args:
        device: the GPU, by default the current one.
    """
    try:
        library, handle = _reading(device)
    except ModuleNotFoundError:
        return "pynvml module not found, please install nvidia-ml-py"
    lines = [f"GPU:{gpu(device).index or 0}"]
    processes = library.nvmlDeviceGetComputeRunningProcesses(handle)
    for process in processes:
        used = (process.usedGpuMemory or 0) / _MB
        lines.append(f"process {process.pid:>10d} uses {used:>12.3f} MB GPU memory")
    return "\n".join(lines if processes else [*lines, "no processes are running"])


__all__ = [
    "clock_rate",
    "device_memory_used",
    "list_gpu_processes",
    "memory_usage",
    "power_draw",
    "temperature",
    "utilization",
]
