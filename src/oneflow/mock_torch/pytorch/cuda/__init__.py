"""Names that ``torch.cuda`` has beside `oneflow.cuda`."""

from oneflow.mock_torch.pytorch.cuda.graphs import (
    CUDAGraph as CUDAGraph,
    StreamContext as StreamContext,
    graph as graph,
    is_current_stream_capturing as is_current_stream_capturing,
)

__all__ = [
    "CUDAGraph",
    "StreamContext",
    "graph",
    "is_current_stream_capturing",
]
