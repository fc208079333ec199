"""The worker group: starts the processes of a job on one machine and ends all when one fails."""

from __future__ import annotations

import os
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from oneflow.base import environment as variables
from oneflow.control_plane.failure_report import read_reports
from oneflow.control_plane.launcher.process import WorkerProcess
from oneflow.control_plane.root_cause import find_root_cause

_POLL_SECONDS = 0.05
# After a failure the coordinator tells the other processes to exit; after this they get SIGTERM,
_SECONDS_TO_EXIT = 8.0
# and after this SIGKILL.
_SECONDS_TO_TERMINATE = 5.0
_SECONDS_AFTER_SIGNAL = 15.0
_STDERR_LINES = 20


class WorkerGroup:
    """The processes of a job on this machine.

    Args:
        command: the command that each process runs.
        environments: the environment of each process.
    """

    def __init__(self, command: Sequence[str], envs: Sequence[dict[str, str]]) -> None:
        self._command = command
        self._environments = envs
        self._processes: list[WorkerProcess] = []
        self._folder = Path(tempfile.mkdtemp(prefix="oneflow-launch-"))
        self._first_failed: WorkerProcess | None = None
        self._signal = 0
        self._terminate_at = self._kill_at = float("inf")

    def run(self, logdir: str | None, redirect: bool) -> int:
        """Start all processes, wait until all have exited, and print the root cause of a failure.

        Args:
            logdir: folder for copies of the output, or None.
            redirect: write the output to files in `logdir` instead of showing it.

        Returns:
            The exit code of the launcher.
        """
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, self._forward_signal)
        pipe, write_end = os.pipe()
        try:
            for environment in self._environments:
                environment[variables.FAILURE_FOLDER.name] = str(self._folder)
                environment[variables.LAUNCHER_PIPE.name] = str(pipe)
                self._processes.append(
                    WorkerProcess(self._command, environment, pipe, logdir, redirect)
                )
            for process in self._processes:
                process.forward_output()
            self._wait()
        except OSError as error:
            sys.stderr.write(f"oneflow.distributed.launch: cannot start the script: {error}\n")
            return 1
        finally:
            self._clean_up()
            os.close(write_end)
        return self._report()

    def _forward_signal(self, number: int, frame: Any) -> None:
        """Send a signal on to all processes; a second signal kills them."""
        is_second = self._signal != 0
        self._signal = self._signal or number
        for process in self._processes:
            process.send_signal(signal.SIGKILL if is_second else number)
        self._kill_at = min(self._kill_at, time.monotonic() + _SECONDS_AFTER_SIGNAL)

    def _wait(self) -> None:
        running = list(self._processes)
        while running:
            for process in list(running):
                code = process.poll()
                if code is not None:
                    running.remove(process)
                    # Tells the coordinator not to wait for this process to join.
                    Path(self._folder, f"exited{process.rank}").touch()
                if code and self._first_failed is None:
                    self._first_failed = process
                    self._terminate_at = time.monotonic() + _SECONDS_TO_EXIT
            now = time.monotonic()
            if now > self._terminate_at:
                for process in running:
                    process.send_signal(signal.SIGTERM)
                self._terminate_at = float("inf")
                self._kill_at = min(self._kill_at, now + _SECONDS_TO_TERMINATE)
            if now > self._kill_at:
                for process in running:
                    process.send_signal(signal.SIGKILL)
            time.sleep(_POLL_SECONDS)

    def _clean_up(self) -> None:
        """Wait for all processes; kill what the processes of a failed job have started."""
        for process in self._processes:
            if process.poll() is None or self._first_failed is not None or self._signal:
                process.send_signal(signal.SIGKILL)
            process.wait()

    def _report(self) -> int:
        failures = read_reports(self._folder)
        shutil.rmtree(self._folder, ignore_errors=True)
        if self._signal:
            return 128 + self._signal
        if self._first_failed is None:
            return 0
        root_cause = find_root_cause([process.exit() for process in self._processes], failures)
        rank = root_cause.rank
        lines = [f"oneflow.distributed.launch: {root_cause.reason}"]
        process = next((candidate for candidate in self._processes if candidate.rank == rank), None)
        if process is None:
            lines.append(f"  rank {rank} runs on another machine; see the output there")
        else:
            tail = process.stderr_tail(_STDERR_LINES)
            title = "; the last lines of its standard error:" if tail else ""
            lines.append(f"  rank {rank} {process.exit().describe()}{title}")
            lines += [f"  | {line}" for line in tail]
        lines.append("  all processes of the job on this machine have exited")
        sys.stderr.write("\n".join(lines) + "\n")
        sys.stderr.flush()
        return _exit_code(process or self._first_failed)


def _exit_code(process: WorkerProcess) -> int:
    code = process.exit_code or 1
    return 128 - code if code < 0 else code
