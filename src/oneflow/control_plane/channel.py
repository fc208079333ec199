"""Connections that carry JSON objects, one per line, and free ports."""

from __future__ import annotations

import json
import socket
import threading
from typing import Any

_CHUNK = 65536
# The kernel probes after 30 silent seconds, every 10 seconds, and gives up after 6 lost probes.
_TCP_OPTIONS = (
    (socket.TCP_KEEPIDLE, 30),
    (socket.TCP_KEEPINTVL, 10),
    (socket.TCP_KEEPCNT, 6),
)


class Channel:
    """One end of a connection between an agent and the coordinator.

    Any thread may send; a single thread receives.

    Attributes:
        max_line_bytes: the longest line in bytes that is accepted from the other end.
    """

    max_line_bytes = 2**22

    def __init__(self, connection: socket.socket) -> None:
        self.connection = connection
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        # The kernels detect a dead machine, and answer for a process that is only stopped.
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        for option, value in _TCP_OPTIONS:
            connection.setsockopt(socket.IPPROTO_TCP, option, value)
        self._received = bytearray()
        self._send_lock = threading.Lock()

    def fileno(self) -> int:
        """Return the file descriptor, for selectors."""
        return self.connection.fileno()

    def send(self, **content: Any) -> None:
        """Send one object.

        Raises:
            OSError: the connection is broken.
        """
        line = json.dumps(content).encode() + b"\n"
        with self._send_lock:
            self.connection.settimeout(10.0)
            self.connection.sendall(line)

    def recv(self, timeout: float | None) -> list[dict[str, Any]]:
        """Return the objects that have arrived.

        Args:
            timeout: seconds to wait for data; None waits forever.

        Raises:
            EOFError: the other end has closed the connection.
            ValueError: the data are not lines of JSON objects.
        """
        self.connection.settimeout(timeout)
        try:
            data = self.connection.recv(_CHUNK)
        except (TimeoutError, BlockingIOError):
            return []
        except OSError as error:
            raise EOFError(str(error)) from None
        if not data:
            raise EOFError("closed")
        self._received += data
        *lines, rest = self._received.split(b"\n")
        if len(rest) > self.max_line_bytes:
            raise ValueError(f"a line of more than {self.max_line_bytes} bytes")
        self._received = bytearray(rest)
        return [_parse_object(line) for line in lines]

    def close(self) -> None:
        """Close the connection."""
        self.connection.close()


def free_port() -> int:
    """Return a TCP port that nobody listens on at the moment."""
    with socket.create_server(("", 0)) as server:
        return server.getsockname()[1]


def _parse_object(line: bytes | bytearray) -> dict[str, Any]:
    try:
        content = json.loads(line)
    except RecursionError:
        raise ValueError("a JSON object that is nested too deeply") from None
    if not isinstance(content, dict):
        raise ValueError(f"not a JSON object: {line[:80]!r}")
    return content
