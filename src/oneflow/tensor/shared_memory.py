"""Memory that processes share: a file without a name, which each of them maps."""

from __future__ import annotations

import mmap
import os
import tempfile
from multiprocessing import reduction
from typing import Any
from weakref import finalize

import numpy as np

from oneflow.base.device import CPU
from oneflow.base.spec import TensorSpec, spec_of
from oneflow.tensor.copied_memory import reduce_storage
from oneflow.tensor.host_memory import HostMemory
from oneflow.tensor.storage import MEMORY_LOCK, Storage
from oneflow.tensor.transfer import wrap_in_memory


class SharedMemory(HostMemory):
    """Memory of the host that other processes can map.

    Args:
        file: number of the file, which is closed with the memory.
        spec: the spec of the root.
    """

    __slots__ = ("__weakref__", "file")

    def __init__(self, file: int, spec: TensorSpec) -> None:
        self.file = file
        finalize(self, os.close, file)
        mapped = mmap.mmap(file, max(spec.nbytes, 1))
        array = np.frombuffer(mapped, spec.dtype.numpy, spec.numel).reshape(spec.shape)
        super().__init__(array, is_kept=True)


def share_with_processes(storage: Storage) -> None:
    """Move a storage into memory that processes share, unless it is there.

    Raises:
        RuntimeError: it is not memory of the CPU.
    """
    with MEMORY_LOCK:
        value = storage.root()
        spec = value.spec
        if spec.device is not CPU or spec.sbp is not None or value.is_symbolic:
            raise RuntimeError(
                f"share_memory_: only values on the CPU are shared with processes, got {spec!r}"
            )
        if isinstance(storage.host, SharedMemory):
            return
        host = SharedMemory(_new_file(max(spec.nbytes, 1)), spec)
        host.copy_in(value)
        storage.host = host


def _new_file(size: int) -> int:
    if hasattr(os, "memfd_create"):
        file = os.memfd_create("oneflow")
    else:
        with tempfile.TemporaryFile() as temporary:
            file = os.dup(temporary.fileno())
    os.truncate(file, size)
    return file


def _reduce_for_process(storage: Storage) -> tuple[Any, ...]:
    """Reduce a storage that is sent to another process, which maps it if it is shared."""
    host = storage.host
    if not isinstance(host, SharedMemory):
        return reduce_storage(storage)
    storage.synchronize()
    spec = storage.value.spec
    return _map_shared, (reduction.DupFd(host.file), spec.shape, spec.dtype)


def _map_shared(file: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    return wrap_in_memory(SharedMemory(file.detach(), spec_of(tuple(shape), dtype, CPU)))


reduction.ForkingPickler.register(Storage, _reduce_for_process)
