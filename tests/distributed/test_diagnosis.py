"""The diagnosis of a job from the reports of its ranks."""

import os
import socket
import subprocess
import sys
import time

import pytest

from oneflow.base.environment import COLLECTIVE_TIMEOUT, HANG_TIMEOUT
from oneflow.control_plane.activity import Activity, is_idle, measure_activity
from oneflow.control_plane.channel import Channel
from oneflow.control_plane.diagnosis import (
    ActivitySample,
    RankReport,
    find_cycle,
    find_mismatch,
    find_missing_ranks,
)
from oneflow.control_plane.flight_recorder import Progress
from oneflow.control_plane.hang_detection import HangDetection


def report(*descriptions: str, group: str = "0,1", **more) -> RankReport:
    progress = Progress()
    for description in descriptions:
        progress.add(description)
    return RankReport({group: progress.as_json()}, **more)


def test_the_same_operations_are_no_mismatch():
    assert find_mismatch({0: report("a", "b", "c"), 1: report("a", "b")}) is None
    assert find_mismatch({0: report(), 1: report("a")}) is None


def test_the_first_mismatch_is_found():
    root_cause = find_mismatch({0: report("a", "b", "c"), 1: report("a", "x", "y")})
    assert root_cause is not None
    assert "operation 2 among ranks 0,1 is b on rank 0 and x on rank 1" in root_cause.reason


def test_a_mismatch_long_ago():
    same = ["a"] * 100
    root_cause = find_mismatch({0: report("b", *same), 1: report("c", *same)})
    assert root_cause is not None
    assert "differ in a collective operation among ranks 0,1 before number 70" in root_cause.reason


def test_groups_are_compared_on_their_own():
    reports = {
        0: report("a", group="0,1"),
        1: report("b", group="1,2"),
        2: report("b", group="1,2"),
    }
    assert find_mismatch(reports) is None
    assert [
        (find_missing_rank.missing_rank, find_missing_rank.waiting_rank)
        for find_missing_rank in find_missing_ranks(reports)
    ] == [(1, 0)]


def test_a_process_that_is_done_and_needed():
    detection = HangDetection(idle_timeout=20, timeout=100)
    reports = {0: report("a", "b"), 1: report("a", finished=True)}
    root_cause, _ = detection.check(reports, 0.0)
    assert root_cause is not None
    assert root_cause.rank == 1
    assert "finished after 1 collective operation(s)" in root_cause.reason
    assert root_cause.reason.endswith("waits for it in the next: b")


def test_a_process_that_is_done_and_not_needed():
    detection = HangDetection(idle_timeout=20, timeout=100)
    reports = {0: report("a"), 1: report("a", finished=True)}
    assert detection.check(reports, 0.0) == (None, [])
    assert detection.check(reports, 1e6) == (None, [])


def sample(time: float, seconds: float = 0.0, in_runtime: bool = False) -> ActivitySample:
    return ActivitySample(time, Activity(seconds, 0.0), in_runtime)


@pytest.mark.parametrize("busy", [True, False])
def test_a_process_that_is_late(busy):
    detection = HangDetection(idle_timeout=20, timeout=100)
    reports = {0: report("a", "b"), 1: report("a")}
    for now in (0.0, 1.0):
        assert detection.check(reports, now) == (None, [1])
    reports[1].sample = sample(2.0, 5.0)
    assert detection.check(reports, 2.0) == (None, [])
    assert detection.check(reports, 15.0) == (None, [])
    assert detection.check(reports, 23.0) == (None, [1])
    reports[1].sample = sample(24.0, 15.0 if busy else 5.1)
    root_cause, _ = detection.check(reports, 24.0)
    if busy:
        assert root_cause is None
        root_cause, _ = detection.check(reports, 101.0)
        assert root_cause is not None
        assert (
            "has made no progress for 101 seconds (ONEFLOW_COLLECTIVE_TIMEOUT=" in root_cause.reason
        )
    else:
        assert root_cause is not None
        assert "rank 1 has been idle for 24 seconds (ONEFLOW_HANG_TIMEOUT=" in root_cause.reason
        assert "; 0 waits forever) after 1 collective operation(s)" in root_cause.reason


