"""Messages between processes: arrays from one to another, over connections of their own.

XLA's transfers are programs that both processes run in the same order. Here a sender need not know
what the receiver does: messages wait at the receiver until they are asked for.

Each process that takes part listens, and puts its address and a random token into the key-value
store of the job; who connects must know the token. A sender connects when its first message is due,
in a thread that sends its messages one after the other.
"""

from __future__ import annotations

import functools
import hmac
import json
import math
import queue
import secrets
import socket
import struct
import threading
import time
from collections import defaultdict, deque
from typing import Any

import numpy as np

from oneflow.base import cluster
from oneflow.base.dtype import dtype_named
from oneflow.control_plane import key_value_store
from oneflow.tuning.host_memory import host_memory_error

_TOKEN_BYTES = 32
_LENGTH = struct.Struct("!I")
_MAX_HEADER_BYTES = 1 << 16
_SKIPPED_BYTES = 1 << 16
# A process that has not taken part yet has no address; it is waited for as long as a message.
_CONNECT_SECONDS = 30 * 60.0

Address = tuple[tuple[int, ...], int | str]
"""The ranks of the group and the tag that tell messages of one sender apart; a number of users."""


class _SendThread:
    """The messages to one process, and the thread that sends them."""

    def __init__(self, destination: int) -> None:
        self._destination = destination
        self._queue: queue.SimpleQueue[tuple[bytes, np.ndarray, SendHandle]] = queue.SimpleQueue()
        threading.Thread(target=self._run, name="oneflow-messages-send", daemon=True).start()

    def post(self, header: bytes, array: np.ndarray) -> SendHandle:
        handle = SendHandle()
        self._queue.put((header, array, handle))
        return handle

    def _run(self) -> None:
        connection: socket.socket | None = None
        while True:
            header, array, handle = self._queue.get()
            try:
                if connection is None:
                    connection = self._connect()
                connection.sendall(_LENGTH.pack(len(header)) + header)
                connection.sendall(_bytes_of(array))
                handle.finish(None)
            except (OSError, TimeoutError) as error:
                connection = None
                handle.finish(error)

    def _connect(self) -> socket.socket:
        text = key_value_store.get(_key(self._destination), _CONNECT_SECONDS)
        host, port, token = text.rsplit(":", 2)
        connection = socket.create_connection((host, int(port)))
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection.sendall(token.encode() + _LENGTH.pack(cluster.rank()))
        return connection


class SendHandle:
    """A message on its way: `done` is set when the system has it, or cannot send it."""

    def __init__(self) -> None:
        self.done = threading.Event()
        self.error: Exception | None = None

    def finish(self, error: Exception | None) -> None:
        """Mark the message as sent, or as failed with an error."""
        self.error = error
        self.done.set()


