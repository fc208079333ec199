"""Whatever one process does wrong, all end soon, with one message that names it."""

import os
import signal
import subprocess
import sys
import time

import pytest

from tests.distributed.launching import PROGRAMS, environment, launch

pytestmark = [pytest.mark.multiprocess, pytest.mark.xdist_group("processes")]

# What it does; the exit code of the launcher; what the message says of rank 1.
FAULTS = [
    ("killed", 137, ["rank 1 ended abruptly", "rank 1 was killed by SIGKILL"]),
    (
        "raises",
        1,
        ["rank 1 failed: ValueError: something is wrong here", 'File "', "exit code 1"],
    ),
    ("exits", 1, ["rank 1 finished after 2 collective operation(s)", "rank 0 waits for it"]),
    ("leaves", 1, ["rank 1 ended abruptly", "rank 1 ended with exit code 0"]),
    ("sleeps", 1, ["rank 1 has done nothing for", "rank 0 waits for it", "time.sleep(600)"]),
    ("strays", 1, ["different programs", "all_reduce(float32[3]", "broadcast(float32[3]"]),
    ("shapes", 1, ["different programs", "float32[3]", "float32[4]"]),
]


def processes_of(program: str) -> list[str]:
    listing = subprocess.run(["ps", "ax", "-o", "args"], capture_output=True, text=True, check=True)
    return [line for line in listing.stdout.splitlines() if program in line]


@pytest.mark.parametrize(("what", "code", "words"), FAULTS, ids=[fault[0] for fault in FAULTS])
def test_a_process_at_fault(what, code, words):
    outcome = launch("fault.py", what, "1", ONEFLOW_HANG_TIMEOUT="2")
    assert outcome.code == code, outcome.error
    assert outcome.seconds < 30
    message = outcome.error[outcome.error.index("oneflow.distributed.launch: ") :]
    for each in words:
        assert each in message, outcome.error
    assert outcome.error.count("oneflow.distributed.launch: ") == 1
    assert "rank 0 failed" not in outcome.error
    assert not processes_of("fault.py")


def test_rank_0_is_killed():
    outcome = launch("fault.py", "killed", "0")
    assert outcome.code == 137, outcome.error
    assert "rank 0 was killed by SIGKILL" in outcome.error
    assert not processes_of("fault.py")


def test_a_process_that_works_longer_than_others_is_no_fault():
    outcome = launch("fault.py", "late", "0", ONEFLOW_HANG_TIMEOUT="1")
    assert outcome.code == 0, outcome.error
    assert sorted(outcome.output.split("\n")) == ["", "done 0", "done 1"]


def test_no_process_outlives_the_launcher():
    outcome = launch("fault.py", "kills_the_launcher", "1")
    assert outcome.code == -signal.SIGKILL
    deadline = time.monotonic() + 10
    while processes_of("fault.py"):
        assert time.monotonic() < deadline
        time.sleep(0.1)


def test_signals_are_passed_on():
    command = [sys.executable, "-m", "oneflow.distributed.launch", "--nproc_per_node", "2"]
    launcher = subprocess.Popen(
        [*command, str(PROGRAMS / "fault.py"), "sleeps", "1"],
        env=environment(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    time.sleep(1.0)
    os.kill(launcher.pid, signal.SIGTERM)
    assert launcher.wait(timeout=30) == 128 + signal.SIGTERM
    assert not processes_of("fault.py")


def start_rank(rank: int, world_size: int, port: int) -> subprocess.Popen:
    """One process of a job, started without the launcher."""
    changes = {"RANK": rank, "WORLD_SIZE": world_size, "MASTER_PORT": port, "LOCAL_RANK": rank}
    return subprocess.Popen(
        [sys.executable, str(PROGRAMS / "fault.py"), "raises", "1"],
        env=environment(
            MASTER_ADDR="localhost", **{name: str(value) for name, value in changes.items()}
        ),
        stderr=subprocess.PIPE,
        text=True,
    )


def test_faults_without_a_launcher():
    processes = [start_rank(rank, 2, 29871) for rank in range(2)]
    errors = [process.communicate(timeout=60)[1] for process in processes]
    assert [process.returncode for process in processes] == [1, 1]
    assert "rank 1 failed: ValueError: something is wrong here; rank 0 ends" in errors[0]
    assert "ValueError: something is wrong here" in errors[1]


def test_world_sizes_that_differ():
    processes = [start_rank(0, 2, 29872), start_rank(1, 3, 29872)]
    for process in processes:
        error = process.communicate(timeout=60)[1]
        assert process.returncode == 1
        assert "world sizes differ: rank 1 was started as one of 3 processes" in error
