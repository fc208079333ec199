"""What the hub concludes from reports."""

import os
import socket
import subprocess
import sys
import time

import pytest

from oneflow.base.environment import COLLECTIVE_TIMEOUT, HANG_TIMEOUT
from oneflow.control_plane.activity import activity, is_busy
from oneflow.control_plane.channel import Channel
from oneflow.control_plane.diagnosis import (
    Measurement,
    Report,
    find_circle,
    find_late,
    find_mismatch,
)
from oneflow.control_plane.flight_recorder import Progress
from oneflow.control_plane.hang_detection import Watch


def report(*descriptions: str, group: str = "0,1", **more) -> Report:
    progress = Progress()
    for each in descriptions:
        progress.add(each)
    return Report({group: progress.as_json()}, **more)


def test_the_same_operations_are_no_mismatch():
    assert find_mismatch({0: report("a", "b", "c"), 1: report("a", "b")}) is None
    assert find_mismatch({0: report(), 1: report("a")}) is None


def test_the_first_mismatch_is_found():
    verdict = find_mismatch({0: report("a", "b", "c"), 1: report("a", "x", "y")})
    assert verdict is not None
    assert "operation 2 among ranks 0,1 is b on rank 0 and x on rank 1" in verdict.reason


def test_a_mismatch_long_ago():
    same = ["a"] * 100
    verdict = find_mismatch({0: report("b", *same), 1: report("c", *same)})
    assert verdict is not None
    assert "or one long before it" in verdict.reason


def test_groups_are_compared_on_their_own():
    reports = {
        0: report("a", group="0,1"),
        1: report("b", group="1,2"),
        2: report("b", group="1,2"),
    }
    assert find_mismatch(reports) is None
    assert [(each.rank, each.waiting) for each in find_late(reports)] == [(1, 0)]


def test_a_process_that_is_done_and_needed():
    watch = Watch(idle_limit=20, limit=100)
    reports = {0: report("a", "b"), 1: report("a", leaving=True)}
    verdict, _ = watch.judge(reports, 0.0)
    assert verdict is not None
    assert verdict.rank == 1
    assert "finished after 1 collective operation(s)" in verdict.reason
    assert verdict.reason.endswith("waits for it in the next: b")


def test_a_process_that_is_done_and_not_needed():
    watch = Watch(idle_limit=20, limit=100)
    reports = {0: report("a"), 1: report("a", leaving=True)}
    assert watch.judge(reports, 0.0) == (None, [])
    assert watch.judge(reports, 1e6) == (None, [])


def measured(at: float, seconds: float = 0.0, in_runtime: bool = False) -> Measurement:
    return Measurement(at, (seconds, 0.0), in_runtime)


@pytest.mark.parametrize("busy", [True, False])
def test_a_process_that_is_late(busy):
    watch = Watch(idle_limit=20, limit=100)
    reports = {0: report("a", "b"), 1: report("a")}
    for now in (0.0, 1.0):
        assert watch.judge(reports, now) == (None, [1])
    reports[1].measurement = measured(2.0, 5.0)
    assert watch.judge(reports, 2.0) == (None, [])
    assert watch.judge(reports, 15.0) == (None, [])
    assert watch.judge(reports, 23.0) == (None, [1])
    reports[1].measurement = measured(24.0, 15.0 if busy else 5.1)
    verdict, _ = watch.judge(reports, 24.0)
    if busy:
        assert verdict is None
        verdict, _ = watch.judge(reports, 101.0)
        assert verdict is not None
        assert "has not come for 101 seconds (ONEFLOW_COLLECTIVE_TIMEOUT=" in verdict.reason
    else:
        assert verdict is not None
        assert "rank 1 has done nothing for 24 seconds (ONEFLOW_HANG_TIMEOUT=" in verdict.reason
        assert "; 0 waits for ever) after 1 collective operation(s)" in verdict.reason


def test_a_silent_process_is_given_half_an_hour():
    watch = Watch(float(HANG_TIMEOUT.default), float(COLLECTIVE_TIMEOUT.default))
    reports = {0: report("a", "b"), 1: report("a")}
    for now in range(0, 1800, 20):
        reports[1].measurement = measured(now)
        assert watch.judge(reports, now)[0] is None
    reports[1].measurement = measured(1801.0)
    assert watch.judge(reports, 1801.0)[0] is not None


def test_a_busy_process_is_never_given_up():
    watch = Watch(float(HANG_TIMEOUT.default), float(COLLECTIVE_TIMEOUT.default))
    reports = {0: report("a", "b"), 1: report("a")}
    for now in range(0, 100_000, 100):
        reports[1].measurement = measured(now, 0.5 * now)
        assert watch.judge(reports, now)[0] is None


