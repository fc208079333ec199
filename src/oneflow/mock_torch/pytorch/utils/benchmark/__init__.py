"""``torch.utils.benchmark``: how long statements take."""

from oneflow.mock_torch.pytorch.utils.benchmark.measurement import (
    Measurement as Measurement,
    TaskSpec as TaskSpec,
    select_unit as select_unit,
)
from oneflow.mock_torch.pytorch.utils.benchmark.timer import (
    Language as Language,
    Timer as Timer,
    timer as timer,
)

__all__ = ["Language", "Measurement", "TaskSpec", "Timer", "select_unit", "timer"]
