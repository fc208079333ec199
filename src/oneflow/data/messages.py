"""Messages between a worker process and its parent: requests and batches.

A message is pickled. A small one goes through the connection as it is; the memory of a large one,
with all arrays in it, goes in a memory file that the kernel frees when nobody has it open any more,
so that nothing is left behind whoever dies, and only a few bytes ever wait in the connection.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import pickle
import queue
import socket
import sys
import threading
from collections.abc import Iterator
from multiprocessing import reduction
from multiprocessing.connection import Connection
from typing import Any

# Below this, copying through the connection is cheaper than a memory file.
_LARGE = 64 * 1024
_ALIGNMENT = 64
_HAS_MEMORY_FILES = sys.platform == "linux"


class DataMessage:
    """A pickled object.

    Args:
        parts: the pickle, then the memory of those of its arrays that are not in it.
    """

    def __init__(self, parts: list[memoryview]) -> None:
        self.parts = parts
        self._file: int | None = None

    @classmethod
    def share(cls, content: Any) -> DataMessage:
        """A message that shares the memory of the arrays in it: to be sent before they change."""
        buffers: list[pickle.PickleBuffer] = []
        body = pickle.dumps(content, protocol=5, buffer_callback=buffers.append)
        return cls([memoryview(body), *(buffer.raw() for buffer in buffers)])

    @classmethod
    def copy(cls, content: Any) -> DataMessage:
        """A message with everything as it is now."""
        return cls([memoryview(pickle.dumps(content, protocol=5))])

    def send(self, connection: Connection) -> None:
        """Send it; blocks while the connection is full."""
        sizes = self._sizes()
        if not self._is_large():
            connection.send_bytes(pickle.dumps([bytearray(part) for part in self.parts]))
            return
        descriptor = self._memory_file() if self._file is None else self._file
        try:
            connection.send_bytes(pickle.dumps(tuple(sizes)))
            reduction.send_handle(connection, descriptor, None)
        finally:
            if self._file is None:
                os.close(descriptor)

    @contextlib.contextmanager
    def in_one_file(self) -> Iterator[None]:
        """All receivers of the message share the memory of a large one within the block."""
        if not self._is_large():
            yield
            return
        self._file = self._memory_file()
        try:
            yield
        finally:
            os.close(self._file)
            self._file = None

    def _sizes(self) -> list[int]:
        return [part.nbytes for part in self.parts]

    def _is_large(self) -> bool:
        return _HAS_MEMORY_FILES and sum(self._sizes()) >= _LARGE

    def _memory_file(self) -> int:
        """Return the descriptor of a new memory file that holds all parts."""
        sizes = self._sizes()
        ends = _ends(sizes)
        descriptor = os.memfd_create("oneflow-batch", os.MFD_CLOEXEC)
        try:
            os.ftruncate(descriptor, ends[-1])
            for part, size, end in zip(self.parts, sizes, ends, strict=True):
                _write(descriptor, part, end - _padded(size))
        except BaseException:
            os.close(descriptor)
            raise
        return descriptor


def _write(descriptor: int, part: memoryview, position: int) -> None:
    """Write a buffer to a file; the kernel takes up to 2 GiB at a time.

    Copying into a mapping would take a page fault for each of its pages.
    """
    while part:
        written = os.pwrite(descriptor, part, position)
        part, position = part[written:], position + written


def recv(connection: Connection) -> Any:
    """The next object; large arrays in it lie in the memory file.

    Raises:
        EOFError: the other side is gone.
    """
    parts = recv_parts(connection, mmap.ACCESS_WRITE)
    return pickle.loads(parts[0], buffers=parts[1:])


def recv_parts(connection: Connection, access: int = mmap.ACCESS_COPY) -> list[memoryview]:
    """The parts of the next message.

    Args:
        connection: where from.
        access: how its memory file is mapped. Writes to a copy are for this process alone.
    """
    parts = pickle.loads(connection.recv_bytes())
    if isinstance(parts, tuple):
        return _from_memory_file(reduction.recv_handle(connection), parts, access)
    return [memoryview(part) for part in parts]


def _from_memory_file(descriptor: int, sizes: tuple[int, ...], access: int) -> list[memoryview]:
    try:
        ends = _ends(sizes)
        memory = memoryview(mmap.mmap(descriptor, ends[-1], access=access))
    finally:
        os.close(descriptor)
    starts = [end - _padded(size) for size, end in zip(sizes, ends, strict=True)]
    return [memory[start : start + size] for start, size in zip(starts, sizes, strict=True)]


def _padded(size: int) -> int:
    """Every part begins at a multiple of the alignment; even an empty one takes memory."""
    return max(1, -(-size // _ALIGNMENT)) * _ALIGNMENT


def _ends(sizes: tuple[int, ...] | list[int]) -> list[int]:
    ends, position = [], 0
    for size in sizes:
        position += _padded(size)
        ends.append(position)
    return ends


class Writer:
    """A thread that sends, so that whoever puts a message never waits for the other side.

    Args:
        connection: where to; closing the sender closes it.

    Attributes:
        error: why nothing is sent any more, if it is not that the other side has gone.
    """

    def __init__(self, connection: Connection) -> None:
        self.error: BaseException | None = None
        self._connection = connection
        self._messages: queue.SimpleQueue[DataMessage | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="oneflow-loader-sender", daemon=True)
        self._thread.start()

    def put(self, message: DataMessage) -> None:
        """Send a message after all earlier ones."""
        self._messages.put(message)

    def _run(self) -> None:
        while (message := self._messages.get()) is not None:
            try:
                message.send(self._connection)
            except (BrokenPipeError, ConnectionResetError):
                # The other side has gone, which is noticed when its answer is waited for.
                return
            except BaseException as error:
                self.error = error
                _shutdown(self._connection)
                return

    def close(self) -> None:
        """End the connection in both directions, whatever either side waits for."""
        self._messages.put(None)
        _shutdown(self._connection)
        # A garbage collection on that very thread may be what closes.
        if self._thread is not threading.current_thread():
            self._thread.join()
        self._connection.close()


def _shutdown(connection: Connection) -> None:
    """Unblock readers and writers of the connection, here and on the other side, with an error."""
    with contextlib.suppress(OSError):
        end = socket.socket(fileno=connection.fileno())
        try:
            end.shutdown(socket.SHUT_RDWR)
        finally:
            end.detach()
