"""Flow control of messages: who sends faster than others receive waits for them.

A receiver keeps messages until they are asked for. So that they never fill its memory, it tells the
sender what has been taken, and the sender waits while more than `WINDOW_BYTES` have not been.

Each order of messages has a window of its own: messages that may be taken in any order must not
wait for each other. Messages of an exchange have none: every process takes what the others sent
before it can send again.
"""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
import time
from collections import defaultdict
from collections.abc import Hashable

WINDOW_BYTES = 64 << 20
"""Bytes of messages of one order that may wait at their receiver when another one is sent."""

# The number of a window, and how many of its bytes have been taken.
_RECEIPT = struct.Struct("!IQ")
# Bytes for which one receipt is sent; small messages cost none of their own.
_RECEIPT_BYTES = WINDOW_BYTES // 8


class SendWindow:
    """Bytes that were sent to one process in one order, and those that it has taken.

    Args:
        number: names the window in receipts.
        link: the windows of that process.
    """

    def __init__(self, number: int, link: SendWindows) -> None:
        self.number = number
        self._link = link
        self.sent = self.taken = 0

    def add(self, size: int) -> int:
        """Note that a message is sent, and return the bytes before it."""
        with self._link.changed:
            self.sent += size
            return self.sent - size

    def has_space(self, position: int | None = None) -> bool:
        """Return whether `await_space` would return at once."""
        return (self.sent if position is None else position) - self.taken <= WINDOW_BYTES

    def await_space(self, seconds: float, position: int | None = None) -> None:
        """Wait while more than `WINDOW_BYTES` have not been taken.

        Args:
            seconds: how long to wait at most.
            position: which bytes count: those before it.

        Raises:
            TimeoutError: the receiver has not taken enough in time.
            ConnectionError: it never will, for a message was lost.
        """
        deadline = time.monotonic() + seconds
        with self._link.changed:
            while not self.has_space(position):
                if self._link.error is not None:
                    raise ConnectionError(str(self._link.error)) from self._link.error
                left = deadline - time.monotonic()
                if left <= 0:
                    raise TimeoutError
                self._link.changed.wait(left)


class SendWindows:
    """The windows of messages to one process.

    Attributes:
        changed: held where a window changes; notified of each receipt.
        error: that of a message that was lost; the receiver gets none of those after it.
    """

    def __init__(self) -> None:
        self.changed = threading.Condition()
        self.error: Exception | None = None
        self._windows: dict[Hashable, SendWindow] = {}
        self._by_number: list[SendWindow] = []

    def window_of(self, order: Hashable) -> SendWindow:
        """Return the window of an order."""
        with self.changed:
            window = self._windows.get(order)
            if window is None:
                window = self._windows[order] = SendWindow(len(self._by_number), self)
                self._by_number.append(window)
            return window

    def read_receipts(self, connection: socket.socket) -> None:
        """Read receipts until the connection ends.

        The coordinator finds processes that have ended, for which others wait.
        """
        with contextlib.suppress(OSError), connection.makefile("rb") as stream:
            while len(content := stream.read(_RECEIPT.size)) == _RECEIPT.size:
                number, size = _RECEIPT.unpack(content)
                with self.changed:
                    self._by_number[number].taken += size
                    self.changed.notify_all()

    def end(self, error: Exception) -> None:
        """Let those who wait know that a message was lost."""
        with self.changed:
            self.error = error
            self.changed.notify_all()


class Receipts:
    """The receipts of the messages that one process has sent.

    Args:
        connection: by which it sends.
    """

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._taken: dict[int, int] = defaultdict(int)
        self._lock = threading.Lock()

    def add(self, number: int, size: int) -> None:
        """Note that a message of a window was taken, and tell the sender now and then."""
        with self._lock:
            self._taken[number] += size
            # A sender that has ended needs none.
            if self._taken[number] >= _RECEIPT_BYTES:
                with contextlib.suppress(OSError):
                    self._connection.sendall(_RECEIPT.pack(number, self._taken.pop(number)))