def test_progress_ends_the_wait():
    watch = Watch(idle_limit=20, limit=100)
    reports = {0: report("a", "b", "c"), 1: report("a")}
    watch.judge(reports, 0.0)
    reports[1] = report("a", "b")
    assert watch.judge(reports, 99.0) == (None, [1])
    assert watch.judge(reports, 150.0)[0] is None


def test_limits_can_be_switched_off():
    watch = Watch(idle_limit=0, limit=0)
    reports = {0: report("a", "b"), 1: report("a")}
    for now in (0.0, 1e3, 1e6):
        reports[1].measurement = measured(now)
        assert watch.judge(reports, now) == (None, [])


# --- deadlocks


def started(**counts: int) -> Report:
    """What a process that has started so many operations in each group reports."""
    groups = {",".join(name[1:]): ["x"] * count for name, count in counts.items()}
    whole = Report()
    for group, operations in groups.items():
        whole.record.update(report(*operations, group=group).record)
    return whole


@pytest.mark.parametrize(
    ("reports", "circle"),
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
        # A circle, and one that waits for it.
        (
            {0: started(_01=1), 1: started(_12=1), 2: started(_02=1), 3: started(_03=1)},
            [(0, 1), (1, 2), (2, 0), (3, 0)],
        ),
        ({0: started(_01=2), 1: started(_01=2)}, []),
    ],
)
def test_who_waits_for_each_other(reports, circle):
    assert [(each.waiting, each.rank) for each in find_circle(reports)] == circle


def in_a_circle(now: float, *in_runtime: bool, seconds: float = 0.0) -> dict[int, Report]:
    """Reports of two processes that wait for each other, as measured."""
    reports = {0: started(_01=1, _012=1), 1: started(_01=2)}
    for rank, each in enumerate(in_runtime):
        reports[rank].measurement = measured(now, seconds, each)
    return reports


def test_a_deadlock_takes_some_seconds_to_be_sure():
    watch = Watch(idle_limit=0, limit=0)
    assert watch.judge(in_a_circle(0.0), 0.0) == (None, [0, 1])
    assert watch.judge(in_a_circle(1.0, True, True), 1.0) == (None, [])
    assert watch.judge(in_a_circle(1.0, True, True), 7.0) == (None, [0, 1])
    verdict, _ = watch.judge(in_a_circle(8.0, True, True), 8.0)
    assert verdict is not None
    assert "rank 0 waits for rank 1 in x among ranks 0,1,2" in verdict.reason
    assert "rank 1 waits for rank 0 in x among ranks 0,1" in verdict.reason


@pytest.mark.parametrize(
    "last",
    [
        # One sleeps, reads a file or is looked at by a person.
        in_a_circle(8.0, True, False),
        # It compiles.
        in_a_circle(8.0, True, True, seconds=5.0),
        # It goes on.
        {0: started(_01=2, _012=1), 1: started(_01=2)},
    ],
)
def test_what_only_looks_like_a_deadlock(last):
    watch = Watch(idle_limit=0, limit=0)
    watch.judge(in_a_circle(0.0), 0.0)
    watch.judge(in_a_circle(1.0, True, True), 1.0)
    assert watch.judge(last, 8.0)[0] is None


def test_activity_counts_descendants():
    before, begin = activity(), time.monotonic()
    time.sleep(0.3)
    assert not is_busy(before, activity(), 10 * (time.monotonic() - begin))
    burn = "import time\nend = time.process_time() + 0.4\nwhile time.process_time() < end: pass"
    before, begin = activity(), time.monotonic()
    child = subprocess.Popen(
        [sys.executable, "-c", f"{burn}\nprint(flush=True)\ninput()"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert child.stdout is not None
    child.stdout.readline()
    after, elapsed = activity(), time.monotonic() - begin
    child.communicate(b"\n")
    assert is_busy(before, after, min(elapsed, 6.0))
    assert os.getpid() != child.pid


def test_channels():
    one, other = (Channel(each) for each in connected_pair())
    one.send(x=1, y=["a"])
    one.send(z=None)
    assert other.receive(1.0) == [{"x": 1, "y": ["a"]}, {"z": None}]
    assert other.receive(0.0) == []
    one.connection.sendall(b"GET / HTTP/1.1\n")
    with pytest.raises(ValueError, match="Expecting value"):
        other.receive(1.0)
    one.close()
    with pytest.raises(EOFError):
        other.receive(1.0)
    other.close()


def connected_pair():
    with socket.create_server(("127.0.0.1", 0)) as server:
        one = socket.create_connection(server.getsockname())
        return one, server.accept()[0]
