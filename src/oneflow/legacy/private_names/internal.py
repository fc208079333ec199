"""The names of upstream's extension module that `oneflow._oneflow_internal` has."""

from __future__ import annotations

import sys
from types import SimpleNamespace

from oneflow.base.device import Device as device
from oneflow.base.dtype import DType as dtype
from oneflow.base.placement import Placement as placement
from oneflow.base.shape import Size as Size
from oneflow.cuda.devices import is_available
from oneflow.cuda.memory import empty_cache as EmptyCache, mem_get_info
from oneflow.cuda.streams import synchronize_device
from oneflow.distributed.objects import broadcast_bytes
from oneflow.distributed.ranks import (
    get_local_rank as GetLocalRank,
    get_node_size as GetNodeSize,
    get_rank as GetRank,
    get_world_size as GetWorldSize,
    is_multi_client as IsMultiClient,
)
from oneflow.legacy.unique import unique_str as UniqueStr
from oneflow.profiler import range_pop, range_push
from oneflow.runtime import build
from oneflow.tensor.tensor import Tensor as Tensor
from oneflow.tensor.tensor_tuple import TensorTuple as TensorTuple

try:
    import resource
except ImportError:  # on Windows
    resource = None

_MB = 2**20


def cpu_broadcast(py_bytes: bytes | None, src_rank: int) -> bytes:
    """The bytes of process `src_rank`, on every process.

    Args:
        py_bytes: the bytes on that process; elsewhere without meaning.
        src_rank: its rank.

    Example:
        >>> from oneflow._oneflow_internal import cpu_broadcast
        >>> cpu_broadcast(b"text", 0)
        b'text'
    """
    return broadcast_bytes(py_bytes or b"", src_rank)


def used_gpu_memory() -> int:
    """Megabytes of the current GPU that are in use; 0 without one.

    Example:
        >>> from oneflow._oneflow_internal import GetCUDAMemoryUsed
        >>> GetCUDAMemoryUsed() >= 0
        True
    """
    if not is_available():
        return 0
    free, total = mem_get_info()
    return (total - free) // _MB


def used_host_memory() -> int:
    """Most megabytes of memory that this process has had so far; 0 where nothing tells it.

    Example:
        >>> from oneflow._oneflow_internal import GetCPUMemoryUsed
        >>> GetCPUMemoryUsed() >= 0
        True
    """
    if resource is None:
        return 0
    largest = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss  # bytes on macOS, else kilobytes
    return largest // (_MB if sys.platform == "darwin" else 1024)


GetCUDAMemoryUsed, GetCPUMemoryUsed = used_gpu_memory, used_host_memory
eager = SimpleNamespace(Sync=lambda: synchronize_device(None))
flags = build
profiler = SimpleNamespace(RangePush=range_push, RangePop=range_pop)

__all__ = [
    "EmptyCache",
    "GetCPUMemoryUsed",
    "GetCUDAMemoryUsed",
    "GetLocalRank",
    "GetNodeSize",
    "GetRank",
    "GetWorldSize",
    "IsMultiClient",
    "Size",
    "Tensor",
    "TensorTuple",
    "UniqueStr",
    "cpu_broadcast",
    "device",
    "dtype",
    "eager",
    "flags",
    "placement",
    "profiler",
]
