"""Output of processes: shown, copied to files, with its end kept for messages."""

from __future__ import annotations

import contextlib
import os
import select
import threading
from pathlib import Path
from typing import IO, BinaryIO

_CHUNK = 65536
# The time to wait for the rest of a line; then its beginning is shown, a question for instance.
_SECONDS_FOR_A_LINE = 0.1
# This lock is held while a line is written. Python writes one in pieces if it does not buffer, and
# those of several processes would be mixed.
_LINE_LOCK = threading.Lock()
# Bytes that are kept of the end of a process's output.
_TAIL_BYTES = 16384


class Tee:
    """A thread that copies a pipe, line by line, to a file descriptor and a log; keeps its end.

    Args:
        source: the pipe, which stays open as long as the thread runs.
        target: the file descriptor on which the output is shown.
        log: a file that gets it too, or None.
    """

    def __init__(self, source: IO[bytes], target: int, log: BinaryIO | None) -> None:
        self._source = source
        self._target = target
        self._log = log
        self._tail = bytearray()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        partial = b""
        source = self._source.fileno()
        while True:
            if partial and not select.select([source], [], [], _SECONDS_FOR_A_LINE)[0]:
                self._copy(partial)
                partial = b""
            data = os.read(source, _CHUNK)
            if not data:
                self._copy(partial)
                return
            partial += data
            # A progress bar ends with a carriage return.
            end = max(partial.rfind(b"\n"), partial.rfind(b"\r")) + 1
            self._copy(partial[:end])
            partial = partial[end:]

    def _copy(self, data: bytes) -> None:
        self._tail = (self._tail + data)[-_TAIL_BYTES:]
        if self._log is not None:
            self._log.write(data)
            self._log.flush()
        # The reader of the target may be gone.
        with contextlib.suppress(OSError), _LINE_LOCK:
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
