"""XLA's profiler, of which there is one per process."""

from __future__ import annotations

from pathlib import Path

import jax


class _Trace:
    """The trace that is being made.

    Attributes:
        folder: where it goes; None if there is none.
    """

    folder: Path | None = None


def start(folder: Path) -> None:
    """Start a trace.

    Raises:
        RuntimeError: one is being made already.
    """
    if _Trace.folder is not None:
        raise RuntimeError(f"a trace is being made already, in {_Trace.folder}; stop it first")
    jax.profiler.start_trace(str(folder), create_perfetto_trace=True)
    _Trace.folder = folder


def stop() -> Path:
    """End the trace and return its file.

    Raises:
        RuntimeError: none is being made.
    """
    folder, _Trace.folder = _Trace.folder, None
    if folder is None:
        raise RuntimeError("no trace is being made; start one first")
    jax.profiler.stop_trace()
    files = folder.glob("plugins/profile/*/perfetto_trace.json.gz")
    return max(files, key=lambda path: path.stat().st_mtime_ns)
