"""A process that starts the server again when it was killed."""

from __future__ import annotations

import logging
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from types import FrameType

logger = logging.getLogger("oneflow.serving")
# Seconds from one start of the server to the next: one that dies at once does not keep a core busy.
_RESTART_INTERVAL = 1.0
_MAX_PENDING = 1024


def open_socket(host: str, port: int) -> socket.socket:
    """Return a socket that listens for HTTP, which servers may inherit one after the other.

    Connections that come while there is no server wait in it.

    Raises:
        OSError: the port cannot be had.
    """
    family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
    server_socket = socket.create_server((host, port), family=family, backlog=_MAX_PENDING)
    server_socket.set_inheritable(True)
    return server_socket


class Supervisor:
    """Runs a server, and restarts it when a signal ends it that the supervisor did not send.

    The server ends when this process has ended, however that came about: it holds one end of a
    pipe, of which nothing but this process holds the other.

    Args:
        arguments: the arguments of the command `python -m oneflow.serving`.
        server_socket: the one that the server inherits.
    """

    def __init__(self, arguments: Sequence[str], server_socket: socket.socket) -> None:
        pipe, self._held_end = os.pipe()
        options = ["--http-socket", str(server_socket.fileno()), "--supervisor-pipe", str(pipe)]
        self._command = [sys.executable, "-m", "oneflow.serving", *arguments, *options]
        self._files = [server_socket.fileno(), pipe]
        self._server: subprocess.Popen[bytes] | None = None
        self._is_stopping = False

    def run(self) -> int:
        """Return the exit code of the server that ended by itself, or because it was told to."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._stop)
        while True:
            started = time.monotonic()
            self._server = subprocess.Popen(self._command, pass_fds=self._files)
            if self._is_stopping:  # the signal came before there was somebody to hand it to
                self._server.terminate()
            code = self._server.wait()
            if code >= 0 or self._is_stopping:
                return code if code >= 0 else 128 - code  # as shells count
            details = {"signal": -code, "pid": self._server.pid}
            logger.error("server killed, it is started again", extra=details)
            time.sleep(max(0.0, started + _RESTART_INTERVAL - time.monotonic()))

    def _stop(self, _number: int, _frame: FrameType | None) -> None:
        self._is_stopping = True
        if self._server is not None:
            self._server.terminate()
