"""The side of each process: it reports to the hub, and ends when the hub says so."""

from __future__ import annotations

import atexit
import contextlib
import dataclasses
import json
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
from oneflow.base.location import PACKAGE
from oneflow.control_plane.activity import activity
from oneflow.control_plane.admission import introduce
from oneflow.control_plane.channel import Channel
from oneflow.control_plane.flight_recorder import operations_started, whole_record
from oneflow.control_plane.job import Job
from oneflow.control_plane.root_cause import Word, blames_others

_SECONDS_BETWEEN_REPORTS = 0.5
_SECONDS_BETWEEN_TRIES = 0.2
_SECONDS_TO_ANSWER = 10.0
_SECONDS_FOR_A_VERDICT = 6.0
_SECONDS_TO_FLUSH = 1.0
_SECONDS_TO_EXIT = 5.0
# Where the main thread is while it waits for XLA or for other processes.
_WAITING_ROOMS = ("base", "compiler", "control_plane", "distributed", "runtime")
_RUNTIME = (
    str(Path(jax.__file__).parent),
    *(os.path.join(PACKAGE, room) for room in _WAITING_ROOMS),
)


class Member:
    """This process's connection with the hub.

    Args:
        address: host and port of the hub.
        rank: number of this process.
        job: what the launcher calls the job, and its secret.
        timeout: seconds to try.

    Raises:
        RuntimeError: nobody answers there, or somebody else does, or does not want this process.
    """

    def __init__(self, address: tuple[str, int], rank: int, job: Job, timeout: float) -> None:
        self.rank = rank
        self._process = os.getpid()
        self._where = f"{address[0]}:{address[1]}"
        self._failed = threading.Event()
        self._is_cause = threading.Event()
        self._leaving = threading.Event()
        self._may_leave = threading.Event()
        self._must_flush = threading.Event()
        self._flushed = threading.Event()
        self._inbox: list[dict[str, Any]] = []
        self._meetings: dict[tuple[str, int], threading.Event] = {}
        self._channel = self._join(address, job, time.monotonic() + timeout)

    def _join(self, address: tuple[str, int], job: Job, deadline: float) -> Channel:
        """A connection with the hub; tries again if that has no time for it."""
        content = {
            "rank": self.rank,
            "world_size": job.world_size,
            "job": job.name,
            "process": self._process,
            "host": socket.gethostname(),
        }
        while True:
            self._channel = Channel(_connect(address, deadline - time.monotonic()))
            try:
                problem = introduce(self._channel, self._hear, job.secret, content)
                if not problem:
                    return self._channel
            except ValueError as error:
                problem = f"what answers is not this job of OneFlow: {error}"
            except OSError as error:
                problem = "" if time.monotonic() < deadline else f"it ended the connection: {error}"
            self._channel.close()
            self._inbox.clear()
            if problem:
                raise RuntimeError(f"rank {self.rank} cannot join at {self._where}: {problem}")
            time.sleep(_SECONDS_BETWEEN_TRIES)

    def await_start(self, timeout: float) -> tuple[int, int]:
        """Wait until all processes are there.

        Returns:
            The port of JAX's own service, and a random number, on all processes the same.

        Raises:
            RuntimeError: the job cannot start.
        """
        answer = self._await_message(timeout)
        if "verdict" in answer:
            # Lets the hub tell the others, if it is in this process, before the process ends.
            time.sleep(_SECONDS_BETWEEN_REPORTS)
            raise RuntimeError(f"the processes cannot train together: {answer['verdict']}")
        return int(answer["coordinator"]), int(answer["seed"])

    def _await_message(self, timeout: float) -> dict[str, Any]:
        try:
            return self._hear(timeout)
        except (OSError, ValueError) as error:
            raise RuntimeError(
                f"rank 0 or what else listens at {self._where} broke the connection: {error}"
            ) from None

    def _hear(self, timeout: float = _SECONDS_TO_ANSWER) -> dict[str, Any]:
        """The next object that comes.

        Raises:
            OSError: the other end has gone.
            ValueError: nothing comes, or not what the hub sends.
        """
        deadline = time.monotonic() + timeout
        while not self._inbox:
            left = deadline - time.monotonic()
            if left <= 0:
                raise ValueError(f"no answer within {timeout:.0f} seconds")
            try:
                self._inbox += self._channel.receive(left)
            except EOFError as error:
                raise ConnectionResetError(str(error)) from None
        return self._inbox.pop(0)

    # --- while training

    def watch(self) -> None:
        """Report from now on, end when told to, and tell the hub how this process ends."""
        for target in (self._run, self._flush_when_asked):
            threading.Thread(target=target, name="oneflow-member", daemon=True).start()
        sys.excepthook = self._reporting(sys.excepthook)
        atexit.register(self._leave)

    def _run(self) -> None:
        reported = -1
        lifeline = _lifeline()
        while True:
            if lifeline is not None and select.select([lifeline], [], [], 0)[0]:
                self._end("the launcher has died", self.rank)
            try:
                self._inbox += self._channel.receive(_SECONDS_BETWEEN_REPORTS)
                while self._inbox:
                    self._obey(self._inbox.pop(0))
                if self._may_leave.is_set():
                    return
                if operations_started() != reported:
                    reported = operations_started()
                    self._channel.send(record=whole_record())
            except (EOFError, ValueError, OSError):
                self._end("rank 0 ended abruptly", 0)

    def _obey(self, message: dict[str, Any]) -> None:
        if "verdict" in message:
            self._end(message["verdict"], message["culprit"])
        if "measure" in message:
            self._channel.send(activity=activity(), in_runtime=self._is_in_runtime())
        if "met" in message:
            group, count = message["met"]
            self._meetings[group, count].set()
        if "leave" in message:
            self._may_leave.set()

    def meet(self, ranks: tuple[int, ...]) -> None:
        """Wait until all of these ranks have come to the operation that was noted last.

        Libraries give up after some seconds when processes that connect do not come at once.
        """
        group = ",".join(map(str, ranks))
        record = whole_record()
        place = group, record[group][0]
        met = self._meetings[place] = threading.Event()
        with contextlib.suppress(OSError):
            self._channel.send(record=record, meet=place)
        met.wait()
        del self._meetings[place]

    def _is_in_runtime(self) -> bool:
        """Whether the main thread waits for XLA or for other processes, and not in the script."""
        if self._meetings:
            return True
        frame = sys._current_frames().get(threading.main_thread().ident or 0)
        return frame is not None and frame.f_code.co_filename.startswith(_RUNTIME)

    def _leave(self) -> None:
        """The ordinary end: wait until all others have come to theirs."""
        if self._failed.is_set() or os.getpid() != self._process:
            return
        self._leaving.set()
        with contextlib.suppress(OSError):
            self._channel.send(record=whole_record(), leaving=True)
        self._may_leave.wait()
        if self._is_cause.is_set():
            # Python alone knows the exit code. Nothing else is to be done in order: that would wait
            # for the other processes.
            atexit._clear()
            _end_within(_SECONDS_TO_EXIT)

    def _reporting(self, report: Callable[..., Any]) -> Callable[..., None]:
        """An exception hook that reports as `report` does, then to the hub, and ends the process.

        The ordinary end would wait for the other processes, and those may wait for this one.
        """

        def hook(kind: type[BaseException], error: BaseException, trace: Any) -> None:
            if os.getpid() != self._process:
                # A copy of this process, made by `os.fork`, is no rank.
                return report(kind, error, trace)
            failure = "".join(traceback.format_exception_only(kind, error)).strip()
            # If another process is the cause, this one ends without adding to what the user reads.
            wait_first = blames_others(failure)
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
        """Tell the hub that this process has failed, and wait for its verdict.

        If that is on another process, this does not return.
        """
        self._failed.set()
        _write_failure(self.rank, self.rank, f"rank {self.rank} failed: {failure}", verdict=False)
        with contextlib.suppress(OSError):
            self._channel.send(record=whole_record(), failure=failure)
        self._is_cause.wait(_SECONDS_FOR_A_VERDICT)

    def _end(self, verdict: str, culprit: int) -> None:
        """End this process because of a verdict."""
        told = _write_failure(self.rank, culprit, verdict, verdict=True)
        if culprit == self.rank and self._failed.is_set():
            # The main thread is about to end it, and says why.
            self._is_cause.set()
            time.sleep(_SECONDS_FOR_A_VERDICT)
        text = "" if told else f"oneflow: {verdict}; rank {self.rank} ends because of it\n"
        if culprit == self.rank and not self._leaving.is_set():
            text += _where_the_main_thread_is()
        with contextlib.suppress(OSError):
            os.write(2, text.encode())
        if culprit == self.rank and self._leaving.is_set():
            # It has come to its end too early, and goes on to it.
            self._is_cause.set()
            self._may_leave.set()
            time.sleep(_SECONDS_TO_EXIT)
        self._exit(1)

    def _exit(self, code: int) -> NoReturn:
        """End the process at once, whatever its other threads wait for."""
        for child in multiprocessing.active_children():
            child.kill()
        self._must_flush.set()
        self._flushed.wait(_SECONDS_TO_FLUSH)
        os._exit(code)

    def _flush_when_asked(self) -> None:
        """Write out what streams hold: on a thread, as another may hold their lock for ever.

        It waits from the start: while Python shuts down, no thread can be started any more.
        """
        self._must_flush.wait()
        with contextlib.suppress(Exception):
            logging.shutdown()
            sys.stdout.flush()
            sys.stderr.flush()
        self._flushed.set()


