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
        signaled: the launcher had sent the process a signal before.
        stderr_tail: the end of its standard error.
    """

    rank: int
    code: int
    time: float = 0.0
    signaled: bool = False
    stderr_tail: str = ""

    def describe(self) -> str:
        """Return the exit code or signal in words."""
        if self.code < 0:
            names = {each.value: each.name for each in signal.Signals}
            return f"was killed by {names.get(-self.code, f'signal {-self.code}')}"
        return f"exited with code {self.code}"


class _Evidence(enum.IntEnum):
    """What makes a rank a candidate for the root cause, the strongest evidence first."""

    KILLED = 0
    DIAGNOSED = 1
    REPORTED = 2
    FAILED_SILENTLY = 3
    # It counts only if others fail for no other reason: in a good run all exit together.
    EXITED_EARLY = 4
    CONSEQUENCE = 5


def find_root_cause(exits: Sequence[ProcessExit], reports: Sequence[FailureReport]) -> RootCause:
    """Return the root cause of the failure of a job.

    Args:
        exits: of all processes of this machine, in any order; at least one.
        reports: of processes of this machine, in any order.
    """
    candidates = [
        (_evidence_of_report(each), each.time, each.root_cause, each.reason) for each in reports
    ]
    reporting = {each.rank for each in reports}
    for each in exits:
        evidence = _evidence_of_exit(each, each.rank in reporting)
        if evidence is not None:
            candidates.append(
                (evidence, each.time, each.rank, f"rank {each.rank} {each.describe()}")
            )
    _, _, rank, reason = min(candidates)
    return RootCause(rank, _best_reason(rank, reason, reports))


def _evidence_of_report(report: FailureReport) -> _Evidence:
    if is_connection_failure(report.reason):
        return _Evidence.CONSEQUENCE
    return _Evidence.DIAGNOSED if report.diagnosed else _Evidence.REPORTED


def _evidence_of_exit(exit: ProcessExit, has_report: bool) -> _Evidence | None:
    """Return the kind of evidence; None if the exit adds nothing to the process's own report."""
    # Libraries abort when they cannot continue without the other processes.
    aborted = exit.code == -signal.SIGABRT
    if exit.code < 0 and not exit.signaled and not aborted:
        return _Evidence.KILLED
    if has_report:
        return None
    if exit.signaled or aborted:
        return _Evidence.CONSEQUENCE
    if exit.code == 0:
        return _Evidence.EXITED_EARLY
    is_consequence = is_connection_failure(exit.stderr_tail)
    return _Evidence.CONSEQUENCE if is_consequence else _Evidence.FAILED_SILENTLY


def _best_reason(rank: int, reason: str, reports: Sequence[FailureReport]) -> str:
    """Return the most specific reason in all reports, the rank's own if it wrote one."""
    about = [
        each
        for each in reports
        if each.root_cause == rank and not is_connection_failure(each.reason)
    ]
    about.sort(key=lambda each: (each.rank != rank, not each.diagnosed, each.time, each.rank))
    return about[0].reason if about else reason
