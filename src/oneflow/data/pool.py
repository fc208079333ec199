"""The worker processes of one loader, seen from the parent."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import sys
import threading
import time
import types
import weakref
from collections.abc import Callable, Iterator
from multiprocessing import connection as channels, forkserver
from multiprocessing.context import BaseContext
from typing import Any

from oneflow.base.device import are_devices_in_use
from oneflow.data import messages, sending, worker
from oneflow.data.pipe_graph import PipeEpoch

# Seconds for which workers that are to end are waited for; by the name that it has in PyTorch.
MP_STATUS_CHECK_INTERVAL = 5.0
_NO_FORK = (
    "`multiprocessing_context='fork'` copies this process, which has used tensors, and XLA's "
    "threads do not exist in a copy. Leave it out: what plain pickle refuses is then sent by "
    "value. Or begin to iterate before anything makes a tensor, and keep the workers by "
    "`persistent_workers=True`"
)
_UNPICKLE = (
    "every DataLoader worker process while it unpacked the data set; what a data set is made of "
    "must be importable there, or come from the script itself"
)
# Classes whose own way of being unpickled has failed in a worker.
_failed_types: weakref.WeakSet[type] = weakref.WeakSet()
_main_lock = threading.Lock()


def context_for(method: str | BaseContext | None) -> Any:
    """Return the context of a start method; the default method does not copy this process."""
    if method is None:
        methods = multiprocessing.get_all_start_methods()
        method = "forkserver" if "forkserver" in methods else "spawn"
    context = multiprocessing.get_context(method) if isinstance(method, str) else method
    if context.get_start_method() == "forkserver":
        # The server imports this package once, while this process goes on; workers then start in
        # milliseconds.
        context.set_forkserver_preload(["oneflow.data.worker"])
        forkserver.ensure_running()
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
        try:
            if context.get_start_method() == "fork":
                self._copy(context, setup)
            else:
                self._send(context, setup)
        except BaseException:
            self.close()
            raise

    def _copy(self, context: Any, setup: worker.Setup) -> None:
        """Start workers that are copies of this process."""
        if are_devices_in_use():
            raise RuntimeError(_NO_FORK)
        for number in range(setup.num_workers):
            self._start(context, worker.work_in_copy, (self._connections, setup, number))

    def _send(self, context: Any, setup: worker.Setup) -> None:
        """Start workers, and send them what they need in a form that they can unpack."""
        packed = sending.pack(setup, set(_failed_types))
        environment = dict(os.environ)
        hidden = contextlib.nullcontext() if packed.imports_script else _without_main_module()
        with hidden:
            for number in range(setup.num_workers):
                self._start(context, worker.work, (number, environment))
        while (problem := self._unpacked(packed)) is not None:
            classes = (packed.find_class(*name) for name in problem.failing_classes)
            failing = {cls for cls in classes if cls is not None} - set(_failed_types)
            if not failing:
                raise problem.exception(_UNPICKLE)
            _failed_types.update(failing)
            packed = sending.pack(setup, set(_failed_types))

    def _start(self, context: Any, work: Callable[..., None], arguments: tuple[Any, ...]) -> None:
        parent_end, child_end = context.Pipe()
        name = f"oneflow-loader-{len(self._processes)}"
        # A copy of this process closes all ends of the parent, this one too.
        self._connections.append(parent_end)
        process = context.Process(target=work, args=(child_end, *arguments), name=name, daemon=True)
        process.start()
        child_end.close()
        self._processes.append(process)
        self._writers.append(messages.Writer(parent_end))

    def _unpacked(self, packed: sending.WorkerMessage) -> worker.WorkerFailure | None:
        """Send all workers what they need, and return what went wrong when it was unpacked."""
        with packed.message.in_one_file():
            for writer in self._writers:
                writer.put(packed.message)
            errors = [self._first_answer(number) for number in range(len(self._processes))]
        return next(filter(None, errors), None)

    def _first_answer(self, number: int) -> worker.WorkerFailure | None:
        try:
            return self.recv(number, no_timeout=True)
        except RuntimeError as error:
            raise RuntimeError(
                f"{error} before it was ready. It imports the script, because the script tests "
                "`__name__`; so all of the script's work must be under "
                "`if __name__ == '__main__':`"
            ) from None

    def begin(self, seeds: tuple[int, int], pipes: PipeEpoch | None = None) -> int:
        """Begin an epoch in all workers; returns its number."""
        self.epoch += 1
        for number in range(len(self._processes)):
            self.send(number, worker.Epoch(self.epoch, seeds, pipes))
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
        self._writers[number].put(messages.DataMessage.copy(request))

    def recv(self, number: int, no_timeout: bool = False) -> Any:
        """The next answer of a worker.

        Raises:
            RuntimeError: the worker died, or the time is up.
        """
        channel, process = self._connections[number], self._processes[number]
        timeout = None if no_timeout else self._timeout
        ready = channels.wait([channel, process.sentinel], timeout)
        if not ready:
            raise RuntimeError(
                f"DataLoader timed out after {timeout} seconds; give a larger `timeout`, or 0 for "
                "none"
            )
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
        process.join(MP_STATUS_CHECK_INTERVAL)
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
    """End worker processes by closing their connections; kill workers that do not end.

    Does nothing in a forked copy of the process that owns them.
    """
    if os.getpid() != owner:
        return
    for writer in closing:
        writer.close()
    deadline = time.monotonic() + MP_STATUS_CHECK_INTERVAL
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


@contextlib.contextmanager
def _without_main_module() -> Iterator[None]:
    """Keep new processes from importing the user's script, as they otherwise would."""
    with _main_lock:
        main = sys.modules["__main__"]
        sys.modules["__main__"] = types.ModuleType("__main__")
        try:
            yield
        finally:
            sys.modules["__main__"] = main
