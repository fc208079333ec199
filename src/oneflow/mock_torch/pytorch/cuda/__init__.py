"""Names that ``torch.cuda`` has beside `oneflow.cuda`."""

from oneflow.mock_torch.pytorch.cuda.graphs import (
    CUDAGraph as CUDAGraph,
    StreamContext as StreamContext,
    graph as graph,
    is_current_stream_capturing as is_current_stream_capturing,
)
from oneflow.mock_torch.pytorch.cuda.selection import (
    __getattr__ as __getattr__,
    _lazy_call as _lazy_call,
    device as device,
    device_of as device_of,
    get_arch_list as get_arch_list,
    reset_max_memory_allocated as reset_max_memory_allocated,
    reset_max_memory_cached as reset_max_memory_cached,
)
