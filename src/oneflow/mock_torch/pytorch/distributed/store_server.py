"""The server of a `TCPStore`, and the connections to it.

A message is a number of fields, and each field its length and bytes: a request is an operation with
its fields, an answer `DONE` and its fields, or why there is none. Nothing that comes in is code.
"""

from __future__ import annotations

import contextlib
import errno
import os
import socket
import socketserver
import struct
import threading
from collections.abc import Sequence
from typing import cast

from oneflow.mock_torch.pytorch.distributed.store_values import SharedValues

_COUNT = struct.Struct("!I")
#: The operation that waits for keys; its first field is how many seconds.
WAIT = "wait"
#: The first field of answers to requests that have been done.
DONE = b""


def send(connection: socket.socket, fields: Sequence[bytes]) -> None:
    """Send a message."""
    parts = [part for field in fields for part in (_COUNT.pack(len(field)), field)]
    connection.sendall(_COUNT.pack(len(fields)) + b"".join(parts))


def receive(connection: socket.socket) -> list[bytes]:
    """Receive a message.

    Raises:
        ConnectionError: the other side has gone.
    """
    (count,) = _COUNT.unpack(_read(connection, _COUNT.size))
    lengths_and_fields = (_read(connection, _COUNT.size) for _ in range(count))
    return [_read(connection, _COUNT.unpack(length)[0]) for length in lengths_and_fields]


def _read(connection: socket.socket, length: int) -> bytes:
    data = bytearray()
    while len(data) < length:
        part = connection.recv(length - len(data))
        if not part:
            text = "the other side has closed the connection"
            raise ConnectionResetError(errno.ECONNRESET, text)
        data += part
    return bytes(data)


class _Connection(socketserver.BaseRequestHandler):
    """A client, whose requests a thread answers one after the other."""

    def handle(self) -> None:
        """Answer until the client goes."""
        with contextlib.suppress(ConnectionError):
            while True:
                operation, *fields = receive(self.request)
                try:
                    answer = [DONE, *self._answer(operation.decode(), fields)]
                except ValueError as error:
                    answer = [str(error).encode()]
                send(self.request, answer)

    def setup(self) -> None:
        """Add the connection to those that the server closes when it stops."""
        cast(StoreServer, self.server).connections.add(self.request)

    def finish(self) -> None:
        """Leave the server."""
        cast(StoreServer, self.server).connections.discard(self.request)

    def _answer(self, operation: str, fields: Sequence[bytes]) -> Sequence[bytes]:
        values = cast(StoreServer, self.server).values
        if operation == WAIT:
            seconds, *keys = fields
            return [b"1" if values.wait(keys, float(seconds)) else b""]
        return values.answer(operation, fields)


class StoreServer(socketserver.ThreadingTCPServer):
    """Keys and values that other processes reach.

    Args:
        host: the name of this machine that the others use.
        port: the port; 0 for a free one, which is the attribute `port` then.
    """

    daemon_threads = True
    allow_reuse_address = True

    def __init__(self, host: str, port: int) -> None:
        super().__init__((host, port), _Connection)
        self.values = SharedValues()
        self.connections: set[socket.socket] = set()
        self.port: int = self.server_address[1]
        self._process = os.getpid()
        threading.Thread(target=self.serve_forever, args=(0.05,), daemon=True).start()

    def close(self) -> None:
        """Answer no longer; a forked process has no thread that answers."""
        if self._process == os.getpid():
            self.shutdown()
            for connection in list(self.connections):
                with contextlib.suppress(OSError):  # the client has gone
                    connection.shutdown(socket.SHUT_RDWR)
        self.server_close()
