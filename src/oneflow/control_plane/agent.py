"""The agent of a process: it reports to the coordinator and ends the process when told to."""

from __future__ import annotations

import atexit
import contextlib
import logging
import multiprocessing
import os
import select
import signal
import socket
import stat
import sys
import threading
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import jax

from oneflow.base import environment
from oneflow.base.group_ranks import name_of_group
from oneflow.base.location import PACKAGE
from oneflow.control_plane.activity import measure_activity
from oneflow.control_plane.admission import request_admission
from oneflow.control_plane.channel import Channel
from oneflow.control_plane.failure_report import FailureReport, write_report
from oneflow.control_plane.flight_recorder import progress_by_group
from oneflow.control_plane.job import Job
from oneflow.control_plane.root_cause import RootCause, is_connection_failure

_REPORT_INTERVAL = 0.5
_RETRY_SECONDS = 0.2
_SECONDS_TO_ANSWER = 10.0
_SECONDS_FOR_DIAGNOSIS = 6.0
_SECONDS_TO_FLUSH = 1.0
_SECONDS_TO_EXIT = 5.0
# The main thread is in these packages while it waits for XLA or for other processes.
_WAITING_PACKAGES = ("base", "compiler", "control_plane", "distributed", "runtime")
_RUNTIME = (
    str(Path(jax.__file__).parent),
    *(os.path.join(PACKAGE, package) for package in _WAITING_PACKAGES),
)


