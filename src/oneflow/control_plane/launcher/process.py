"""One process of a job, in a process group of its own, so that its descendants end with it."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO

from oneflow.base.environment import LOCAL_RANK, RANK
from oneflow.control_plane.launcher.streams import Tee, tail_of_file
from oneflow.control_plane.root_cause import ProcessExit

_PR_SET_PDEATHSIG = 1
# Last lines of standard error that are searched for the reason of an exit.
_STDERR_LINES = 100
_prctl = getattr(ctypes.CDLL(None), "prctl", None) if os.name == "posix" else None


def _exit_with_launcher() -> None:
    """Let Linux kill the calling process when the launcher dies; runs in the new process."""
    if _prctl is not None:
        _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


class WorkerProcess:
    """A process of the job and its output.

    Args:
        command: the command to run.
        environment: its environment, with its rank.
        pipe: a file descriptor that it inherits, at its end when the launcher has died.
        logdir: folder for copies of the output, or None.
        redirect: write the output to files there instead of showing it.

    Attributes:
        rank: its rank in the job.
        exit_code: negative for a signal; None while it runs.
    """

    def __init__(
        self,
        command: Sequence[str],
        environment: dict[str, str],
        pipe: int,
        logdir: str | None,
        redirect: bool,
    ) -> None:
        self.rank = int(environment[RANK.name])
        self._tees: list[Tee] = []
        self._log: BinaryIO | None = None
        self._error_file: Path | None = None
        self.exit_code: int | None = None
        self._exit_time = 0.0
        self._got_signal = False
        self._files = contextlib.ExitStack()
        out: BinaryIO | int | None = None
        error: BinaryIO | int = subprocess.PIPE
        if logdir is not None and redirect:
            folder = Path(logdir, f"local_rank_{environment[LOCAL_RANK.name]}")
            self._error_file = folder / "stderr"
            out, error = self._open(folder / "stdout"), self._open(self._error_file)
        elif logdir is not None:
            self._log = self._open(Path(logdir, f"rank_{self.rank}.log"))
            out = subprocess.PIPE
        elif not os.isatty(1):  # a terminal is the process's own: it may draw bars and colours
            out = subprocess.PIPE
        self._process = subprocess.Popen(
            command,
            env=environment,
            stdout=out,
            stderr=error,
            pass_fds=(pipe,),
            process_group=0,
            preexec_fn=_exit_with_launcher,
        )

    def _open(self, path: Path) -> BinaryIO:
        path.parent.mkdir(parents=True, exist_ok=True)
        return self._files.enter_context(path.open("wb"))

    def forward_output(self) -> None:
        """Start to show the output; after all processes have started, because of threads."""
        for source, target in ((self._process.stdout, 1), (self._process.stderr, 2)):
            if source is not None:
                self._tees.append(Tee(source, target, self._log))

    def poll(self) -> int | None:
        """Return the exit code, negative for a signal, or None while the process runs.

        The kernel keeps the process's id until `wait`, so that no other process gets it.
        """
        if self.exit_code is None:
            flags = os.WEXITED | os.WNOHANG | os.WNOWAIT
            status = os.waitid(os.P_PID, self._process.pid, flags)
            if status is not None:
                by_signal = status.si_code != os.CLD_EXITED
                self.exit_code = -status.si_status if by_signal else status.si_status
                self._exit_time = time.time()
        return self.exit_code

    def send_signal(self, number: int) -> None:
        """Send a signal to the process and to its descendants."""
        self._got_signal = self._got_signal or self.poll() is None
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, number)

    def wait(self) -> None:
        """Wait for the exit of the process and the rest of its output."""
        self._process.wait()
        for tee in self._tees:
            tee.join()
        self._files.close()

    def stderr_tail(self, count: int) -> list[str]:
        """Return the last `count` lines of its standard error."""
        if self._error_file is not None:
            return tail_of_file(self._error_file, count)
        return self._tees[-1].tail(count) if self._tees else []

    def exit(self) -> ProcessExit:
        """Return how it exited; it must have."""
        tail = "\n".join(self.stderr_tail(_STDERR_LINES))
        return ProcessExit(self.rank, self.exit_code or 0, self._exit_time, self._got_signal, tail)
