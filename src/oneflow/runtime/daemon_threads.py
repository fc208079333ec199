"""The end of daemon threads that compute, before the interpreter ends.

Before version 3.14 Python ends a daemon thread where it next asks for the interpreter. Within XLA's
C++ that aborts the process: the thread is unwound through functions that let no exception out. So
threads that compute again and again are ended before, by `SystemExit`, which they do not report.
Threads that serve a queue are left alone: a handler that runs later may wait until they have done
    so.
"""

from __future__ import annotations

import contextlib
import ctypes
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from typing import Any

from oneflow.base.tensor_threads import threads_with_tensors

_POLL_INTERVAL = 0.005
_POLL_LIMIT = 50
# A thread that computes again and again does so in this share of the polls.
_POLL_SHARE = 0.05
_SECONDS_TO_END = 10.0
_COMPUTING = frozenset({"oneflow", "flowvision", "jax", "jaxlib"})
_WAITING = frozenset(
    {"asyncio", "concurrent", "multiprocessing", "queue", "selectors", "socket", "threading"}
)


def end_daemon_threads() -> None:
    """End the daemon threads that compute again and again; takes ten seconds at most."""
    running = _running_threads()
    limit, idle_count = time.monotonic() + _SECONDS_TO_END, 0
    with _without_reports():
        while any(map(threading.Thread.is_alive, running)) and time.monotonic() < limit:
            seen = [thread for thread in running if _is_running(_packages(thread))]
            for thread in seen:
                _raise_exit(thread)
            idle_count = 0 if seen else idle_count + 1
            if idle_count == _POLL_LIMIT:
                return
            time.sleep(_POLL_INTERVAL)


def _running_threads() -> list[threading.Thread]:
    """Return the daemon threads that compute in some of many moments, and wait in none."""
    own = threading.get_ident()
    threads = [thread for thread in threads_with_tensors() if thread.daemon and thread.ident != own]
    counts: Counter[threading.Thread] = Counter()
    for _ in range(_POLL_LIMIT):
        packages = {thread: _packages(thread) for thread in threads}
        threads = [thread for thread in threads if packages[thread][0] not in _WAITING]
        if not threads:
            break
        counts.update(thread for thread in threads if _is_running(packages[thread]))
        time.sleep(_POLL_INTERVAL)
    return [thread for thread in threads if counts[thread] >= _POLL_LIMIT * _POLL_SHARE]


def _packages(thread: threading.Thread) -> list[str]:
    """Return the packages of the functions that a thread is in, the innermost first."""
    frame = sys._current_frames().get(thread.ident or 0)
    packages = []
    while frame is not None:
        packages.append(str(frame.f_globals.get("__name__")).partition(".")[0])
        frame = frame.f_back
    return packages or [""]


def _is_running(packages: list[str]) -> bool:
    return packages[0] not in _WAITING and not _COMPUTING.isdisjoint(packages)


def _raise_exit(thread: threading.Thread) -> None:
    ctypes.pythonapi.PyThreadState_SetAsyncExc(
        ctypes.c_ulong(thread.ident or 0), ctypes.py_object(SystemExit)
    )


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