class Agent:
    """This process's connection to the coordinator, which it makes at once.

    Args:
        address: host and port of the coordinator.
        rank: the rank of this process.
        job: the identity of the job.
        timeout: seconds to try to connect.

    Raises:
        RuntimeError: there is no connection, the other end is not the coordinator of this job, or
            it rejects this process.
    """

    def __init__(self, address: tuple[str, int], rank: int, job: Job, timeout: float) -> None:
        self.rank = rank
        self._process = os.getpid()
        self._address = f"{address[0]}:{address[1]}"
        self._failed = threading.Event()
        self._is_root_cause = threading.Event()
        self._finished = threading.Event()
        self._shutdown = threading.Event()
        self._flush_request = threading.Event()
        self._flushed = threading.Event()
        self._messages: list[dict[str, Any]] = []
        self._barriers: dict[tuple[str, int], threading.Event] = {}
        # Barriers in which a thread waits for which the program waits.
        self._program_waits: set[tuple[str, int]] = set()
        self._channel = self._join(address, job, time.monotonic() + timeout)

    def _join(self, address: tuple[str, int], job: Job, deadline: float) -> Channel:
        """Return a connection that the coordinator has admitted; try again if it is overloaded."""
        identity = {
            "rank": self.rank,
            "world_size": job.world_size,
            "job": job.id,
            "process": self._process,
            "host": socket.gethostname(),
        }
        while True:
            self._channel = Channel(_connect(address, deadline - time.monotonic()))
            try:
                problem = request_admission(self._channel, self._recv, job.secret, identity)
                if not problem:
                    return self._channel
            except ValueError as error:
                problem = f"the coordinator of this job does not listen there: {error}"
            except OSError as error:
                problem = f"the connection was closed: {error}"
                problem *= time.monotonic() >= deadline
            self._channel.close()
            self._messages.clear()
            if problem:
                raise RuntimeError(
                    f"rank {self.rank} cannot join the job at {self._address}: {problem}"
                )
            time.sleep(_RETRY_SECONDS)

    def await_start(self, timeout: float) -> tuple[int, int]:
        """Wait until all processes have joined.

        Args:
            timeout: seconds to wait.

        Returns:
            The port of JAX's coordination service, and a random number; the same on all ranks.

        Raises:
            RuntimeError: the job cannot start.
        """
        try:
            message = self._recv(timeout)
        except (OSError, ValueError) as error:
            raise RuntimeError(
                f"rank 0 at {self._address} did not start the job: {error}"
            ) from None
        if "abort" in message:
            # Lets the coordinator tell the others, if it is in this process, before that exits.
            time.sleep(_REPORT_INTERVAL)
            raise RuntimeError(f"the job cannot start: {message['abort']}")
        return int(message["jax_port"]), int(message["seed"])

    def _recv(self, timeout: float = _SECONDS_TO_ANSWER) -> dict[str, Any]:
        """Return the next message of the coordinator.

        Raises:
            OSError: the coordinator has closed the connection.
            ValueError: nothing has arrived in time, or something else than a message.
        """
        deadline = time.monotonic() + timeout
        while not self._messages:
            remaining = deadline - time.monotonic()
            if remaining <= 0:
                raise ValueError(f"no answer within {timeout:.0f} seconds")
            try:
                self._messages += self._channel.recv(remaining)
            except EOFError as error:
                raise ConnectionResetError(str(error)) from None
        return self._messages.pop(0)

    # --- while the job runs

    def start(self) -> None:
        """Report to the coordinator from now on, follow it, and tell it how this process ends."""
        for target in (self._run, self._flush_on_request):
            threading.Thread(target=target, name="oneflow-agent", daemon=True).start()
        sys.excepthook = self._exception_hook(sys.excepthook)
        atexit.register(self._finish)

    def _run(self) -> None:
        last: dict[str, Any] | None = None
        launcher = _launcher_pipe()
        while True:
            if launcher is not None and select.select([launcher], [], [], 0)[0]:
                self._terminate(RootCause(self.rank, "the launcher has died"))
            try:
                self._messages += self._channel.recv(_REPORT_INTERVAL)
                while self._messages:
                    self._handle(self._messages.pop(0))
                if self._shutdown.is_set():
                    return
                if (progress := progress_by_group()) != last:
                    last = progress
                    self._channel.send(progress=progress)
            except (EOFError, ValueError, OSError):
                self._terminate(RootCause(0, "rank 0 exited unexpectedly"))

    def _handle(self, message: dict[str, Any]) -> None:
        if "abort" in message:
            self._terminate(RootCause(message["root_cause"], message["abort"]))
        if "sample" in message:
            self._channel.send(activity=measure_activity(), in_runtime=self._is_in_runtime())
        if "release" in message:
            group, count = message["release"]
            self._barriers[group, count].set()
        if "shutdown" in message:
            self._shutdown.set()

    def barrier(self, ranks: tuple[int, ...], number: int, in_background: bool = False) -> None:
        """Wait until all of these ranks have reached a collective operation that is recorded.

        Communication libraries give up after some seconds when the processes that they connect do
        not arrive together.

        Args:
            ranks: the group.
            number: the number of the operation, see `record_collective`.
            in_background: the program goes on meanwhile, so that it may yet do what others need.
        """
        key = name_of_group(ranks), number
        # There is one already if the wait was interrupted; the others may have come since.
        event = self._barriers.setdefault(key, threading.Event())
        if not in_background:
            self._program_waits.add(key)
        try:
            with contextlib.suppress(OSError):
                self._channel.send(progress=progress_by_group(), barrier=key)
            event.wait()
        finally:
            self._program_waits.discard(key)
        del self._barriers[key]

    def _is_in_runtime(self) -> bool:
        """Return whether the main thread waits for XLA or other processes, not in the script."""
        if self._program_waits:
            return True
        frame = sys._current_frames().get(threading.main_thread().ident or 0)
        while frame is not None and frame.f_code.co_filename == threading.__file__:
            frame = frame.f_back  # who waits there?
        return frame is not None and frame.f_code.co_filename.startswith(_RUNTIME)

    def _finish(self) -> None:
        """Exit in order: wait until all other processes have finished as well."""
        if self._failed.is_set() or os.getpid() != self._process:
            return
        self._finished.set()
        with contextlib.suppress(OSError):
            self._channel.send(progress=progress_by_group(), finished=True)
        self._shutdown.wait()
        if self._is_root_cause.is_set():
            # Only Python knows the exit code, so it goes on to exit by itself; what else is
            # registered would wait for the other processes.
            atexit._clear()
            _exit_within(_SECONDS_TO_EXIT)

    def _exception_hook(self, report: Callable[..., Any]) -> Callable[..., None]:
        """Return an exception hook that calls `report`, tells the coordinator, and exits.

        An exit in order would wait for the other processes, and those may wait for this one.
        """

        def hook(kind: type[BaseException], error: BaseException, trace: Any) -> None:
            if os.getpid() != self._process:
                # A copy of this process, made by `os.fork`, is no rank.
                return report(kind, error, trace)
            if self._shutdown.is_set():
                return None  # All have finished, and what a thread could not send is not missed.
            failure = "".join(traceback.format_exception_only(kind, error)).strip()
            # If another process is the root cause, this one exits without printing its traceback.
            wait_first = is_connection_failure(failure)
            try:
                if not wait_first:
                    report(kind, error, trace)
                self._fail(failure)
                if wait_first:
                    report(kind, error, trace)
            finally:
                self._exit(130 if issubclass(kind, KeyboardInterrupt) else 1)

        return hook

    def _fail(self, failure: str) -> None:
        """Tell the coordinator that this process has failed, and wait for its diagnosis.

        If the root cause is another process, this does not return.
        """
        self._failed.set()
        self._report(
            RootCause(self.rank, f"rank {self.rank} failed: {failure}"), from_coordinator=False
        )
        with contextlib.suppress(OSError):
            self._channel.send(progress=progress_by_group(), failure=failure)
        self._is_root_cause.wait(_SECONDS_FOR_DIAGNOSIS)

    def _report(self, root_cause: RootCause, from_coordinator: bool) -> bool:
        """Write a report for the launcher, which shows it; return False if there is no launcher."""
        folder = environment.FAILURE_FOLDER.read()
        if not folder:
            return False
        rank, reason = root_cause.rank, root_cause.reason
        return write_report(
            folder, FailureReport(self.rank, rank, reason, from_coordinator, time.time())
        )

    def _terminate(self, root_cause: RootCause) -> None:
        """End this process because the job has failed."""
        is_written = self._report(root_cause, from_coordinator=True)
        is_root_cause = root_cause.rank == self.rank
        if is_root_cause and self._failed.is_set():
            # The main thread is about to exit, and prints why.
            self._is_root_cause.set()
            time.sleep(_SECONDS_FOR_DIAGNOSIS)
        text = "" if is_written else f"oneflow: {root_cause.reason}; rank {self.rank} exits\n"
        if is_root_cause and not self._finished.is_set():
            text += _format_main_stack()
        with contextlib.suppress(OSError):
            os.write(2, text.encode())
        if is_root_cause and self._finished.is_set():
            # It finished before the others, and goes on to exit.
            self._is_root_cause.set()
            self._shutdown.set()
            time.sleep(_SECONDS_TO_EXIT)
        self._exit(1)

    def _exit(self, code: int) -> NoReturn:
        """Exit at once, whatever other threads of this process wait for."""
        for child in multiprocessing.active_children():
            child.kill()
        self._flush_request.set()
        self._flushed.wait(_SECONDS_TO_FLUSH)
        os._exit(code)

    def _flush_on_request(self) -> None:
        """Flush the output streams on request; another thread may hold their lock forever.

        The thread runs from the start: while Python shuts down, none can be started any more.
        """
        self._flush_request.wait()
        with contextlib.suppress(Exception):
            logging.shutdown()
            sys.stdout.flush()
            sys.stderr.flush()
        self._flushed.set()


