"""What the hub concludes from reports."""

import os
import socket
import subprocess
import sys
import time

import pytest

from oneflow.base.control.activity import activity, is_busy
from oneflow.base.control.channel import Channel
from oneflow.base.control.judge import Report, Watch, find_late, find_mismatch
from oneflow.base.control.record import Progress


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


@pytest.mark.parametrize("busy", [True, False])
def test_a_process_that_is_late(busy):
    watch = Watch(idle_limit=20, limit=100)
    reports = {0: report("a", "b"), 1: report("a")}
    for now in (0.0, 1.0):
        assert watch.judge(reports, now) == (None, [1])
    reports[1].activity = (5.0, 0.0)
    assert watch.judge(reports, 2.0) == (None, [])
    assert watch.judge(reports, 15.0) == (None, [])
    assert watch.judge(reports, 23.0) == (None, [1])
    reports[1].activity = (15.0 if busy else 5.1, 0.0)
    verdict, _ = watch.judge(reports, 24.0)
    if busy:
        assert verdict is None
        verdict, _ = watch.judge(reports, 101.0)
        assert verdict is not None
        assert "has not come for 101 seconds" in verdict.reason
    else:
        assert verdict is not None
        assert "rank 1 has done nothing for 24 seconds after 1" in verdict.reason


def test_progress_ends_the_wait():
    watch = Watch(idle_limit=20, limit=100)
    reports = {0: report("a", "b", "c"), 1: report("a")}
    watch.judge(reports, 0.0)
    reports[1] = report("a", "b")
    assert watch.judge(reports, 99.0) == (None, [1])
    assert watch.judge(reports, 150.0)[0] is None


def test_limits_can_be_switched_off():
    watch = Watch(idle_limit=0, limit=0)
    reports = {0: report("a", "b"), 1: report("a", activity=(0.0, 0.0))}
    for now in (0.0, 1e3, 1e6):
        reports[1].activity = (0.0, 0.0)
        assert watch.judge(reports, now)[0] is None


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
