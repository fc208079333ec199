"""Messages between processes: arrays from one to another, over connections of their own.

XLA's transfers are programs that both processes run in the same order. Here a sender need not know
what the receiver does: messages wait at the receiver until they are asked for.

Each process that takes part listens, and puts its address and a random token into the key-value
store of the job; who connects must know the token. A sender connects when its first message is due,
in a thread that sends its messages one after the other.
"""

from __future__ import annotations

import atexit
import functools
import hmac
import json
import math
import queue
import secrets
import socket
import struct
import sys
import threading
import time
from collections import defaultdict, deque
from collections.abc import Callable
from io import BufferedReader
from typing import Any, cast

import numpy as np

from oneflow.base import cluster
from oneflow.base.dtype import dtype_named
from oneflow.control_plane import key_value_store
from oneflow.tuning.host_memory import host_memory_error

_TOKEN_BYTES = 32
_LENGTH = struct.Struct("!I")
_MAX_HEADER_BYTES = 1 << 16
_SKIPPED_BYTES = 1 << 16
# Bytes of a message that are sent at once: the system takes them, whatever the receiver does.
_SMALL_BYTES = 1 << 16
NO_TIMEOUT = 1e6
"""Seconds to wait for another process; the coordinator finds those that never come."""

Address = tuple[tuple[int, ...], int | str]
"""The ranks of the group and the tag that tell messages of one sender apart; a number of users."""


class SendHandle:
    """A message on its way: `done` is set when the system has it, or cannot send it."""

    def __init__(self) -> None:
        self.done = threading.Event()
        self.error: Exception | None = None

    def finish(self, error: Exception | None) -> None:
        """Mark the message as sent, or as failed with an error."""
        self.error = error
        self.done.set()


class _SendThread:
    """The messages to one process, and the thread that sends those that may take a while.

    After one that was lost none is sent any more: the receiver would take it for the lost one.

    Args:
        destination: the rank of the process.
        note_loss: is called with the error of the first message that is lost.
    """

    def __init__(self, destination: int, note_loss: Callable[[int, Exception], None]) -> None:
        self._destination = destination
        self._note_loss = note_loss
        self._connection: socket.socket | None = None
        self._error: Exception | None = None
        self._queue: queue.SimpleQueue[tuple[bytes, np.ndarray, SendHandle]] = queue.SimpleQueue()
        # Messages in the queue and in the hands of the thread. Who holds the lock while there are
        # none may send.
        self._waiting = 0
        self._lock = threading.Lock()
        name = "oneflow-messages-send"
        threading.Thread(target=self._send_queue, name=name, daemon=True).start()

    def post(self, header: bytes, array: np.ndarray) -> SendHandle:
        """Send a message, a small one on this thread, which saves a change of threads.

        On the main thread a signal handler could interrupt it in the middle.
        """
        handle = SendHandle()
        is_quick = self._connection is not None and array.nbytes <= _SMALL_BYTES
        with self._lock:
            if is_quick and not self._waiting and not _is_main_thread():
                self._send(header, array, handle)
            else:
                self._waiting += 1
                self._queue.put((header, array, handle))
        return handle

    def _send_queue(self) -> None:
        while True:
            self._send(*self._queue.get())
            with self._lock:
                self._waiting -= 1

    def _send(self, header: bytes, array: np.ndarray, handle: SendHandle) -> None:
        """Send a message, or note in its handle why it cannot be sent."""
        if self._error is not None:
            return handle.finish(self._error)
        try:
            if self._connection is None:
                self._connection = self._connect()
            start = _LENGTH.pack(len(header)) + header
            if array.nbytes <= _SMALL_BYTES:
                self._connection.sendall(start + array.tobytes())
            else:
                self._connection.sendall(start)
                self._connection.sendall(_bytes_of(array))
        except Exception as error:
            if self._connection is not None:
                self._connection.close()
            self._error = error
            handle.finish(error)
            self._note_loss(self._destination, error)
        else:
            handle.finish(None)

    def _connect(self) -> socket.socket:
        text = key_value_store.get(_key(self._destination), NO_TIMEOUT)
        host, port, token = text.rsplit(":", 2)
        connection = socket.create_connection((host, int(port)))
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection.sendall(token.encode() + _LENGTH.pack(cluster.rank()))
        return connection


