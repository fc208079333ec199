"""Connections that carry JSON objects, one a line."""

from __future__ import annotations

import json
import socket
import threading
from typing import Any

_CHUNK = 65536
# After 30 silent seconds they ask every 10 seconds, and give up after 6 unanswered questions.
_KEEPALIVE = (
    (socket.TCP_KEEPIDLE, 30),
    (socket.TCP_KEEPINTVL, 10),
    (socket.TCP_KEEPCNT, 6),
)


class Channel:
    """One end of a connection.

    Any thread may send; one thread receives.

    Attributes:
        longest: bytes of a line; whoever sends more is not one of us.
    """

    # A line is a report or a verdict.
    longest = 2**22

    def __init__(self, connection: socket.socket) -> None:
        self.connection = connection
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        # The kernels notice when a machine is gone, and answer for a process that is only stopped.
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        for option, value in _KEEPALIVE:
            connection.setsockopt(socket.IPPROTO_TCP, option, value)
        self._received = bytearray()
        self._sending = threading.Lock()

    def fileno(self) -> int:
        """For selectors."""
        return self.connection.fileno()

    def send(self, **content: Any) -> None:
        """Send one object.

        Raises:
            OSError: the other end has gone.
        """
        line = json.dumps(content).encode() + b"\n"
        with self._sending:
            self.connection.settimeout(10.0)
            self.connection.sendall(line)

    def receive(self, timeout: float | None) -> list[dict[str, Any]]:
        """The objects that have come; waits for data at most `timeout` seconds, None for ever.

        Raises:
            EOFError: the other end has gone.
            ValueError: what came is not what this class sends.
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
        if len(rest) > self.longest:
            raise ValueError("a line without end")
        self._received = bytearray(rest)
        return [_object(line) for line in lines]

    def close(self) -> None:
        """End the connection."""
        self.connection.close()


def _object(line: bytes | bytearray) -> dict[str, Any]:
    try:
        content = json.loads(line)
    except RecursionError:
        raise ValueError("an object nested too deeply") from None
    if not isinstance(content, dict):
        raise ValueError(f"not an object: {line[:80]!r}")
    return content
