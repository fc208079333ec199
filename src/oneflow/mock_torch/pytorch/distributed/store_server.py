"""The server of a `TCPStore`, and the connections to it.

A message is a number of fields, and each field its length and bytes: a request is an operation with
its fields, an answer its fields. Nothing that comes in is code.
"""

from __future__ import annotations

import contextlib
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
            raise ConnectionError("the store's other side has closed the connection")
        data += part
    return bytes(data)


class _Connection(socketserver.BaseRequestHandler):
    """A client, whose requests a thread answers one after the other."""

    def handle(self) -> None:
        """Answer until the client goes."""
        values = cast(StoreServer, self.server).values
        with contextlib.suppress(ConnectionError):
            while True:
                operation, *fields = receive(self.request)
                if operation == WAIT.encode():
                    seconds, *keys = fields
                    there = values.wait(keys, float(seconds))
                    send(self.request, [b"1" if there else b""])
                else:
                    send(self.request, values.answer(operation.decode(), fields))


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
        self.port: int = self.server_address[1]
        threading.Thread(target=self.serve_forever, args=(0.05,), daemon=True).start()

    def close(self) -> None:
        """Answer no longer."""
        self.shutdown()
        self.server_close()
