"""Starting the processes of a job, waiting for them, ending all when one fails."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from oneflow.control_plane.launcher.process import Process
from oneflow.control_plane.root_cause import Word, find_cause

_TICK = 0.05
# When one has failed, the others hear of it themselves and end; after this they are told to,
_SECONDS_TO_HEAR = 8.0
# after this they are killed.
_SECONDS_TO_END = 5.0
_SECONDS_AFTER_A_SIGNAL = 15.0
_LINES_SHOWN = 20


class Supervisor:
    """The processes of a job on this machine.

    Args:
        command: what each runs.
        environments: the environment of each.
    """

    def __init__(self, command: Sequence[str], environments: Sequence[dict[str, str]]) -> None:
        self._command = command
        self._environments = environments
        self._processes: list[Process] = []
        self._folder = Path(tempfile.mkdtemp(prefix="oneflow-launch-"))
        self._first_failed: Process | None = None
        self._signal = 0
        self._terminate_at = self._kill_at = float("inf")

    def run(self, logdir: str | None, redirect: bool) -> int:
        """Start all processes, wait until all have ended, and say why if it was not well.

        Returns:
            The exit code for the launcher.
        """
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, self._pass_on)
        lifeline, held = os.pipe()
        try:
            for environment in self._environments:
                environment["ONEFLOW_FAILURE_FOLDER"] = str(self._folder)
                environment["ONEFLOW_LIFELINE"] = str(lifeline)
                self._processes.append(
                    Process(self._command, environment, lifeline, logdir, redirect)
                )
            for process in self._processes:
                process.show_output()
            self._wait()
        except OSError as error:
            sys.stderr.write(f"oneflow.distributed.launch: cannot start: {error}\n")
            return 1
        finally:
            self._clear()
            os.close(held)
        return self._report()

    def _pass_on(self, number: int, frame: Any) -> None:
        """Give a signal on to all processes; the second one kills them."""
        again = self._signal != 0
        self._signal = self._signal or number
        for process in self._processes:
            process.send_signal(signal.SIGKILL if again else number)
        self._kill_at = min(self._kill_at, time.monotonic() + _SECONDS_AFTER_A_SIGNAL)

    def _wait(self) -> None:
        running = list(self._processes)
        while running:
            for process in list(running):
                code = process.poll()
                if code is not None:
                    running.remove(process)
                    # Tells processes that still wait for this one to start.
                    Path(self._folder, f"exited{process.rank}").touch()
                if code and self._first_failed is None:
                    self._first_failed = process
                    self._terminate_at = time.monotonic() + _SECONDS_TO_HEAR
            now = time.monotonic()
            if now > self._terminate_at:
                for process in running:
                    process.send_signal(signal.SIGTERM)
                self._terminate_at = float("inf")
                self._kill_at = min(self._kill_at, now + _SECONDS_TO_END)
            if now > self._kill_at:
                for process in running:
                    process.send_signal(signal.SIGKILL)
            time.sleep(_TICK)

    def _clear(self) -> None:
        """Let nothing live on that a process of a failed job has started."""
        for process in self._processes:
            if process.poll() is None or self._first_failed is not None or self._signal:
                process.send_signal(signal.SIGKILL)
            process.reap()

    def _report(self) -> int:
        words = self._words_left()
        shutil.rmtree(self._folder, ignore_errors=True)
        if self._signal:
            return 128 + self._signal
        if self._first_failed is None:
            return 0
        ends = [process.end() for process in self._processes]
        culprit, reason = find_cause(ends, words)
        lines = [f"oneflow.distributed.launch: {reason}"]
        process = next((each for each in self._processes if each.rank == culprit), None)
        if process is None:
            lines.append(f"  rank {culprit} runs on another machine; see the output there")
        else:
            last = process.last_lines(_LINES_SHOWN)
            about = "; the last lines of its standard error:" if last else ""
            lines.append(f"  rank {culprit} {process.end().in_words()}{about}")
            lines += [f"  | {line}" for line in last]
        lines.append("  all processes of this machine have ended")
        sys.stderr.write("\n".join(lines) + "\n")
        sys.stderr.flush()
        return _exit_code(process or self._first_failed)

    def _words_left(self) -> list[Word]:
        """What processes have written down about why they ended."""
        paths = self._folder.glob("*.json")
        return [Word(**json.loads(path.read_text(encoding="utf-8"))) for path in paths]


def _exit_code(process: Process) -> int:
    code = process.exit_code or 1
    return 128 - code if code < 0 else code
