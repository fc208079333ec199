"""Names that ``torch.cuda`` has beside `oneflow.cuda`."""

from oneflow.mock_torch.missing import Missing


class CUDAGraph(Missing):
    """The type of recorded sequences of kernels."""

    _reason = "an `nn.Graph` is compiled as a whole, and its kernels are launched together"


class graph(Missing):  # PyTorch's name
    """The type of contexts in which kernels are recorded."""

    _reason = CUDAGraph._reason


class StreamContext(Missing):
    """The type of contexts with another current stream: `oneflow.cuda.stream` makes one."""

    _reason = "`oneflow.cuda.stream(stream)` is the context"


def is_current_stream_capturing() -> bool:
    """Return False: kernels are not recorded."""
    return False


__all__ = ["CUDAGraph", "StreamContext", "graph", "is_current_stream_capturing"]