def test_an_idle_process_is_given_half_an_hour():
    detection = HangDetection(float(HANG_TIMEOUT.default), float(COLLECTIVE_TIMEOUT.default))
    reports = {0: report("a", "b"), 1: report("a")}
    for now in range(0, 1800, 20):
        reports[1].sample = sample(now)
        assert detection.check(reports, now)[0] is None
    reports[1].sample = sample(1801.0)
    assert detection.check(reports, 1801.0)[0] is not None


@pytest.mark.parametrize("answers", [0, 1, 2])
def test_a_process_that_is_stopped(answers):
    detection = HangDetection(idle_timeout=20, timeout=0)
    reports = {rank: report("a", *("b" * (rank == 0)), group="0,1,2") for rank in range(3)}
    for now in range(1000):
        reports[1].sample = sample(now, float(now))
        if now // 20 < answers:
            reports[2].sample = sample(now, float(now))
        root_cause, _ = detection.check(reports, float(now))
        if root_cause is not None:
            break
    # It is asked 20 seconds after its last answer, and given up another 20 seconds later.
    assert 20 < now <= 20 * answers + 42
    assert root_cause.rank == 2
    assert "rank 2 is stopped: it has not answered for" in root_cause.reason
    assert " (ONEFLOW_HANG_TIMEOUT=" in root_cause.reason


def test_a_stopped_process_that_goes_on():
    detection = HangDetection(idle_timeout=20, timeout=0)
    reports = {0: report("a", "b"), 1: report("a")}
    for now in range(0, 1000, 5):
        if now % 40 < 20:
            reports[1].sample = sample(now, float(now))
        assert detection.check(reports, float(now))[0] is None


def test_a_busy_process_is_never_given_up():
    detection = HangDetection(float(HANG_TIMEOUT.default), float(COLLECTIVE_TIMEOUT.default))
    reports = {0: report("a", "b"), 1: report("a")}
    for now in range(0, 100_000, 100):
        reports[1].sample = sample(now, 0.5 * now)
        assert detection.check(reports, now)[0] is None


def test_progress_ends_the_wait():
    detection = HangDetection(idle_timeout=20, timeout=100)
    reports = {0: report("a", "b", "c"), 1: report("a")}
    detection.check(reports, 0.0)
    reports[1] = report("a", "b")
    assert detection.check(reports, 99.0) == (None, [1])
    reports[1].sample = sample(100.0)  # its process answers
    assert detection.check(reports, 150.0)[0] is None


def test_limits_can_be_switched_off():
    detection = HangDetection(idle_timeout=0, timeout=0)
    reports = {0: report("a", "b"), 1: report("a")}
    for now in (0.0, 1e3, 1e6):
        reports[1].sample = sample(now)
        assert detection.check(reports, now) == (None, [])


# --- deadlocks


def started(**counts: int) -> RankReport:
    """Return the report of a rank that has started so many operations in each group."""
    groups = {",".join(name[1:]): ["x"] * count for name, count in counts.items()}
    result = RankReport()
    for group, operations in groups.items():
        result.progress.update(report(*operations, group=group).progress)
    return result


