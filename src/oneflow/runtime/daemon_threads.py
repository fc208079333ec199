"""The end of daemon threads that compute, before the interpreter ends.

Python ends a daemon thread where it next asks for the interpreter. Within XLA's C++ that aborts the
process: the thread is unwound through functions that let no exception out. So each such thread is
ended before, by `SystemExit`, which it does not report.
"""

from __future__ import annotations

import contextlib
import ctypes
import sys
import threading
import time
from collections.abc import Iterator
from typing import Any

from oneflow.base.tensor_threads import threads_with_tensors

_SECONDS_BETWEEN_LOOKS = 0.01
# A thread that could run does so meanwhile; another one waits for something. They take longer on a
# machine that is busy.
_LOOKS_BEFORE_IT_RUNS = 20


def end_daemon_threads(seconds: float) -> None:
    """End the daemon threads that use tensors.

    Those that wait for anything but XLA are left alone; they never go on.

    Args:
        seconds: how long a program is waited for.
    """
    own = threading.get_ident()
    threads = [thread for thread in threads_with_tensors() if thread.daemon and thread.ident != own]
    limit, looks = time.monotonic() + seconds, 0
    with _without_reports():
        while threads and time.monotonic() < limit:
            for thread in threads:
                _raise_exit(thread)
            time.sleep(_SECONDS_BETWEEN_LOOKS)
            looks += 1
            threads = [
                thread
                for thread in threads
                if thread.is_alive() and (looks < _LOOKS_BEFORE_IT_RUNS or _may_be_in_xla(thread))
            ]


def _raise_exit(thread: threading.Thread) -> None:
    ctypes.pythonapi.PyThreadState_SetAsyncExc(
        ctypes.c_ulong(thread.ident or 0), ctypes.py_object(SystemExit)
    )


def _may_be_in_xla(thread: threading.Thread) -> bool:
    """True if the function that a thread is in belongs to JAX, or calls it."""
    frame = sys._current_frames().get(thread.ident or 0)
    if frame is None:  # it is about to end
        return True
    names = frame.f_globals
    return "jax" in names or str(names.get("__name__")).partition(".")[0] in ("jax", "jaxlib")


@contextlib.contextmanager
def _without_reports() -> Iterator[None]:
    """Do not report a thread's end within a finalizer."""
    report = sys.unraisablehook

    def report_others(problem: Any) -> None:
        if problem.exc_type is not SystemExit:
            report(problem)

    sys.unraisablehook = report_others
    try:
        yield
    finally:
        sys.unraisablehook = report
