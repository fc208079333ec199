"""One process of a job: started in a group of its own, so that all it has started ends with it."""

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

from oneflow.control_plane.launcher.streams import Copier, last_lines_of_file
from oneflow.control_plane.root_cause import End

_PR_SET_PDEATHSIG = 1
# How much of what a process printed last tells why it ended.
_LINES_OF_AN_END = 100
_libc = ctypes.CDLL(None)


def _die_with_launcher() -> None:
    """Runs in the new process: the kernel shall kill it when the launcher dies."""
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


class Process:
    """A process and its output.

    Args:
        command: what to run.
        environment: its environment, with its rank.
        lifeline: a file descriptor to hand on; it is at its end when the launcher has died.
        logdir: folder for copies of the output, or None.
        redirect: write the output to files there instead of showing it.
    """

    def __init__(
        self,
        command: Sequence[str],
        environment: dict[str, str],
        lifeline: int,
        logdir: str | None,
        redirect: bool,
    ) -> None:
        self.rank = int(environment["RANK"])
        self._copiers: list[Copier] = []
        self._log: BinaryIO | None = None
        self._error_file: Path | None = None
        self.exit_code: int | None = None
        self._ended_at = 0.0
        self._told = False
        self._files = contextlib.ExitStack()
        out: BinaryIO | int | None = None
        error: BinaryIO | int = subprocess.PIPE
        if logdir is not None and redirect:
            folder = Path(logdir, f"local_rank_{environment['LOCAL_RANK']}")
            self._error_file = folder / "stderr"
            out, error = self._opened(folder / "stdout"), self._opened(self._error_file)
        elif logdir is not None:
            self._log = self._opened(Path(logdir, f"rank_{self.rank}.log"))
            out = subprocess.PIPE
        self._process = subprocess.Popen(
            command,
            env=environment,
            stdout=out,
            stderr=error,
            pass_fds=(lifeline,),
            process_group=0,
            preexec_fn=_die_with_launcher,
        )

    def _opened(self, path: Path) -> BinaryIO:
        path.parent.mkdir(parents=True, exist_ok=True)
        return self._files.enter_context(path.open("wb"))

    def show_output(self) -> None:
        """Begin to show what it prints; after all processes were started, because of threads."""
        for source, target in ((self._process.stdout, 1), (self._process.stderr, 2)):
            if source is not None:
                self._copiers.append(Copier(source.fileno(), target, self._log))

    def poll(self) -> int | None:
        """The exit code, negative for a signal, or None while it runs.

        The process stays known to the kernel until `reap`, so that no other gets its number.
        """
        if self.exit_code is None:
            flags = os.WEXITED | os.WNOHANG | os.WNOWAIT
            status = os.waitid(os.P_PID, self._process.pid, flags)
            if status is not None:
                killed = status.si_code != os.CLD_EXITED
                self.exit_code = -status.si_status if killed else status.si_status
                self._ended_at = time.time()
        return self.exit_code

    def send_signal(self, number: int) -> None:
        """Send a signal to it and to all that it has started."""
        self._told = self._told or self.poll() is None
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, number)

    def reap(self) -> None:
        """Take leave of the ended process and what is left of its output."""
        self._process.wait()
        for copier in self._copiers:
            copier.finish()
        self._files.close()

    def last_lines(self, count: int) -> list[str]:
        """The last lines of its standard error."""
        if self._error_file is not None:
            return last_lines_of_file(self._error_file, count)
        return self._copiers[-1].last_lines(count) if self._copiers else []

    def end(self) -> End:
        """How it ended; it must have."""
        lines = "\n".join(self.last_lines(_LINES_OF_AN_END))
        return End(self.rank, self.exit_code or 0, self._ended_at, self._told, lines)
