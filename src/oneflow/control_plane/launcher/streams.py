"""Output of processes: shown, copied to files, with its end kept for messages."""

from __future__ import annotations

import contextlib
import os
import threading
from pathlib import Path
from typing import BinaryIO

_CHUNK = 65536
# Bytes that are kept of the end of a process's output.
_TAIL_BYTES = 16384


class Tee:
    """A thread that copies a pipe to a file descriptor and a log, and keeps its last lines.

    Args:
        source: the file descriptor of the pipe.
        target: the file descriptor on which the output is shown.
        log: a file that gets it too, or None.
    """

    def __init__(self, source: int, target: int, log: BinaryIO | None) -> None:
        self._source = source
        self._target = target
        self._log = log
        self._tail = bytearray()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while True:
            data = os.read(self._source, _CHUNK)
            if not data:
                return
            self._tail = (self._tail + data)[-_TAIL_BYTES:]
            if self._log is not None:
                self._log.write(data)
                self._log.flush()
            # The reader of the target may be gone.
            with contextlib.suppress(OSError):
                _write_all(self._target, data)

    def join(self) -> None:
        """Wait for the rest of the output; a descendant of the process may keep the pipe open."""
        self._thread.join(5.0)

    def tail(self, count: int) -> list[str]:
        """Return the last `count` lines."""
        text = bytes(self._tail).decode(errors="replace")
        return [line.rstrip() for line in text.splitlines() if line.strip()][-count:]


def tail_of_file(path: Path, count: int) -> list[str]:
    """Return the last `count` lines of a file; none if it cannot be read."""
    with contextlib.suppress(OSError), path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - _TAIL_BYTES))
        text = file.read().decode(errors="replace")
        return [line.rstrip() for line in text.splitlines() if line.strip()][-count:]
    return []


def _write_all(target: int, data: bytes) -> None:
    while data:
        data = data[os.write(target, data) :]
