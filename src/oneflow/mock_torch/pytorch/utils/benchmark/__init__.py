"""``torch.utils.benchmark``: how long statements take."""

from oneflow.mock_torch.pytorch.utils.benchmark.compare import (
    Colorize as Colorize,
    Compare as Compare,
)
from oneflow.mock_torch.pytorch.utils.benchmark.fuzzer import (
    FuzzedParameter as FuzzedParameter,
    FuzzedTensor as FuzzedTensor,
    Fuzzer as Fuzzer,
    ParameterAlias as ParameterAlias,
)
from oneflow.mock_torch.pytorch.utils.benchmark.measurement import (
    Measurement as Measurement,
    TaskSpec as TaskSpec,
    ordered_unique as ordered_unique,
    select_unit as select_unit,
    trim_sigfig as trim_sigfig,
    unit_to_english as unit_to_english,
)
from oneflow.mock_torch.pytorch.utils.benchmark.timer import (
    Language as Language,
    Timer as Timer,
    timer as timer,
)

__all__ = [
    "Colorize",
    "Compare",
    "FuzzedParameter",
    "FuzzedTensor",
    "Fuzzer",
    "Language",
    "Measurement",
    "ParameterAlias",
    "TaskSpec",
    "Timer",
    "ordered_unique",
    "select_unit",
    "timer",
    "trim_sigfig",
    "unit_to_english",
]