def _exit_within(seconds: float) -> None:
    """Let the kernel end this process if Python does not exit in time."""
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_REAL, seconds)


def _launcher_pipe() -> int | None:
    """Return the file descriptor that reaches its end when the launcher dies; None without one."""
    text = environment.LAUNCHER_PIPE.read()
    with contextlib.suppress(OSError, ValueError):
        if text and stat.S_ISFIFO(os.fstat(int(text)).st_mode):
            return int(text)
    return None


def _connect(address: tuple[str, int], timeout: float) -> socket.socket:
    deadline = time.monotonic() + timeout
    while True:
        try:
            return socket.create_connection(address, timeout=5.0)
        except OSError as error:
            if time.monotonic() > deadline:
                raise RuntimeError(
                    f"could not connect to rank 0 at {address[0]}:{address[1]} within "
                    f"{timeout:.0f} seconds ({error}); check that {environment.MASTER_ADDR.name} "
                    f"and {environment.MASTER_PORT.name} are right and that rank 0 is running"
                ) from None
        time.sleep(0.02)


def _format_main_stack() -> str:
    """Return the stack of the main thread as text: it is where the other processes are blocked."""
    frame = sys._current_frames().get(threading.main_thread().ident or 0)
    if frame is None:
        return ""
    stack = traceback.extract_stack(frame)
    # Frames within packages say little; the user's own lines show where it is.
    user_frames = [entry for entry in stack if not _is_in_packages(entry.filename)]
    lines = "".join(traceback.format_list(user_frames or stack))
    return f"Stack of the main thread (most recent call last):\n{lines}"


def _is_in_packages(file: str) -> bool:
    return file.startswith(PACKAGE) or f"{os.sep}site-packages{os.sep}" in file
