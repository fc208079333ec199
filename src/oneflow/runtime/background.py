"""Compilation of hot programs on a background thread, while they still run cold."""

from __future__ import annotations

import atexit
import logging
import queue
import threading
from collections.abc import Callable
from typing import NamedTuple

from oneflow.base import cluster
from oneflow.base.environment import THREAD_PREFIX
from oneflow.tuning.while_compiling import short_switch_interval

logger = logging.getLogger("oneflow.eager")


class Compilation(NamedTuple):
    """A program that waits to be compiled.

    Attributes:
        run: compiles it.
        priority: how much it matters now.
        done: set when it has been compiled, or will not be.
    """

    run: Callable[[], None]
    priority: Callable[[], float]
    done: threading.Event


class BackgroundCompiler:
    """A thread that compiles hot programs while they still run cold, the most urgent first.

    Processes of one job do not use it: replicas of a parameter must hold the same bits, so all
    ranks make an update hot in the same run, and no rank's compiler decides when that is.
    """

    def __init__(self) -> None:
        self._is_on = True
        self._waiting: list[Compilation] = []
        # One element for each that was submitted; False ends the thread.
        self._submitted: queue.SimpleQueue[bool] = queue.SimpleQueue()
        self._idle = threading.Event()
        self._idle.set()
        self._lock = threading.RLock()
        self._thread: threading.Thread | None = None

    @property
    def is_enabled(self) -> bool:
        """True if it is to be used."""
        return self._is_on and not cluster.is_multiprocess()

    @is_enabled.setter
    def is_enabled(self, is_on: bool) -> None:
        self._is_on = is_on

    @property
    def is_compiling(self) -> bool:
        """True if something is being compiled, or waits for it."""
        return not self._idle.is_set()

    def submit(
        self, run: Callable[[], None], priority: Callable[[], float] = lambda: 0.0
    ) -> threading.Event:
        """Run `run` soon; before others if its `priority` is greater by then.

        Returns:
            An event that is set when it has ended.
        """
        compilation = Compilation(run, priority, threading.Event())
        with self._lock:
            self._idle.clear()
            self._waiting.append(compilation)
            if self._thread is None:
                name = f"{THREAD_PREFIX.read()}oneflow-compiler"
                self._thread = threading.Thread(target=self._work, name=name, daemon=True)
                self._thread.start()
                atexit.register(self.close)
        self._submitted.put(True)
        return compilation.done

    def _work(self) -> None:
        while self._submitted.get():
            with short_switch_interval():
                while (compilation := self._next()) is not None:
                    _compile(compilation)

    def _next(self) -> Compilation | None:
        """The most urgent one, the oldest of several; None if nothing is left to do."""
        with self._lock:
            if not self._waiting:
                self._idle.set()
                return None
            highest = max(self._waiting, key=lambda compilation: compilation.priority())
            self._waiting.remove(highest)
            return highest

    def wait(self) -> None:
        """Block until all submitted programs have been compiled."""
        self._idle.wait()

    def close(self) -> None:
        """Drop queued work and let the running compilation end, so that the process can exit."""
        with self._lock:
            for compilation in self._waiting:
                compilation.done.set()
            self._waiting.clear()
        self._submitted.put(False)
        if self._thread is not None:
            self._thread.join()


def _compile(compilation: Compilation) -> None:
    try:
        compilation.run()
    except (
        Exception
    ) as error:  # the cold path goes on, and meets the same error if it is a real one
        logger.warning("a hot program keeps running op by op; compiling it failed: %s", error)
    finally:
        compilation.done.set()


COMPILER = BackgroundCompiler()