class MessageChannel:
    """The messages of this process to others and from them."""

    def __init__(self) -> None:
        self._senders: dict[int, _SendThread] = {}
        # An error in place of a message for which there was no memory.
        self._queues: dict[tuple[int, Address], deque[np.ndarray | Exception]] = defaultdict(deque)
        # Senders whose connection has ended within a message.
        self._broken: set[int] = set()
        self._arrived = threading.Condition()
        self._token = secrets.token_hex(_TOKEN_BYTES // 2)
        host = _local_host()
        self._server = socket.create_server((host, 0), backlog=cluster.world_size())
        threading.Thread(target=self._accept, name="oneflow-messages-recv", daemon=True).start()
        port = self._server.getsockname()[1]
        key_value_store.put(_key(cluster.rank()), f"{host}:{port}:{self._token}")

    def send(self, destination: int, address: Address, array: np.ndarray) -> SendHandle:
        """Post a message."""
        dtype, shape = array.dtype.name, list(array.shape)
        header = json.dumps({"address": address, "dtype": dtype, "shape": shape}).encode()
        if destination not in self._senders:
            self._senders[destination] = _SendThread(destination)
        return self._senders[destination].post(header, np.ascontiguousarray(array))

    def recv(
        self, sources: tuple[int, ...], address: Address, seconds: float
    ) -> tuple[int, np.ndarray]:
        """Take the oldest message of one of some processes, and return its sender with it.

        Raises:
            TimeoutError: none has come in time.
            OutOfMemoryError: there was no memory for it.
            ConnectionError: a message of one of the processes has been lost.
        """
        deadline = time.monotonic() + seconds
        with self._arrived:
            while True:
                for source in sources:
                    if waiting := self._queues.get((source, address)):
                        message = waiting.popleft()
                        if not waiting:
                            del self._queues[source, address]
                        if isinstance(message, Exception):
                            raise message
                        return source, message
                for source in self._broken.intersection(sources):
                    raise ConnectionError(f"the connection to rank {source} ended within a message")
                left = deadline - time.monotonic()
                if left <= 0:
                    raise TimeoutError
                self._arrived.wait(left)

    def has_message(self, sources: tuple[int, ...], address: Address) -> bool:
        """Return whether `recv` would return at once."""
        with self._arrived:
            return any(
                self._queues.get((source, address)) or source in self._broken for source in sources
            )

    def _accept(self) -> None:
        while True:
            connection, _ = self._server.accept()
            threading.Thread(
                target=self._read, args=(connection,), name="oneflow-messages-recv", daemon=True
            ).start()

    def _read(self, connection: socket.socket) -> None:
        """Put what a process sends into the queues, until it ends or breaks the protocol."""
        with connection:
            header = _read_exactly(connection, _TOKEN_BYTES + _LENGTH.size)
            if header is None or not hmac.compare_digest(
                bytes(header[:_TOKEN_BYTES]), self._token.encode()
            ):
                return
            (source,) = _LENGTH.unpack(header[_TOKEN_BYTES:])
            while length := _read_exactly(connection, _LENGTH.size):
                message = _read_message(connection, *_LENGTH.unpack(length))
                with self._arrived:
                    if message is None:
                        self._broken.add(source)
                    else:
                        address, content = message
                        self._queues[source, address].append(content)
                    self._arrived.notify_all()
                if message is None:
                    return


@functools.cache  # one for each process
def message_channel() -> MessageChannel:
    """Return the channel of this process; the first call opens it."""
    return MessageChannel()


def _key(rank: int) -> str:
    return f"oneflow/messages/{rank}"


def _local_host() -> str:
    """Return the address under which the other processes reach this one."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as connection:
        # Sends nothing: it only makes the system choose an interface.
        connection.connect((key_value_store.coordinator_host(), 1))
        return connection.getsockname()[0]


def _read_message(
    connection: socket.socket, header_bytes: int
) -> tuple[Address, np.ndarray | Exception] | None:
    """Read what follows the length of a header; None if the connection ends within it."""
    text = _read_exactly(connection, header_bytes) if header_bytes <= _MAX_HEADER_BYTES else None
    if text is None:
        return None
    header: dict[str, Any] = json.loads(bytes(text))
    ranks, tag = header["address"]
    shape, dtype = header["shape"], dtype_named(header["dtype"]).numpy
    address = tuple(ranks), tag
    try:
        array = np.empty(shape, dtype)
    except MemoryError as error:
        is_complete = _skip(connection, math.prod(shape) * dtype.itemsize)
        return (address, host_memory_error("message", error)) if is_complete else None
    return (address, array) if _read_into(connection, _bytes_of(array)) else None


def _skip(connection: socket.socket, size: int) -> bool:
    """Read bytes and forget them, so that the next message can be read."""
    block = memoryview(bytearray(_SKIPPED_BYTES))
    while size > 0:
        part = block[: min(size, len(block))]
        if not _read_into(connection, part):
            return False
        size -= len(part)
    return True


def _bytes_of(array: np.ndarray) -> memoryview:
    """Return the memory of a contiguous array."""
    memory: Any = array.reshape(-1).view(np.uint8)
    return memoryview(memory)


def _read_exactly(connection: socket.socket, size: int) -> bytearray | None:
    """Return so many bytes; None if the connection ends before."""
    buffer = bytearray(size)
    return buffer if _read_into(connection, memoryview(buffer)) else None


def _read_into(connection: socket.socket, view: memoryview) -> bool:
    """Fill a buffer; return whether so many bytes have come."""
    while len(view):
        try:
            count = connection.recv_into(view)
        except OSError:
            return False
        if count == 0:
            return False
        view = view[count:]
    return True
