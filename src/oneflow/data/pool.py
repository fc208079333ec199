"""The worker processes of one loader, seen from the parent."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import pickle
import signal
import sys
import threading
import time
import types
import weakref
from collections.abc import Iterator
from multiprocessing import connection as channels
from multiprocessing.context import BaseContext
from typing import Any

from oneflow.data import messages, worker

_SECONDS_TO_EXIT = 5.0
_main_lock = threading.Lock()


def context_for(given: str | BaseContext | None) -> Any:
    """The way to start processes: never by copying this one, whose XLA threads a copy would lack.

    Raises:
        ValueError: a context that copies the process.
    """
    if given is None:
        methods = multiprocessing.get_all_start_methods()
        given = "forkserver" if "forkserver" in methods else "spawn"
    context = multiprocessing.get_context(given) if isinstance(given, str) else given
    if context.get_start_method() == "fork":
        raise ValueError(
            "`multiprocessing_context` must not be 'fork': XLA's threads do not exist in a "
            "forked process; "
            "use 'forkserver' or 'spawn'"
        )
    if context.get_start_method() == "forkserver":
        # The server imports this package once; workers then start in milliseconds.
        context.set_forkserver_preload(["oneflow.data.worker"])
    return context


class WorkerPool:
    """Worker processes and their connections.

    Args:
        setup: what every worker gets.
        context: how to start processes.
        timeout: seconds to wait for a batch, 0 forever; workers start without a limit.

    Attributes:
        epoch: number of the current epoch; answers that belong to an earlier one are thrown away.
    """

    def __init__(self, setup: worker.Setup, context: Any, timeout: float) -> None:
        self.epoch = 0
        self._timeout = timeout or None
        self._processes: list[Any] = []
        self._connections: list[channels.Connection] = []
        self._writers: list[messages.Writer] = []
        self._stop = weakref.finalize(self, _stop, os.getpid(), self._processes, self._writers)
        content = _pickled(setup)
        hidden = contextlib.nullcontext() if _needs_main_module(content) else _without_main_module()
        try:
            with hidden:
                for number in range(setup.num_workers):
                    self._start(context, content, number)
            for number in range(setup.num_workers):
                self._wait_until_ready(number)
        except BaseException:
            self.close()
            raise

    def _start(self, context: Any, content: bytes, number: int) -> None:
        parent_end, child_end = context.Pipe()
        process = context.Process(
            target=worker.work,
            args=(child_end, content, number, dict(os.environ)),
            name=f"oneflow-loader-{number}",
            daemon=True,
        )
        process.start()
        child_end.close()
        self._processes.append(process)
        self._connections.append(parent_end)
        self._writers.append(messages.Writer(parent_end))

    def _wait_until_ready(self, number: int) -> None:
        """Wait until a worker has unpacked its data set."""
        try:
            problem = self.recv(number, no_timeout=True)
        except RuntimeError as error:
            raise RuntimeError(
                f"{error} before it was ready. A script that uses worker processes must start "
                "its work under "
                "`if __name__ == '__main__':`, because workers import it"
            ) from None
        if isinstance(problem, worker.Failure):
            raise problem.exception(
                f"DataLoader worker process {number} while it unpacked the data set; what a data "
                "set is made of must be "
                "importable there, so define it in a module, or use num_workers=0"
            )

    def begin(self, seeds: tuple[int, int]) -> int:
        """Begin an epoch in all workers; returns its number."""
        self.epoch += 1
        for number in range(len(self._processes)):
            self.send(number, worker.Epoch(self.epoch, seeds))
        return self.epoch

    def answer(self, number: int) -> Any:
        """Return the result of the next task of a worker in this epoch."""
        while True:
            answer = self.recv(number)
            if answer.epoch == self.epoch:
                return answer.content

    def send(self, number: int, request: Any) -> None:
        """Send a request to a worker, without waiting until it takes it.

        The worker may be waiting itself, for its answers to be taken.
        """
        self._writers[number].put(messages.Message.copy(request))

    def recv(self, number: int, no_timeout: bool = False) -> Any:
        """The next answer of a worker.

        Raises:
            RuntimeError: the worker died, or the time is up.
        """
        channel, process = self._connections[number], self._processes[number]
        timeout = None if no_timeout else self._timeout
        ready = channels.wait([channel, process.sentinel], timeout)
        if not ready:
            raise RuntimeError(f"DataLoader timed out after {timeout} seconds")
        if channel in ready or channel.poll():
            try:
                return messages.recv(channel)
            except (EOFError, ConnectionResetError):
                pass
        problem = self._writers[number].error
        if problem is not None:
            raise RuntimeError(
                f"a request to DataLoader worker {number} could not be sent: {problem!r}"
            ) from problem
        process.join(_SECONDS_TO_EXIT)
        raise RuntimeError(
            f"DataLoader worker {number} (pid {process.pid}) exited unexpectedly "
            f"{_cause(process.exitcode)}"
        )

    @property
    def closed(self) -> bool:
        """True when the workers have been told to end."""
        return not self._stop.alive

    def close(self) -> None:
        """Let all workers end; a second call does nothing."""
        self._stop()


def _stop(owner: int, processes: list[Any], closing: list[messages.Writer]) -> None:
    """End worker processes: they notice that their connections end; those that do not are killed.

    Does nothing in a forked copy of the process that owns them.
    """
    if os.getpid() != owner:
        return
    for writer in closing:
        writer.close()
    deadline = time.monotonic() + _SECONDS_TO_EXIT
    for process in processes:
        process.join(max(0.0, deadline - time.monotonic()))
    remaining = [process for process in processes if process.is_alive()]
    for process in remaining:
        process.kill()
    for process in remaining:
        process.join()


def _cause(exit_code: int | None) -> str:
    if exit_code is None or exit_code >= 0:
        return f"with exit code {exit_code}"
    name = signal.Signals(-exit_code).name
    hint = "; the system may have run out of memory" if name == "SIGKILL" else ""
    return f"with exit code {exit_code}, killed by {name}{hint}"


def _pickled(setup: worker.Setup) -> bytes:
    try:
        return pickle.dumps(setup)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise RuntimeError(
            f"the data set cannot be sent to worker processes: {error}. Define its class and "
            "functions at the top "
            "level of a module (no lambdas), or use num_workers=0"
        ) from error


def _needs_main_module(content: bytes) -> bool:
    """Return whether unpacking needs something that the user's script defines."""
    return b"__main__" in content


@contextlib.contextmanager
def _without_main_module() -> Iterator[None]:
    """Keep new processes from importing the user's script, as they otherwise would.

    So a script without `if __name__ == '__main__':` works as long as its data set comes from a
    module.
    """
    with _main_lock:
        main = sys.modules["__main__"]
        sys.modules["__main__"] = types.ModuleType("__main__")
        try:
            yield
        finally:
            sys.modules["__main__"] = main
