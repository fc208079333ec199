"""The client of a `TCPStore`: a connection to its server, another one after an interruption."""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Sequence

from oneflow.mock_torch.pytorch.distributed.distributed_c10d import DistNetworkError
from oneflow.mock_torch.pytorch.distributed.store_server import DONE, receive, send

_RETRY_SECONDS = 0.01


def _is_of_network(error: BaseException) -> bool:
    """Return whether the system raised an error.

    A `TimeoutError` of a signal's handler, which also is an `OSError`, has no number.
    """
    return isinstance(error, OSError) and error.errno is not None


class StoreClient:
    """A connection to the server of a store, over which threads send one request after the other.

    A request that an exception interrupts leaves its answer behind, so that its connection closes,
    and the next request opens another one. A forked process opens its own.

    Args:
        host: the machine of the server.
        port: its port.
        seconds: how long the first connection is tried.

    Raises:
        DistNetworkError: nobody answers.
    """

    def __init__(self, host: str, port: int, seconds: float) -> None:
        self._host, self._port = host, port
        self._begin()
        self._connection = self._connect(seconds)

    def _begin(self) -> None:
        self._process, self._lock = os.getpid(), threading.Lock()
        self._connection: socket.socket | None = None

    def _connect(self, seconds: float = 0.0) -> socket.socket:
        end = time.monotonic() + seconds
        while True:
            try:
                return socket.create_connection((self._host, self._port))
            except OSError as error:
                if not _is_of_network(error):
                    raise
                if time.monotonic() > end:
                    text = f"no store answers at {self._host}:{self._port}"
                    raise DistNetworkError(text) from error
                time.sleep(_RETRY_SECONDS)

    def _error(self, text: str) -> DistNetworkError:
        return DistNetworkError(f"the store at {self._host}:{self._port} {text}")

    def request(self, operation: str, fields: Sequence[bytes]) -> Sequence[bytes]:
        """Send a request, and return its answer.

        Raises:
            DistNetworkError: the server has gone, or refuses the request.
        """
        if self._process != os.getpid():
            self.close()
            self._begin()
        with self._lock:
            status, *answer = self._exchange([operation.encode(), *fields])
        if status != DONE:
            raise self._error(f"cannot {operation}: {status.decode()}")
        return answer

    def _exchange(self, message: Sequence[bytes]) -> Sequence[bytes]:
        connection = self._connection or self._connect()
        self._connection = None  # until its answer has come
        try:
            send(connection, message)
            answer = receive(connection)
        except BaseException as error:
            connection.close()
            if _is_of_network(error):
                raise self._error(f"has gone: {error}") from error
            raise
        self._connection = connection
        return answer

    def close(self) -> None:
        """Close the connection of this process."""
        if self._connection is not None:
            self._connection.close()
