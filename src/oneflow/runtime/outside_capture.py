"""Running eager code while a graph is captured: what users hold must not become part of a step."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from oneflow.runtime.eager import current


@contextlib.contextmanager
def outside_capture() -> Iterator[None]:
    """Context manager: this thread records, and runs at its end, as if it captured nothing."""
    before = current.recorders, current.recorder, current.capture, current.pinned
    current.recorders, current.recorder, current.capture, current.pinned = {}, None, None, None
    try:
        yield
        for recorder in list(current.recorders.values()):
            recorder.flush("graph")
    finally:
        current.recorders, current.recorder, current.capture, current.pinned = before
