"""Names that ``torch.accelerator`` has beside `oneflow.accelerator`."""

from __future__ import annotations

from typing import Any

import oneflow as flow
from oneflow.base.dtype import DType
from oneflow.cuda.accelerator import named_accelerator
from oneflow.cuda.accelerator_memory import reset_peak_memory_stats
from oneflow.cuda.streams import Stream
from oneflow.mock_torch.pytorch.cuda.graphs import CUDAGraph

Graph = CUDAGraph
_DTYPES = (
    *(flow.bool, flow.uint8, flow.int8, flow.int16, flow.int32, flow.int64),
    *(flow.float16, flow.bfloat16, flow.float32, flow.float64, flow.complex64, flow.complex128),
)


def get_device_capability(device: Any = None) -> dict[str, set[DType]]:
    """Return the dtypes that an accelerator computes with, as ``supported_dtypes``.

    Args:
        device: the accelerator, by default the current one.

    Raises:
        RuntimeError: there is no such accelerator.
    """
    named_accelerator(device)
    return {"supported_dtypes": set(_DTYPES)}


def current_stream(device: Any = None) -> Stream:
    """Return the stream of an accelerator, by default the current one.

    Raises:
        RuntimeError: there is no such accelerator.
    """
    return Stream(named_accelerator(device))


def set_stream(stream: Stream) -> None:
    """Make a stream the current one, which it is: a device has one."""


def empty_host_cache() -> None:
    """Free nothing: no memory of the host is pinned and cached.

    Raises:
        RuntimeError: there is no accelerator.
    """
    named_accelerator(None)


def reset_accumulated_memory_stats(device_index: Any = None) -> None:
    """Do what `reset_peak_memory_stats` does: XLA counts from the start of the process.

    Raises:
        RuntimeError: there is no such accelerator.
    """
    reset_peak_memory_stats(device_index)


__all__ = [
    "Graph",
    "current_stream",
    "empty_host_cache",
    "get_device_capability",
    "reset_accumulated_memory_stats",
    "set_stream",
]
