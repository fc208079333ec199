"""Messages between processes: arrays from one to another, over connections of their own.

XLA's transfers are programs that both processes run in the same order. Here a sender need not know
what the receiver does: messages wait at the receiver until they are asked for.

Each process that takes part listens, and puts its address and a random token into the key-value
store of the job; who connects must know the token. A sender connects when its first message is due,
in a thread that sends its messages one after the other.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import hmac
import itertools
import json
import queue
import secrets
import socket
import struct
import sys
import threading
import time
from collections import defaultdict, deque
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from io import BufferedReader
from typing import Any, cast

import numpy as np

from oneflow.base import cluster
from oneflow.base.group_ranks import number_of_group
from oneflow.control_plane import key_value_store
from oneflow.control_plane.flow_control import Receipts, SendWindow, SendWindows
from oneflow.control_plane.message import Address, Message, bytes_of, read_exactly, read_message

_TOKEN_BYTES = 32
_LENGTH = struct.Struct("!I")
# Bytes of a message that are sent at once: the system takes them, whatever the receiver does.
_SMALL_BYTES = 1 << 16
NO_TIMEOUT = 1e6
"""Seconds to wait for another process; the coordinator finds those that never come."""


class SendHandle:
    """A message on its way: `done` is set when the system has it, or cannot send it.

    Args:
        window: its window, if it has one.
        position: the bytes of the window before it.
    """

    def __init__(self, window: SendWindow | None, position: int) -> None:
        self.done = threading.Event()
        self.error: Exception | None = None
        self._window, self._position = window, position

    def finish(self, error: Exception | None) -> None:
        """Mark the message as sent, or as failed with an error."""
        self.error = error
        self.done.set()

    def is_over(self) -> bool:
        """Return whether `done` is set, and `await_space` would return at once."""
        has_space = self._window is None or self._window.has_space(self._position)
        return has_space and self.done.is_set()

    def await_space(self, seconds: float) -> None:
        """Wait until the receiver has taken what was sent before, but for `WINDOW_BYTES`."""
        if self._window is not None:
            self._window.await_space(seconds, self._position)


@dataclass(slots=True, eq=False)
class Request:
    """A message that is asked for, whether it has come or not.

    Attributes:
        sources: the processes of one of which it comes.
        address: its address.
        message: the message.
        is_over: whether it was handed over.
    """

    sources: tuple[int, ...]
    address: Address
    message: Message | None = None
    is_over: bool = False


class _SendThread:
    """The messages to one process, and the thread that sends those that may take a while.

    After one that was lost none is sent any more: the receiver would take it for the lost one.

    Args:
        destination: the rank of the process.
        note_loss: is called with the error of the first message that is lost.
    """

    def __init__(self, destination: int, note_loss: Callable[[int, Exception], None]) -> None:
        self.windows = SendWindows()
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

    def post(self, header: bytes, array: np.ndarray, window: SendWindow | None) -> SendHandle:
        """Send a message, a small one on this thread, which saves a change of threads.

        On the main thread a signal handler could interrupt it in the middle.
        """
        size = len(header) + array.nbytes
        handle = SendHandle(window, 0 if window is None else window.add(size))
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
                self._connection.sendall(bytes_of(array))
        except Exception as error:
            if self._connection is not None:
                # Who reads receipts has it open.
                with contextlib.suppress(OSError):
                    self._connection.shutdown(socket.SHUT_RDWR)
                self._connection.close()
            self._error = error
            handle.finish(error)
            self.windows.end(ConnectionError(_loss_text(self._destination, error)))
            self._note_loss(self._destination, error)
        else:
            handle.finish(None)

    def _connect(self) -> socket.socket:
        text = key_value_store.get(_key(self._destination), NO_TIMEOUT)
        host, port, token = text.rsplit(":", 2)
        connection = socket.create_connection((host, int(port)))
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection.sendall(token.encode() + _LENGTH.pack(cluster.rank()))
        read, name = self.windows.read_receipts, "oneflow-messages-receipts"
        threading.Thread(target=read, args=(connection,), name=name, daemon=True).start()
        return connection


class MessageChannel:
    """The messages of this process to others and from them."""

    def __init__(self) -> None:
        self._senders: dict[int, _SendThread] = {}
        # Messages that nobody has asked for, and requests for what has not come, in their order.
        self._queues: dict[tuple[int, Address], deque[Message]] = defaultdict(deque)
        self._requests: dict[Address, list[Request]] = defaultdict(list)
        self._receipts: dict[int, Receipts] = {}
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

    def send(
        self, destination: int, address: Address, array: np.ndarray, is_one_way: bool = False
    ) -> SendHandle:
        """Post a message.

        One that is lost is an error in what this process does next: in each `recv` within the group
        of the address, in each `send` to the same process, and at its end.

        Args:
            destination: the rank of the receiver.
            address: what it asks for.
            array: the content.
            is_one_way: this process could send the next one without hearing of the receiver, so
                that some must be waited for.

        Raises:
            ConnectionError: a message to the same process was lost.
        """
        self._raise_loss((destination,))
        if destination not in self._senders:
            self._senders[destination] = _SendThread(destination, self._note_loss)
        sender = self._senders[destination]
        ranks, tag = address
        header: dict[str, Any] = {
            "address": (ranks, number_of_group(ranks), tag),
            "dtype": array.dtype.name,
            "shape": list(array.shape),
        }
        window = sender.windows.window_of(_order_of(address)) if is_one_way else None
        if window is not None:
            header["window"] = window.number
        return sender.post(json.dumps(header).encode(), np.ascontiguousarray(array), window)

    def await_space(self, ranks: tuple[int, ...]) -> None:
        """Wait until those who are in a group have taken what its operations sent them from here.

        All but `WINDOW_BYTES` of it.
        """
        for window in self._windows_of(ranks):
            window.await_space(NO_TIMEOUT)

    def has_space(self, ranks: tuple[int, ...]) -> bool:
        """Return whether `await_space` would return at once."""
        return all(window.has_space() for window in self._windows_of(ranks))

    def _windows_of(self, ranks: tuple[int, ...]) -> list[SendWindow]:
        senders = [self._senders[rank] for rank in ranks if rank in self._senders]
        return [sender.windows.window_of(ranks) for sender in senders]

    def recv(
        self, sources: tuple[int, ...], address: Address, seconds: float
    ) -> tuple[int, np.ndarray]:
        """Take the oldest message of one of some processes; see `request` and `take`."""
        request = self.request(sources, address)
        try:
            return self.take(request, seconds)
        except BaseException:
            self._cancel(request)
            raise

    def request(self, sources: tuple[int, ...], address: Address) -> Request:
        """Ask for the oldest message of one of some processes, which may come later.

        Requests get messages in the order in which they were made.
        """
        request = Request(sources, address)
        with self._arrived:
            for source in sources:
                if waiting := self._queues.get((source, address)):
                    request.message = waiting.popleft()
                    if not waiting:
                        del self._queues[source, address]
                    self._acknowledge(request.message)
                    return request
            self._requests[address].append(request)
        return request

    def take(self, request: Request, seconds: float) -> tuple[int, np.ndarray]:
        """Wait for the message of a request, and return it after its sender.

        Raises:
            TimeoutError: none has come in time.
            OutOfMemoryError: there was no memory for it.
            ConnectionError: a message of one of the processes has been lost, or one of this process
                to any of the group.
        """
        deadline = time.monotonic() + seconds
        with self._arrived:
            while True:
                self._raise_loss(request.address[0])
                if message := request.message:
                    request.is_over = True
                    if isinstance(message.content, Exception):
                        raise message.content
                    return message.source, message.content
                for source in self._broken.intersection(request.sources):
                    raise ConnectionError(f"the connection to rank {source} ended within a message")
                left = deadline - time.monotonic()
                if left <= 0:
                    raise TimeoutError
                self._arrived.wait(left)

    def is_ready(self, request: Request) -> bool:
        """Return whether `take` would return at once."""
        return request.message is not None or not self._broken.isdisjoint(request.sources)

    def _cancel(self, request: Request) -> None:
        """Leave the message of a request that was given up to the next one."""
        with self._arrived:
            if (message := request.message) is None:
                self._forget(request)
            elif not request.is_over:
                self._queues[message.source, message.address].appendleft(message)

    def _forget(self, request: Request) -> None:
        requests = self._requests[request.address]
        requests.remove(request)
        if not requests:
            del self._requests[request.address]

    def _deliver(self, message: Message) -> None:
        """Give a message to the first request for it, or keep it until there is one."""
        for request in self._requests.get(message.address, ()):
            if message.source in request.sources:
                request.message = message
                self._forget(request)
                self._acknowledge(message)
                return
        self._queues[message.source, message.address].append(message)
        if self._is_ending:
            self._acknowledge(message)

    def _acknowledge(self, message: Message) -> None:
        """Tell the sender, once, that a message needs no room any more."""
        if message.window is not None:
            self._receipts[message.source].add(message.window, message.size)
            message.window = None

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
        """Fail if a message was lost; from now on when one is.

        Nobody may ask for what has come or comes, so who sends need not wait.
        """
        with self._arrived:
            self._is_ending = True
            for message in itertools.chain.from_iterable(self._queues.values()):
                self._acknowledge(message)
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
            header = read_exactly(stream, _TOKEN_BYTES + _LENGTH.size)
            if header is None or not hmac.compare_digest(
                bytes(header[:_TOKEN_BYTES]), self._token.encode()
            ):
                return
            (source,) = _LENGTH.unpack(header[_TOKEN_BYTES:])
            self._receipts[source] = Receipts(connection)
            while length := read_exactly(stream, _LENGTH.size):
                message = read_message(stream, source, *_LENGTH.unpack(length))
                with self._arrived:
                    if message is None:
                        self._broken.add(source)
                    else:
                        self._deliver(message)
                    self._arrived.notify_all()
                if message is None:
                    return


def message_channel() -> MessageChannel:
    """Return the channel of this process; the first call opens it.

    Threads of several groups may ask for it at once, and the addresses of a second channel would
    not be those that the other processes know.
    """
    with _opening:
        return _channel()


_opening = threading.RLock()
_channel = functools.cache(MessageChannel)


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


def _order_of(address: Address) -> Hashable:
    """The order to which a message belongs: operations of a group, or messages of one tag.

    A process may ask for messages of several tags in another order than they are sent in.
    """
    ranks, tag = address
    return ranks if isinstance(tag, str) else address