class MessageChannel:
    """The messages of this process to others and from them."""

    def __init__(self) -> None:
        self._senders: dict[int, _SendThread] = {}
        # An error in place of a message for which there was no memory.
        self._queues: dict[tuple[int, Address], deque[np.ndarray | Exception]] = defaultdict(deque)
        # Senders whose connection has ended within a message.
        self._broken: set[int] = set()
        # The errors of messages of this process that were lost, by their destination.
        self._losses: dict[int, Exception] = {}
        self._is_ending = False
        self._arrived = threading.Condition()
        self._token = secrets.token_hex(_TOKEN_BYTES // 2)
        host = _local_host()
        self._server = socket.create_server((host, 0), backlog=cluster.world_size())
        threading.Thread(target=self._accept, name="oneflow-messages-recv", daemon=True).start()
        atexit.register(self._end)
        port = self._server.getsockname()[1]
        key_value_store.put(_key(cluster.rank()), f"{host}:{port}:{self._token}")

    def send(self, destination: int, address: Address, array: np.ndarray) -> SendHandle:
        """Post a message.

        One that is lost is an error in what this process does next: in each `recv` within the group
        of the address, in each `send` to the same process, and at its end.

        Raises:
            ConnectionError: a message to the same process was lost.
        """
        self._raise_loss((destination,))
        dtype, shape = array.dtype.name, list(array.shape)
        header = json.dumps({"address": address, "dtype": dtype, "shape": shape}).encode()
        if destination not in self._senders:
            self._senders[destination] = _SendThread(destination, self._note_loss)
        return self._senders[destination].post(header, np.ascontiguousarray(array))

    def recv(
        self, sources: tuple[int, ...], address: Address, seconds: float
    ) -> tuple[int, np.ndarray]:
        """Take the oldest message of one of some processes, and return its sender with it.

        Raises:
            TimeoutError: none has come in time.
            OutOfMemoryError: there was no memory for it.
            ConnectionError: a message of one of the processes has been lost, or one of this process
                to any of the group.
        """
        deadline = time.monotonic() + seconds
        with self._arrived:
            while True:
                self._raise_loss(address[0])
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

    def _raise_loss(self, ranks: tuple[int, ...]) -> None:
        """Raise the error of a message to one of some processes that was lost, if there is one."""
        for rank in self._losses.keys() & set(ranks):
            error = self._losses[rank]
            raise ConnectionError(_loss_text(rank, error)) from error

    def _note_loss(self, destination: int, error: Exception) -> None:
        """Wake whoever waits for what the other process may never send now.

        While Python ends nobody does, and the receiver may wait; so this process fails.
        """
        with self._arrived:
            self._losses[destination] = error
            self._arrived.notify_all()
        if self._is_ending:
            _fail(destination, error)

    def _end(self) -> None:
        """Fail if a message was lost; from now on when one is."""
        self._is_ending = True
        for destination, error in list(self._losses.items()):
            _fail(destination, error)

    def _accept(self) -> None:
        while True:
            connection, _ = self._server.accept()
            threading.Thread(
                target=self._read, args=(connection,), name="oneflow-messages-recv", daemon=True
            ).start()

    def _read(self, connection: socket.socket) -> None:
        """Put what a process sends into the queues, until it ends or breaks the protocol."""
        reader = cast(BufferedReader, connection.makefile("rb", _SMALL_BYTES))
        with connection, reader as stream:
            header = _read_exactly(stream, _TOKEN_BYTES + _LENGTH.size)
            if header is None or not hmac.compare_digest(
                bytes(header[:_TOKEN_BYTES]), self._token.encode()
            ):
                return
            (source,) = _LENGTH.unpack(header[_TOKEN_BYTES:])
            while length := _read_exactly(stream, _LENGTH.size):
                message = _read_message(stream, *_LENGTH.unpack(length))
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


def _loss_text(destination: int, error: Exception) -> str:
    return f"a message to rank {destination} could not be sent: {error}"


def _fail(destination: int, error: Exception) -> None:
    """End this process with an error, of which its exception hook tells the other processes.

    A process without an address has never waited for a message, so none is missed there.
    """
    if isinstance(error, OSError) and not isinstance(error, TimeoutError):
        sys.excepthook(ConnectionError, ConnectionError(_loss_text(destination, error)), None)


def _is_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()


def _key(rank: int) -> str:
    return f"oneflow/messages/{rank}"


def _local_host() -> str:
    """Return the address under which the other processes reach this one."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as connection:
        # Sends nothing: it only makes the system choose an interface.
        connection.connect((key_value_store.coordinator_host(), 1))
        return connection.getsockname()[0]


def _read_message(
    stream: BufferedReader, header_bytes: int
) -> tuple[Address, np.ndarray | Exception] | None:
    """Read what follows the length of a header; None if the stream ends within it."""
    text = _read_exactly(stream, header_bytes) if header_bytes <= _MAX_HEADER_BYTES else None
    if text is None:
        return None
    header: dict[str, Any] = json.loads(bytes(text))
    ranks, tag = header["address"]
    shape, dtype = header["shape"], dtype_named(header["dtype"]).numpy
    address = tuple(ranks), tag
    try:
        array = np.empty(shape, dtype)
    except MemoryError as error:
        is_complete = _skip(stream, math.prod(shape) * dtype.itemsize)
        return (address, host_memory_error("message", error)) if is_complete else None
    return (address, array) if _read_into(stream, _bytes_of(array)) else None


def _skip(stream: BufferedReader, size: int) -> bool:
    """Read bytes and forget them, so that the next message can be read."""
    block = memoryview(bytearray(_SKIPPED_BYTES))
    while size > 0:
        part = block[: min(size, len(block))]
        if not _read_into(stream, part):
            return False
        size -= len(part)
    return True


def _bytes_of(array: np.ndarray) -> memoryview:
    """Return the memory of a contiguous array."""
    memory: Any = array.reshape(-1).view(np.uint8)
    return memoryview(memory)


def _read_exactly(stream: BufferedReader, size: int) -> bytearray | None:
    """Return so many bytes; None if the stream ends before."""
    buffer = bytearray(size)
    return buffer if _read_into(stream, memoryview(buffer)) else None


def _read_into(stream: BufferedReader, view: memoryview) -> bool:
    """Fill a buffer; return whether so many bytes have come."""
    try:
        return stream.readinto(view) == len(view)
    except OSError:
        return False
