"""Open files of any kind: Python's own, and objects of programs that only have `read`."""

from __future__ import annotations

import io
import os
from collections.abc import Callable
from typing import Any

import numpy as np

_CHUNK_BYTES = 1024 * 1024


def is_seekable(file: Any) -> bool:
    """Return whether a file says that it can go to any place; one that does not say it may not."""
    seekable = getattr(file, "seekable", None)
    return seekable is not None and bool(seekable())


def read_rest(file: Any, head: bytes = b"") -> bytes:
    """Return the rest of a file, behind the bytes that were read before."""
    if isinstance(file, io.IOBase) or not hasattr(file, "readinto"):
        return head + file.read()
    content, chunk = bytearray(head), bytearray(_CHUNK_BYTES)
    while count := file.readinto(chunk):
        content += memoryview(chunk)[:count]
    return bytes(content)


def seek_back(file: Any, count: int) -> None:
    """Let a file that was read to its end stand before its last bytes, if it can.

    Args:
        file: the file.
        count: the number of bytes.
    """
    if count and (is_seekable(file) or not hasattr(file, "seekable")) and hasattr(file, "seek"):
        file.seek(-count, os.SEEK_CUR)


def read_into(file: Any, memory: np.ndarray) -> None:
    """Fill memory with what comes next in a file.

    Args:
        file: the file.
        memory: an array of bytes.

    Raises:
        ValueError: the file ends early.
    """
    left = memory.data
    readinto = getattr(file, "readinto", None) or _readinto_by_read(file)
    while left:
        count = readinto(left)
        if not count:
            raise ValueError("the file ends early")
        left = left[count:]


def _readinto_by_read(file: Any) -> Callable[[memoryview], int]:
    def readinto(memory: memoryview) -> int:
        content = file.read(len(memory))
        memory[: len(content)] = content
        return len(content)

    return readinto
