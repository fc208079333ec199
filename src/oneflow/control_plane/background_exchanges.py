"""Exchanges by messages that go on while the program that started them does something else.

Those of one group run on a thread of the group, one after the other: their messages have the same
addresses, and are told apart by their order alone. Exchanges of other groups do not wait for them.
"""

from __future__ import annotations

import atexit
import os
import queue
import threading
import weakref
from collections.abc import Callable
from typing import Any

from oneflow.base.environment import THREAD_PREFIX
from oneflow.base.x64 import x64


class BackgroundExchange:
    """An exchange that was started.

    Args:
        run: exchanges, and returns the arrays of this process.
    """

    def __init__(self, run: Callable[[], Any]) -> None:
        self._run: Callable[[], Any] | None = run
        self._result: Any = None
        self._error: BaseException | None = None
        self._over = threading.Event()

    @property
    def is_over(self) -> bool:
        """Return whether `result` would return at once."""
        return self._over.is_set()

    @property
    def has_failed(self) -> bool:
        """Return whether it is over and `result` would raise."""
        return self._over.is_set() and self._error is not None

    def wait(self, seconds: float | None = None) -> None:
        """Wait until it is over, whether it has failed or not, or for so many seconds."""
        self._over.wait(seconds)

    def result(self) -> Any:
        """Wait until it is over, and return the arrays of this process.

        Raises:
            Exception: what the exchange has raised.
        """
        self._over.wait()
        if self._error is not None:
            raise self._error
        return self._result

    def run(self) -> None:
        """Exchange; is called once."""
        assert self._run is not None
        try:
            with x64():
                self._result = self._run()
        except BaseException as error:
            self._error = error
        finally:
            self._run = None  # which holds the operands
            self._over.set()


class _GroupThread:
    """The thread that runs the exchanges of a group.

    Attributes:
        has_failed: whether one of them has raised an exception.
    """

    def __init__(self) -> None:
        self.has_failed = False
        self._queue: queue.SimpleQueue[BackgroundExchange] = queue.SimpleQueue()
        # One that nobody else has is over: the queue and the thread have those that are not.
        self._last: weakref.ref[BackgroundExchange] | None = None
        name = f"{THREAD_PREFIX.read()}oneflow-exchanges"
        threading.Thread(target=self._work, name=name, daemon=True).start()

    def start(self, exchange: BackgroundExchange) -> None:
        """Run an exchange after those that were started before."""
        self._last = weakref.ref(exchange)
        self._queue.put(exchange)

    def wait(self, seconds: float | None = None) -> None:
        """Wait until nothing is left to do, or for so many seconds."""
        last = self._last() if self._last is not None else None
        if last is not None:
            last.wait(seconds)

    def _work(self) -> None:
        while True:
            exchange = self._queue.get()
            exchange.run()
            self.has_failed = self.has_failed or exchange.has_failed
            del exchange  # and with it its results


_threads: dict[tuple[int, ...], _GroupThread] = {}
_starting = threading.RLock()
# Seconds for which the end of a process waits where an exchange has failed: those of other groups
# may wait for a process that has failed, too.
_SECONDS_AFTER_FAILURE = 10.0


def start_exchange(ranks: tuple[int, ...], run: Callable[[], Any]) -> BackgroundExchange:
    """Start an exchange of a group, after those that it has started before.

    Args:
        ranks: the group.
        run: exchanges, and returns the arrays of this process.
    """
    with _starting:
        thread = _threads.get(ranks) or _start_thread(ranks)
    exchange = BackgroundExchange(run)
    thread.start(exchange)
    return exchange


def _start_thread(ranks: tuple[int, ...]) -> _GroupThread:
    if not _threads:
        # The other processes may need what this one sends, and they may end before it has all.
        atexit.register(_await_all)
        if hasattr(os, "register_at_fork"):  # Windows copies no processes
            # A copy has none of the threads.
            os.register_at_fork(after_in_child=_forget_all)
    return _threads.setdefault(ranks, _GroupThread())


def await_exchanges(ranks: tuple[int, ...]) -> None:
    """Wait until the exchanges that a group has started are over."""
    if ranks in _threads:
        _threads[ranks].wait()


def _await_all() -> None:
    has_failed = any(thread.has_failed for thread in _threads.values())
    for thread in _threads.values():
        thread.wait(_SECONDS_AFTER_FAILURE if has_failed else None)


def _forget_all() -> None:
    _threads.clear()