@pytest.mark.parametrize(
    ("reports", "cycle"),
    [
        # Two that begin with different groups, and one that waits for one of them.
        (
            {0: started(_012=1), 1: started(_01=1), 2: started(_012=1)},
            [(0, 1), (1, 0), (2, 1)],
        ),
        ({0: started(_012=1), 1: started(_01=1), 2: started()}, []),
        ({0: started(_012=1), 1: started(_01=1)}, [(0, 1), (1, 0)]),
        # Three, each of which has begun with another pair.
        ({0: started(_01=1), 1: started(_12=1), 2: started(_02=1)}, [(0, 1), (1, 2), (2, 0)]),
        # The third may still come, and release the second, which releases the first.
        ({0: started(_01=1), 1: started(_12=1), 2: started()}, []),
        # A cycle, and a rank that waits for it.
        (
            {0: started(_01=1), 1: started(_12=1), 2: started(_02=1), 3: started(_03=1)},
            [(0, 1), (1, 2), (2, 0), (3, 0)],
        ),
        ({0: started(_01=2), 1: started(_01=2)}, []),
    ],
)
def test_ranks_that_wait_for_each_other(reports, cycle):
    assert [(wait.waiting_rank, wait.missing_rank) for wait in find_cycle(reports)] == cycle


def in_a_cycle(now: float, *in_runtime: bool, seconds: float = 0.0) -> dict[int, RankReport]:
    """Return the reports of two ranks that wait for each other, with samples."""
    reports = {0: started(_01=1, _012=1), 1: started(_01=2)}
    for rank, runtime_seconds in enumerate(in_runtime):
        reports[rank].sample = sample(now, seconds, runtime_seconds)
    return reports


def test_a_deadlock_takes_some_seconds_to_be_sure():
    detection = HangDetection(idle_timeout=0, timeout=0)
    assert detection.check(in_a_cycle(0.0), 0.0) == (None, [0, 1])
    assert detection.check(in_a_cycle(1.0, True, True), 1.0) == (None, [])
    assert detection.check(in_a_cycle(1.0, True, True), 7.0) == (None, [0, 1])
    root_cause, _ = detection.check(in_a_cycle(8.0, True, True), 8.0)
    assert root_cause is not None
    assert "rank 0 waits for rank 1 in x among ranks 0,1,2" in root_cause.reason
    assert "rank 1 waits for rank 0 in x among ranks 0,1" in root_cause.reason


@pytest.mark.parametrize(
    "last",
    [
        # One sleeps, reads a file or is looked at by a person.
        in_a_cycle(8.0, True, False),
        # It compiles.
        in_a_cycle(8.0, True, True, seconds=5.0),
        # It goes on.
        {0: started(_01=2, _012=1), 1: started(_01=2)},
    ],
)
def test_what_only_looks_like_a_deadlock(last):
    detection = HangDetection(idle_timeout=0, timeout=0)
    detection.check(in_a_cycle(0.0), 0.0)
    detection.check(in_a_cycle(1.0, True, True), 1.0)
    assert detection.check(last, 8.0)[0] is None


def test_activity_counts_descendants():
    before, begin = measure_activity(), time.monotonic()
    time.sleep(0.3)
    assert is_idle(before, measure_activity(), 10 * (time.monotonic() - begin))
    burn = "import time\nend = time.process_time() + 0.4\nwhile time.process_time() < end: pass"
    before, begin = measure_activity(), time.monotonic()
    child = subprocess.Popen(
        [sys.executable, "-c", f"{burn}\nprint(flush=True)\ninput()"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert child.stdout is not None
    child.stdout.readline()
    after, elapsed = measure_activity(), time.monotonic() - begin
    child.communicate(b"\n")
    assert not is_idle(before, after, min(elapsed, 6.0))
    assert os.getpid() != child.pid


def test_channels():
    one, other = (Channel(connection) for connection in connected_pair())
    one.send(x=1, y=["a"])
    one.send(z=None)
    assert other.recv(1.0) == [{"x": 1, "y": ["a"]}, {"z": None}]
    assert other.recv(0.0) == []
    one.connection.sendall(b"GET / HTTP/1.1\n")
    with pytest.raises(ValueError, match="Expecting value"):
        other.recv(1.0)
    one.close()
    with pytest.raises(EOFError):
        other.recv(1.0)
    other.close()


def connected_pair():
    with socket.create_server(("127.0.0.1", 0)) as server:
        one = socket.create_connection(server.getsockname())
        return one, server.accept()[0]
