"""XLA's own trace of this process: the work of its threads and devices, kernel by kernel."""

from __future__ import annotations

import os
from pathlib import Path

from oneflow.base.environment import LOG_DIR
from oneflow.runtime import xla_trace
from oneflow.runtime.eager import flush_all


def profiler_start(folder: str | os.PathLike[str] | None = None) -> None:
    """Start XLA's trace of this process.

    Args:
        folder: where it goes; by default `xla_trace` in `$ONEFLOW_LOG_DIR`, or in this folder.

    Raises:
        RuntimeError: one is being made already.

    Example:
        >>> import oneflow as flow
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     flow.profiler.profiler_start(folder)
        ...     total = flow.ones(3).sum().item()
        ...     path = flow.profiler.profiler_stop()
    """
    flush_all("sync")
    xla_trace.start(Path(folder) if folder is not None else Path(LOG_DIR.read()) / "xla_trace")


def profiler_stop() -> Path:
    """End XLA's trace and return its file, which opens in Perfetto (https://ui.perfetto.dev).

    Raises:
        RuntimeError: none is being made.

    Example:
        >>> import oneflow as flow
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     flow.profiler.profiler_start(folder)
        ...     total = flow.ones(3).sum().item()
        ...     print(flow.profiler.profiler_stop().exists())
        True
    """
    flush_all("sync")
    return xla_trace.stop()
