"""Names that ``torch.utils`` has beside `oneflow.utils`."""

from oneflow.mock_torch.pytorch.utils.benchmark.throughput import (
    ThroughputBenchmark as ThroughputBenchmark,
)
from oneflow.mock_torch.pytorch.utils.naming import (
    generate_methods_for_privateuse1_backend as generate_methods_for_privateuse1_backend,
    get_cpp_backtrace as get_cpp_backtrace,
    rename_privateuse1_backend as rename_privateuse1_backend,
    set_module as set_module,
)
from oneflow.mock_torch.pytorch.utils.swapping import swap_tensors as swap_tensors
