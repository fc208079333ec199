"""A word on a terminal when a compilation takes long."""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from collections.abc import Iterator

from oneflow.compiler import persistent_cache

# Seconds; what takes less is no reason to wonder.
DELAY = 2.0


@contextlib.contextmanager
def compile_message(name: str, instructions: int) -> Iterator[None]:
    """Context manager: say on a terminal what it compiles, if that takes longer than `DELAY`.

    Nothing is written where the error stream goes to a file.

    Args:
        name: what is compiled.
        instructions: how many there are.
    """
    stream = sys.stderr
    if stream is None or not stream.isatty():
        yield
        return
    start = time.monotonic()
    has_written = threading.Event()

    def show() -> None:
        has_written.set()
        suffix = ", and kept on disk for the next process" if persistent_cache.is_enabled() else ""
        stream.write(
            f"{name}: compiling {instructions} instructions; this is done once{suffix}. `debug(1)` "
            "of the graph shows its parts\n"
        )

    timer = threading.Timer(DELAY, show)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()
        if has_written.is_set():
            stream.write(f"{name}: compiled in {time.monotonic() - start:.0f} s\n")
