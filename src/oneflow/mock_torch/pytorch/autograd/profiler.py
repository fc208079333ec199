"""Names that ``torch.autograd.profiler`` has beside `oneflow.profiler`."""

from oneflow.mock_torch.missing import Missing
from oneflow.mock_torch.pytorch.autograd.profiler_records import (
    EnforceUnique,
    KinetoStepTracker,
    MemRecordsAcc,
    load_nvprof,
    parse_nvprof_trace,
)
from oneflow.profiler.averages import TimedEvent as FunctionEvent

_REASON = "operators emit no ranges for other profilers; `oneflow.profiler.profile` records them"


class emit_nvtx(Missing):
    """The type of contexts in which operators emit ranges for NVIDIA's profilers."""

    _reason = _REASON


class emit_itt(Missing):
    """The type of contexts in which operators emit ranges for Intel's profilers."""

    _reason = _REASON


__all__ = [
    "EnforceUnique",
    "FunctionEvent",
    "KinetoStepTracker",
    "MemRecordsAcc",
    "emit_itt",
    "emit_nvtx",
    "load_nvprof",
    "parse_nvprof_trace",
]
