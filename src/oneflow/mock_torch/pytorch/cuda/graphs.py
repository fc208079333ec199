"""Names that ``torch.cuda`` has beside `oneflow.cuda`."""

from __future__ import annotations

from typing import Any, NoReturn

from oneflow.mock_torch.missing import Missing, raise_missing


class CUDAGraph(Missing):
    """The type of recorded sequences of kernels."""

    _reason = "an `nn.Graph` is compiled as a whole, and its kernels are launched together"


class graph(Missing):  # PyTorch's name
    """The type of contexts in which kernels are recorded."""

    _reason = CUDAGraph._reason


class StreamContext(Missing):
    """The type of contexts with another current stream: `oneflow.cuda.stream` makes one."""

    _reason = "`oneflow.cuda.stream(stream)` is the context"


def graph_pool_handle() -> NoReturn:
    """Refuse memory that recorded sequences of kernels share."""
    raise_missing("torch.cuda.graph_pool_handle", CUDAGraph._reason)


def make_graphed_callables(
    callables: Any,
    sample_args: Any,
    num_warmup_iters: int = 3,
    allow_unused_input: bool = False,
    pool: Any = None,
) -> Any:
    """Return functions and modules as they are: what runs often is compiled as a whole anyway.

    Args:
        callables: a function or module, or a tuple of them.
        sample_args: arguments of each; they are not needed.
        num_warmup_iters: without effect.
        allow_unused_input: without effect.
        pool: without effect.
    """
    return callables


def is_current_stream_capturing() -> bool:
    """Return False: kernels are not recorded."""
    return False


__all__ = [
    "CUDAGraph",
    "StreamContext",
    "graph",
    "graph_pool_handle",
    "is_current_stream_capturing",
    "make_graphed_callables",
]
