"""Names that ``torch.profiler`` has beside `oneflow.profiler`."""

from __future__ import annotations

import enum

from oneflow.cuda.devices import is_available
from oneflow.mock_torch.missing import Missing
from oneflow.profiler.profile import ProfilerActivity


class DeviceType(enum.Enum):
    """Kinds of devices, by PyTorch's numbers."""

    CPU = 0
    CUDA = 1
    MKLDNN = 2
    OPENGL = 3
    OPENCL = 4
    IDEEP = 5
    HIP = 6
    FPGA = 7
    MAIA = 8
    XLA = 9
    Vulkan = 10
    Metal = 11
    XPU = 12
    MPS = 13
    Meta = 14
    HPU = 15
    VE = 16
    Lazy = 17
    IPU = 18
    MTIA = 19
    PrivateUse1 = 20


class ExecutionTraceObserver(Missing):
    """The type of what writes PyTorch's traces of operators with their arguments."""

    _reason = (
        "execution traces hold PyTorch's dispatched operators; `torch.profiler.profile` and its "
        "`export_chrome_trace` record what runs here"
    )


def supported_activities() -> set[ProfilerActivity]:
    """Return the kinds of what a profile records: of GPUs only where there are some."""
    kinds = {ProfilerActivity.CPU}
    return kinds | {ProfilerActivity.CUDA} if is_available() else kinds


__all__ = ["DeviceType", "ExecutionTraceObserver", "supported_activities"]
