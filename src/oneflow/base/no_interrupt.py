"""Running JAX's Python code, which no signal handler may interrupt.

Signal handlers run on the main thread, between any two steps of Python code, and may raise: Ctrl-C
does. JAX's Python code cannot be interrupted so: what it was tracing goes on being traced, in
everything that follows, and results of a program that has started are lost.
"""

from __future__ import annotations

import queue
import sys
import threading
from collections.abc import Callable
from typing import Any, TypeVar

from oneflow.base.environment import THREAD_PREFIX
from oneflow.base.planning import is_planning
from oneflow.base.x64 import x64

T = TypeVar("T")


class _Task:
    """A call that the helper thread makes for the main thread, which waits."""

    def __init__(self, run: Callable[[], Any]) -> None:
        self._run = run
        self._claim = threading.Lock()
        self._over = threading.Lock()
        self._over.acquire()
        self.is_over = False
        self.result: Any = None
        self.error: BaseException | None = None

    def run(self) -> None:
        """Run it, unless it was cancelled."""
        if not self._claim.acquire(blocking=False):
            return
        try:
            with x64():
                self.result = self._run()
        except BaseException as error:
            self.error = error
        finally:
            self.is_over = True
            self._over.release()

    def cancel(self) -> bool:
        """Cancel the task; return whether that came before it began."""
        return self._claim.acquire(blocking=False)

    def wait(self) -> None:
        """Return when it is over."""
        while not self.is_over:
            self._over.acquire()


_tasks: queue.SimpleQueue[_Task] = queue.SimpleQueue()
_helper: threading.Thread | None = None


def run_without_interrupt(run: Callable[[], T]) -> T:
    """Run a function on a thread on which no signal handler runs, within `x64`; wait for it.

    Errors that handlers raise meanwhile are raised when it is over. The function must not depend on
    state of the calling thread; planning is such state, so while planning it runs on this thread,
    as it does while Python ends, when no other thread runs and no handler either.
    """
    global _helper
    on_main_thread = threading.current_thread() is threading.main_thread()
    if not on_main_thread or is_planning() or sys.is_finalizing():
        with x64():
            return run()
    task = _Task(run)
    interrupt: BaseException | None = None
    try:
        if _helper is None or not _helper.is_alive():
            name = f"{THREAD_PREFIX.read()}oneflow-launcher"
            _helper = threading.Thread(target=_work, name=name, daemon=True)
            _helper.start()
        _tasks.put(task)
        task.wait()
    except BaseException as error:
        if task.cancel():
            raise
        interrupt = error
    while not task.is_over:  # interrupted while it ran
        try:
            task.wait()
        except BaseException as error:
            interrupt = error
    if interrupt is not None:
        raise interrupt
    if task.error is not None:
        raise task.error
    return task.result


def compiled_without_interrupt(function: Callable[..., T]) -> Callable[..., T]:
    """Return a function that JAX has jitted so that no signal handler runs while it is compiled.

    Args:
        function: a function of arrays; JAX traces and compiles it in its first call for shapes and
            dtypes.
    """
    keys: set[tuple] = set()

    def call(*arrays: Any) -> T:
        key = tuple([(array.shape, array.dtype) for array in arrays])
        if key in keys:
            with x64():
                return function(*arrays)
        result = run_without_interrupt(lambda: function(*arrays))
        keys.add(key)
        return result

    return call


def _work() -> None:
    while True:
        _tasks.get().run()
