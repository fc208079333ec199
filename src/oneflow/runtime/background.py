"""Compilation of hot programs on a background thread, while they still run cold."""

from __future__ import annotations

import atexit
import logging
import queue
import threading
from collections.abc import Callable

from oneflow.base.environment import THREAD_PREFIX

logger = logging.getLogger("oneflow.eager")


class BackgroundCompiler:
    """A thread that compiles hot programs while they still run cold."""

    def __init__(self) -> None:
        self._jobs: queue.SimpleQueue = queue.SimpleQueue()
        self._idle = threading.Event()
        self._idle.set()
        self._waiting = 0
        self._lock = threading.RLock()
        self._thread: threading.Thread | None = None

    def submit(self, job: Callable[[], None]) -> None:
        """Run `job` soon, after those submitted before it."""
        with self._lock:
            self._waiting += 1
            self._idle.clear()
            if self._thread is None:
                name = f"{THREAD_PREFIX.read()}oneflow-compiler"
                self._thread = threading.Thread(target=self._work, name=name, daemon=True)
                self._thread.start()
                atexit.register(self.close)
        self._jobs.put(job)

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            try:
                job()
            except (
                Exception
            ) as error:  # the cold path goes on, and meets the same error if it is a real one
                logger.warning(
                    "a hot program keeps running op by op; compiling it failed: %s", error
                )
            with self._lock:
                self._waiting -= 1
                if not self._waiting:
                    self._idle.set()

    def wait(self) -> None:
        """Block until all submitted programs have been compiled."""
        self._idle.wait()

    def close(self) -> None:
        """Drop queued work and let the running compilation end, so that the process can exit."""
        while not self._jobs.empty():
            self._jobs.get_nowait()
        self._jobs.put(None)
        if self._thread is not None:
            self._thread.join()


COMPILER = BackgroundCompiler()
