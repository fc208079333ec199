"""How batches travel from a worker process to its parent.

A message is pickled; the memory of its large arrays goes beside it, in a memory file that the
kernel frees when nobody has it open any more, so that nothing is left behind whoever dies.
"""

from __future__ import annotations

import mmap
import os
import pickle
import sys
from multiprocessing import reduction
from multiprocessing.connection import Connection
from typing import Any

# Below this, copying through the connection is cheaper than a memory file.
_LARGE = 64 * 1024
_ALIGNMENT = 64
_HAS_MEMORY_FILES = sys.platform == "linux"


def send(connection: Connection, message: Any) -> None:
    """Send an object; blocks only until the connection's buffer has taken a small message."""
    buffers: list[pickle.PickleBuffer] = []
    body = pickle.dumps(message, protocol=5, buffer_callback=buffers.append)
    views = [buffer.raw() for buffer in buffers]
    sizes = [view.nbytes for view in views]
    shared = _HAS_MEMORY_FILES and sum(sizes) >= _LARGE
    connection.send_bytes(pickle.dumps((body, sizes, shared)))
    if not shared:
        for view in views:
            connection.send_bytes(view)
        return
    descriptor = os.memfd_create("oneflow-batch", os.MFD_CLOEXEC)
    try:
        ends = _ends(sizes)
        os.ftruncate(descriptor, ends[-1])
        with mmap.mmap(descriptor, ends[-1]) as memory:
            for view, size, end in zip(views, sizes, ends, strict=True):
                memory[end - _padded(size) : end - _padded(size) + size] = view
        reduction.send_handle(connection, descriptor, None)
    finally:
        os.close(descriptor)


def receive(connection: Connection) -> Any:
    """The next object; large arrays in it lie in the memory file.

    Raises:
        EOFError: the other side is gone.
    """
    body, sizes, shared = pickle.loads(connection.recv_bytes())
    if not shared:
        return pickle.loads(body, buffers=[bytearray(connection.recv_bytes()) for _ in sizes])
    descriptor = reduction.recv_handle(connection)
    try:
        ends = _ends(sizes)
        memory = memoryview(mmap.mmap(descriptor, ends[-1]))
    finally:
        os.close(descriptor)
    starts = [end - _padded(size) for size, end in zip(sizes, ends, strict=True)]
    parts = [memory[start : start + size] for start, size in zip(starts, sizes, strict=True)]
    return pickle.loads(body, buffers=parts)


def _padded(size: int) -> int:
    """Every array begins at a multiple of the alignment; even an empty one takes memory."""
    return max(1, -(-size // _ALIGNMENT)) * _ALIGNMENT


def _ends(sizes: list[int]) -> list[int]:
    ends, position = [], 0
    for size in sizes:
        position += _padded(size)
        ends.append(position)
    return ends