def _end_within(seconds: float) -> None:
    """Let the kernel end this process if Python does not do so soon."""
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_REAL, seconds)


def _lifeline() -> int | None:
    """The launcher's pipe, if this process has one."""
    text = environment.LIFELINE.read()
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
                    f"no connection to rank 0 at {address[0]}:{address[1]} within {timeout:.0f} "
                    f"seconds ({error}); check {environment.MASTER_ADDR.name}, "
                    f"{environment.MASTER_PORT.name} and whether rank 0 runs"
                ) from None
        time.sleep(0.02)


def _write_failure(rank: int, culprit: int, reason: str, verdict: bool) -> bool:
    """Leave word for the launcher, if there is one; it tells the user."""
    folder = environment.FAILURE_FOLDER.read()
    if not folder:
        return False
    word = Word(rank, culprit, reason, verdict, time.time())
    path = Path(folder, f"{'verdict' if verdict else 'failure'}{rank}.json")
    part = path.with_suffix(".part")
    try:
        part.write_text(json.dumps(dataclasses.asdict(word)), encoding="utf-8")
        part.replace(path)
    except OSError:
        return False
    return True


def _where_the_main_thread_is() -> str:
    """The stack of the main thread, which others wait for."""
    frame = sys._current_frames().get(threading.main_thread().ident or 0)
    if frame is None:
        return ""
    stack = traceback.extract_stack(frame)
    # What goes on inside the packages says little; the user's own lines say where it is.
    own = [each for each in stack if not _is_in_packages(each.filename)]
    lines = "".join(traceback.format_list(own or stack))
    return f"The main thread is here (most recent call last):\n{lines}"


def _is_in_packages(file: str) -> bool:
    return file.startswith(PACKAGE) or f"{os.sep}site-packages{os.sep}" in file
