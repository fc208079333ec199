"""The root cause of a failed job: the failure that the others follow from.

When one process exits, others fail too, within milliseconds or seconds, and the order in which that
is observed says nothing. So the kind of evidence decides first, and the time only among equals.
"""

from __future__ import annotations

import enum
import signal
from collections.abc import Sequence
from dataclasses import dataclass

from oneflow.control_plane.failure_report import FailureReport

# Texts of exceptions and of JAX's log lines that report a broken connection to another process.
_CONNECTION_FAILURES = (
    "Gloo",
    "NCCL",
    "Connection reset",
    "Connection closed",
    "Connection refused",
    "Broken pipe",
    "ended within a message",
    "JAX distributed service",
    "coordination service",
    "CoordinationService",
)


def is_connection_failure(failure: str) -> bool:
    """Return whether a failure is probably a consequence of the end of another process."""
    return any(text in failure for text in _CONNECTION_FAILURES)


@dataclass(frozen=True)
class RootCause:
    """The rank whose failure ends a job, and the reason in words."""

    rank: int
    reason: str


@dataclass(frozen=True)
class ProcessExit:
    """The exit of a process of this machine.

    Attributes:
        rank: the process.
        code: its exit code, negative for a signal.
        time: the time at which the exit was seen, in seconds.
        got_signal: the launcher had sent the process a signal before.
        stderr_tail: the end of its standard error.
    """

    rank: int
    code: int
    time: float = 0.0
    got_signal: bool = False
    stderr_tail: str = ""

    def describe(self) -> str:
        """Return the exit code or signal in words."""
        if self.code < 0:
            names = {member.value: member.name for member in signal.Signals}
            return f"was killed by {names.get(-self.code, f'signal {-self.code}')}"
        return f"exited with code {self.code}"


class _Priority(enum.IntEnum):
    """The reasons to take a rank for the root cause, the strongest first."""

    SIGNAL = 0
    DIAGNOSIS = 1
    REPORT = 2
    EXIT_CODE = 3
    # It counts only if others fail for no other reason: in a good run all exit together.
    EXITED_EARLY = 4
    SECONDARY = 5


def find_root_cause(
    processes: Sequence[ProcessExit], reports: Sequence[FailureReport]
) -> RootCause:
    """Return the root cause of the failure of a job.

    Args:
        processes: the exits of all processes of this machine, in any order; at least one.
        reports: the reports of processes of this machine, in any order.
    """
    candidates = [
        (_priority_of_report(report), report.time, report.root_cause, report.reason)
        for report in reports
    ]
    ranks_with_report = {report.rank for report in reports}
    for process in processes:
        priority = _priority_of_exit(process, process.rank in ranks_with_report)
        if priority is not None:
            candidates.append(
                (priority, process.time, process.rank, f"rank {process.rank} {process.describe()}")
            )
    _, _, rank, reason = min(candidates)
    return RootCause(rank, _best_reason(rank, reason, reports))


def _priority_of_report(report: FailureReport) -> _Priority:
    if is_connection_failure(report.reason):
        return _Priority.SECONDARY
    return _Priority.DIAGNOSIS if report.from_coordinator else _Priority.REPORT


def _priority_of_exit(exit: ProcessExit, has_report: bool) -> _Priority | None:
    """Return the kind of evidence; None if the exit adds nothing to the process's own report."""
    # Libraries abort when they cannot continue without the other processes.
    is_from_library = exit.code == -signal.SIGABRT
    if exit.code < 0 and not exit.got_signal and not is_from_library:
        return _Priority.SIGNAL
    if has_report:
        return None
    if exit.got_signal or is_from_library:
        return _Priority.SECONDARY
    if exit.code == 0:
        return _Priority.EXITED_EARLY
    is_secondary = is_connection_failure(exit.stderr_tail)
    return _Priority.SECONDARY if is_secondary else _Priority.EXIT_CODE


def _best_reason(rank: int, reason: str, reports: Sequence[FailureReport]) -> str:
    """Return the most specific reason in all reports, the rank's own if it wrote one."""
    matching = [
        report
        for report in reports
        if report.root_cause == rank and not is_connection_failure(report.reason)
    ]
    matching.sort(
        key=lambda reason: (
            reason.rank != rank,
            not reason.from_coordinator,
            reason.time,
            reason.rank,
        )
    )
    return matching[0].reason if matching else reason
