"""What processes print: shown, copied to files, and the end of it remembered."""

from __future__ import annotations

import contextlib
import os
import threading
from pathlib import Path
from typing import BinaryIO

_CHUNK = 65536
# How much is remembered of what a process printed last.
_REMEMBERED = 16384


class Copier:
    """A thread that shows what comes out of a pipe and remembers the end of it.

    Args:
        source: the pipe.
        target: the file descriptor on which it is shown.
        log: a file that gets it too.
    """

    def __init__(self, source: int, target: int, log: BinaryIO | None) -> None:
        self._source = source
        self._target = target
        self._log = log
        self._end = bytearray()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while True:
            data = os.read(self._source, _CHUNK)
            if not data:
                return
            self._end = (self._end + data)[-_REMEMBERED:]
            if self._log is not None:
                self._log.write(data)
                self._log.flush()
            # Nobody may be looking any more.
            with contextlib.suppress(OSError):
                _write_all(self._target, data)

    def finish(self) -> None:
        """Wait for what is still in the pipe; a process that lives on may keep it open."""
        self._thread.join(1.0)

    def last_lines(self, count: int) -> list[str]:
        """The last lines that came."""
        text = bytes(self._end).decode(errors="replace")
        return [line.rstrip() for line in text.splitlines() if line.strip()][-count:]


def last_lines_of_file(path: Path, count: int) -> list[str]:
    """The last lines of a file."""
    with contextlib.suppress(OSError), path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - _REMEMBERED))
        text = file.read().decode(errors="replace")
        return [line.rstrip() for line in text.splitlines() if line.strip()][-count:]
    return []


def _write_all(target: int, data: bytes) -> None:
    while data:
        data = data[os.write(target, data) :]
