"""Errors that end a process of a job, in a file that its launcher has named."""

from __future__ import annotations

import functools
import json
import os
import signal
import time
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar, cast

Decorated = TypeVar("Decorated", bound=Callable[..., Any])
_NO_REPORT = "the process wrote no exception; decorate its main function with `record`"
_FILE = "TORCHELASTIC_ERROR_FILE"


class ErrorHandler:
    """Writes exceptions to the file that the environment names, if it names one."""

    def initialize(self) -> None:
        """Prepare nothing: the launcher of the job watches its processes."""

    def record_exception(self, e: BaseException) -> None:
        """Write an exception with the time and where it was raised, as JSON.

        Args:
            e: the exception.
        """
        if _FILE not in os.environ:
            return
        lines = traceback.format_exception(type(e), e, e.__traceback__)
        more = {"py_callstack": "".join(lines), "timestamp": str(int(time.time()))}
        message = {"message": f"{type(e).__name__}: {e}", "extraInfo": more}
        Path(os.environ[_FILE]).write_text(json.dumps({"message": message}))


def get_error_handler() -> ErrorHandler:
    """Return what writes exceptions."""
    return ErrorHandler()


def record(fn: Decorated, error_handler: ErrorHandler | None = None) -> Decorated:
    """Decorate the main function of a process: it writes the exception that ends it.

    It returns None where the function ends the process without an error.

    Args:
        fn: the function.
        error_handler: writes the exception; default: to the file that the environment variable
            ``TORCHELASTIC_ERROR_FILE`` names.

    Example:
        >>> from oneflow import mock_torch
        >>> with mock_torch.enable():
        ...     from torch.distributed.elastic.multiprocessing.errors import record
        >>> record(max)(3, 5)
        5
    """
    handler = error_handler or get_error_handler()

    @functools.wraps(fn)
    def recorded(*args: Any, **kwargs: Any) -> Any:
        handler.initialize()
        try:
            return fn(*args, **kwargs)
        except SystemExit as end:
            if end.code == 0:
                return None
            raise
        except BaseException as exception:
            handler.record_exception(exception)
            raise

    return cast("Decorated", recorded)


@dataclass
class ProcessFailure:
    """The end of a process with an error.

    Attributes:
        local_rank: its number on its machine.
        pid: its number in the system.
        exitcode: what it ended with; negative for a signal.
        error_file: the file into which it wrote its exception, if it did.
        error_file_data: what is in the file.
        message: what happened.
        timestamp: when, in seconds.

    Example:
        >>> from oneflow import mock_torch
        >>> with mock_torch.enable():
        ...     from torch.distributed.elastic.multiprocessing.errors import ProcessFailure
        >>> failure = ProcessFailure(local_rank=1, pid=7, exitcode=-9, error_file="")
        >>> failure.message
        'Signal 9 (SIGKILL) received by PID 7'
    """

    local_rank: int
    pid: int
    exitcode: int
    error_file: str
    error_file_data: dict[str, Any] = field(init=False)
    message: str = field(init=False)
    timestamp: int = field(init=False)

    def __post_init__(self) -> None:
        self.error_file_data = {"message": ""}
        self.message, self.timestamp = "", int(time.time())
        path = Path(self.error_file)
        if path.is_file():
            self.error_file_data = json.loads(path.read_text())
            report = self.error_file_data["message"]
            if isinstance(report, dict):
                self.timestamp = int(report["extraInfo"]["timestamp"])
                report = report["message"]
            self.message = str(report)
        if not self.message:
            self.message = self._signal_text() if self.exitcode < 0 else _NO_REPORT

    def _signal_text(self) -> str:
        return f"Signal {-self.exitcode} ({self.signal_name()}) received by PID {self.pid}"

    def signal_name(self) -> str:
        """Return the name of the signal that ended the process; <N/A> if none did."""
        if self.exitcode >= 0:
            return "<N/A>"
        try:
            return signal.Signals(-self.exitcode).name
        except ValueError:
            return "<Unknown>"

    def timestamp_isoformat(self) -> str:
        """Return when it happened, as a date and a time."""
        return datetime.fromtimestamp(self.timestamp).isoformat(sep="_")


class ChildFailedError(Exception):
    """The failures of the processes of a job, of which the first is its cause.

    Args:
        name: of the job.
        failures: by rank.
    """

    def __init__(self, name: str, failures: Mapping[int, ProcessFailure]) -> None:
        if not failures:
            raise AssertionError("`failures` must not be empty")
        self.name, self.failures = name, dict(failures)
        super().__init__(self.format_msg())

    def get_first_failure(self) -> tuple[int, ProcessFailure]:
        """Return the rank and the failure of the process that failed first."""
        return min(self.failures.items(), key=lambda item: item[1].timestamp)

    def format_msg(self, boarder_delim: str = "=", section_delim: str = "-") -> str:
        """Return a text with all failures, the first one last.

        Args:
            boarder_delim: a character for lines around it.
            section_delim: one for lines between its parts.
        """
        first, _ = self.get_first_failure()
        title = f"{self.name} FAILED"
        parts = {rank: _description(rank, failure) for rank, failure in self.failures.items()}
        others = [text for rank, text in parts.items() if rank != first]
        width = max(len(line) for text in (title, *parts.values()) for line in text.splitlines())
        border, section = boarder_delim * width, section_delim * width
        rest = "\n".join(others) or "  <NO_OTHER_FAILURES>"
        causes = f"Failures:\n{rest}\n{section}\nRoot Cause (first observed failure):\n"
        return f"\n{border}\n{title}\n{section}\n{causes}{parts[first]}\n{border}"


def _description(rank: int, failure: ProcessFailure) -> str:
    return (
        f"  time      : {failure.timestamp_isoformat()}\n"
        f"  rank      : {rank} (local_rank: {failure.local_rank})\n"
        f"  exitcode  : {failure.exitcode} (pid: {failure.pid})\n"
        f"  error_file: {failure.error_file}\n"
        f"  traceback : {failure.message}"
    )


__all__ = ["ChildFailedError", "ErrorHandler", "ProcessFailure", "get_error_handler", "record"]
