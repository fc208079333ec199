"""Messages as they come: a header, which says what an array is and for whom, and its bytes."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from io import BufferedReader
from typing import Any

import numpy as np

from oneflow.base.dtype import dtype_named
from oneflow.base.group_ranks import ranks_of_group
from oneflow.tuning.host_memory import empty_for_xla, host_memory_error

_MAX_HEADER_BYTES = 1 << 16
_SKIPPED_BYTES = 1 << 16

Address = tuple[tuple[int, ...], int | str]
"""The group and the tag that tell messages of one sender apart; a number of users."""


@dataclass(slots=True, eq=False)
class Message:
    """A message that has come.

    Attributes:
        source: the rank of its sender.
        address: its address.
        content: an error in place of an array for which there was no memory.
        window: the number of its window at the sender, None without one.
        size: its bytes.
    """

    source: int
    address: Address
    content: np.ndarray | Exception
    window: int | None
    size: int


def read_message(stream: BufferedReader, source: int, header_bytes: int) -> Message | None:
    """Read what follows the length of a header; None if the stream ends within it."""
    text = read_exactly(stream, header_bytes) if header_bytes <= _MAX_HEADER_BYTES else None
    if text is None:
        return None
    header: dict[str, Any] = json.loads(bytes(text))
    ranks, number, tag = header["address"]
    shape, dtype = header["shape"], dtype_named(header["dtype"]).numpy
    size = math.prod(shape) * dtype.itemsize
    content: np.ndarray | Exception
    try:
        content = array = empty_for_xla(tuple(shape), dtype)
    except MemoryError as error:
        content = host_memory_error("message", error)
        is_complete = _skip(stream, size)
    else:
        is_complete = _read_into(stream, bytes_of(array))
    if not is_complete:
        return None
    address, window = (ranks_of_group(ranks, number), tag), header.get("window")
    return Message(source, address, content, window, header_bytes + size)


def _skip(stream: BufferedReader, size: int) -> bool:
    """Read bytes and forget them, so that the next message can be read."""
    block = memoryview(bytearray(_SKIPPED_BYTES))
    while size > 0:
        part = block[: min(size, len(block))]
        if not _read_into(stream, part):
            return False
        size -= len(part)
    return True


def bytes_of(array: np.ndarray) -> memoryview:
    """Return the memory of a contiguous array."""
    memory: Any = array.reshape(-1).view(np.uint8)
    return memoryview(memory)


def read_exactly(stream: BufferedReader, size: int) -> bytearray | None:
    """Return so many bytes; None if the stream ends before."""
    buffer = bytearray(size)
    return buffer if _read_into(stream, memoryview(buffer)) else None


def _read_into(stream: BufferedReader, view: memoryview) -> bool:
    """Fill a buffer; return whether so many bytes have come."""
    try:
        return stream.readinto(view) == len(view)
    except OSError:
        return False
