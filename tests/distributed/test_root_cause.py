"""The process that the launcher names as the root cause."""

import itertools
import signal

import pytest

from oneflow.control_plane.failure_report import FailureReport
from oneflow.control_plane.root_cause import ProcessExit, find_root_cause, is_connection_failure

GLOO = "ValueError: UNKNOWN: Gloo all-reduce failed: Connection reset by peer"
KILLED = -int(signal.SIGKILL)
ABORTED = -int(signal.SIGABRT)


def report(
    rank: int, reason: str, root_cause: int | None = None, from_coordinator: bool = False
) -> FailureReport:
    return FailureReport(
        rank, rank if root_cause is None else root_cause, reason, from_coordinator, 0.0
    )


# Exits, reports, and the root cause, which must be the same for all orders of exits and reports.
CASES = {
    "a signal, and a connection failure": (
        [ProcessExit(0, KILLED), ProcessExit(1, 1)],
        [report(1, f"rank 1 failed: {GLOO}")],
        (0, "rank 0 was killed by SIGKILL"),
    ),
    "a signal, and JAX ends another process": (
        [
            ProcessExit(0, KILLED),
            ProcessExit(1, 1, stderr_tail="the JAX distributed service detected fatal errors"),
        ],
        [],
        (0, "rank 0 was killed by SIGKILL"),
    ),
    "a signal, and another aborts": (
        [ProcessExit(0, ABORTED), ProcessExit(1, -int(signal.SIGSEGV)), ProcessExit(2, 1)],
        [report(2, f"rank 2 failed: {GLOO}")],
        (1, "rank 1 was killed by SIGSEGV"),
    ),
    "a signal that others have seen": (
        [ProcessExit(0, KILLED), ProcessExit(1, 1), ProcessExit(2, 1)],
        [report(1, "rank 0 exited unexpectedly", 0, True), report(2, f"rank 2 failed: {GLOO}")],
        (0, "rank 0 exited unexpectedly"),
    ),
    "signals of the launcher": (
        [
            ProcessExit(0, KILLED, got_signal=True),
            ProcessExit(1, 3),
            ProcessExit(2, KILLED, got_signal=True),
        ],
        [],
        (1, "rank 1 exited with code 3"),
    ),
    "a diagnosis": (
        [ProcessExit(0, 1), ProcessExit(1, 1)],
        [report(0, "rank 1 sleeps", 1, True), report(1, "rank 1 sleeps", 1, True)],
        (1, "rank 1 sleeps"),
    ),
    "a diagnosis of a process of another machine": (
        [ProcessExit(0, 1), ProcessExit(1, 1)],
        [report(0, "rank 5 sleeps", 5, True), report(1, f"rank 1 failed: {GLOO}")],
        (5, "rank 5 sleeps"),
    ),
    "an exception, known to others as an unexpected exit": (
        [ProcessExit(0, 1), ProcessExit(1, 1)],
        [
            report(0, "rank 0 failed: ValueError: x"),
            report(1, "rank 0 exited unexpectedly", 0, True),
        ],
        (0, "rank 0 failed: ValueError: x"),
    ),
    "an exception, and a connection failure": (
        [ProcessExit(0, 1), ProcessExit(1, 1)],
        [report(0, f"rank 0 failed: {GLOO}"), report(1, "rank 1 failed: ValueError: x")],
        (1, "rank 1 failed: ValueError: x"),
    ),
    "a diagnosis that is a connection failure": (
        [ProcessExit(0, 1), ProcessExit(1, 1)],
        [report(0, f"rank 1 failed: {GLOO}", 1, True), report(1, "rank 1 failed: KeyError: 'x'")],
        (1, "rank 1 failed: KeyError: 'x'"),
    ),
    "an exit without a report": (
        [ProcessExit(0, 7), ProcessExit(1, 1)],
        [report(1, f"rank 1 failed: {GLOO}")],
        (0, "rank 0 exited with code 7"),
    ),
    "an exit before the others": (
        [ProcessExit(0, 0), ProcessExit(1, 1)],
        [report(1, f"rank 1 failed: {GLOO}")],
        (0, "rank 0 exited with code 0"),
    ),
    "a failure and a success": (
        [ProcessExit(0, 0), ProcessExit(1, 4)],
        [],
        (1, "rank 1 exited with code 4"),
    ),
    "connection failures only": (
        [ProcessExit(0, 1), ProcessExit(1, 1)],
        [report(0, f"rank 0 failed: {GLOO}"), report(1, f"rank 1 failed: {GLOO}")],
        (0, f"rank 0 failed: {GLOO}"),
    ),
    "a signal without a name": ([ProcessExit(0, -40)], [], (0, "rank 0 was killed by signal 40")),
}


@pytest.mark.parametrize("case", CASES)
def test_the_root_cause_does_not_depend_on_the_order(case):
    processes, reports, (rank, reason) = CASES[case]
    for exits in itertools.permutations(processes):
        for ordered_reports in itertools.permutations(reports):
            root_cause = find_root_cause(exits, ordered_reports)
            assert (root_cause.rank, root_cause.reason) == (rank, reason)


def test_among_equals_the_first_is_the_root_cause():
    exits = [ProcessExit(0, 3, time=2.0), ProcessExit(1, 4, time=1.0)]
    assert find_root_cause(exits, []).reason == "rank 1 exited with code 4"


def test_connection_failures():
    assert is_connection_failure(GLOO)
    assert is_connection_failure("XlaRuntimeError: UNAVAILABLE: the coordination service has gone")
    assert not is_connection_failure("ValueError: shapes differ")
