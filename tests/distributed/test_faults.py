"""When one process fails, all exit soon, with one message that names the root cause."""

import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator

import pytest

from tests.distributed.launching import (
    PATIENCE,
    PROGRAMS,
    environment,
    finish,
    free_port,
    launch,
    start,
)

pytestmark = [
    pytest.mark.multiprocess,
    pytest.mark.xdist_group("processes"),
    pytest.mark.usefixtures("late_job", "deadlocked_job"),
]

# The fault; the exit code of the launcher; the part of the message about rank 1.
FAULTS = [
    ("killed", 137, ["rank 1 was killed by SIGKILL"]),
    (
        "raises",
        1,
        ["rank 1 failed: ValueError: something is wrong here", 'File "', "exited with code 1"],
    ),
    (
        "exits",
        1,
        [
            "rank 1 finished after 1 collective operation(s)",
            "rank 0 waits for it",
            "rank 1 exited with code 0",
        ],
    ),
    (
        "exits with 3",
        3,
        ["rank 1 finished after 1 collective operation(s)", "rank 1 exited with code 3"],
    ),
    # Rank 0, with JAX's coordination service, exits later.
    ("exits slowly with 3", 3, ["rank 1 exited with code 3"]),
    ("leaves", 1, ["rank 1 exited unexpectedly", "rank 1 exited with code 0"]),
    (
        "sleeps",
        1,
        [
            "rank 1 has been idle for",
            "rank 0 waits for it",
            "time.sleep(600)",
            "(ONEFLOW_HANG_TIMEOUT=2; 0 waits forever)",
        ],
    ),
    (
        "is stopped",
        137,
        ["rank 1 is stopped: it has not answered for", "(ONEFLOW_HANG_TIMEOUT=2; 0 waits forever)"],
    ),
    ("strays", 1, ["different programs", "all_reduce(float32[3]", "broadcast(float32[3]"]),
    (
        "converts",
        1,
        ["different programs", "conversion of float32[2](S(0)) from", "all_reduce(float32[3]"],
    ),
    ("reads", 1, ["transfer of float32[2](B) from", "ranks=[1]", "all_reduce(float32[3]"]),
    ("splits", 1, ["different programs", "float32[2,2](S(0))", "float32[2,2](S(1))"]),
    ("shapes", 1, ["different programs", "float32[3]", "float32[4]"]),
    *[
        (f"loses a {what}", 1, ["rank 1 failed: ConnectionError: a message to rank 0 could not"])
        for what in ("conversion", "transfer", "reduction")
    ],
    (
        "is interrupted",
        1,
        ["different programs", "all_reduce(float32[5])", "all_reduce(float32[3])"],
    ),
    ("lengths", 1, ["different programs", "float32[3]", "float32[400000]"]),
]


def processes_with(argument: str) -> list[str]:
    """Processes of this machine that were started with an argument."""
    listing = subprocess.run(
        ["ps", "axww", "-o", "args"], capture_output=True, text=True, check=True
    )
    return [line for line in listing.stdout.splitlines() if argument in line.split()]


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.1)


@pytest.fixture
def mark() -> str:
    """An argument that no other process has."""
    return uuid.uuid4().hex


@pytest.fixture(scope="module")
def deadlocked_job() -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A job whose deadlock is observed, for 5 s, beside the tests before the one that reads it.

    And an argument that no other process has.
    """
    mark = uuid.uuid4().hex
    with start("fault.py", "deadlock", "0", mark, processes=3) as job:
        yield job, mark
        job.kill()


@pytest.mark.parametrize(("what", "code", "words"), FAULTS, ids=[fault[0] for fault in FAULTS])
def test_a_process_at_fault(what, code, words, mark, sample):
    sample.take_turns(FAULTS, (what, code, words), 3)
    limits = {"ONEFLOW_HANG_TIMEOUT": "2"} if what in ("sleeps", "is stopped") else {}
    outcome = launch("fault.py", what, "1", mark, **limits)
    assert outcome.code == code, outcome.error
    message = outcome.error[outcome.error.index("oneflow.distributed.launch: ") :]
    for word in words:
        assert word in message, outcome.error
    assert outcome.error.count("oneflow.distributed.launch: ") == 1
    assert "rank 0 failed" not in outcome.error
    assert "wrong" not in outcome.output
    assert not processes_with(mark)


def test_an_interrupted_wait_for_others_can_be_repeated():
    outcome = launch("fault.py", "is interrupted", "1", "again", ONEFLOW_HANG_TIMEOUT="60")
    assert outcome.code == 0, outcome.error
    assert outcome.output.splitlines() == ["interrupted: [1.0, 1.0, 1.0, 1.0, 1.0]"]


def test_a_loaded_tensor_that_one_rank_has_read_before(tmp_path):
    outcome = launch("loaded.py", str(tmp_path), ONEFLOW_HANG_TIMEOUT="0")
    assert outcome.code == 1
    assert outcome.output.splitlines() == ["so far"] * 2
    for words in ("this rank has not used the tensor before", "transfer of float32[4](B) from"):
        assert words in outcome.error, outcome.error


def test_rank_0_is_killed(mark):
    outcome = launch("fault.py", "killed", "0", mark)
    assert outcome.code == 137, outcome.error
    assert "rank 0 was killed by SIGKILL" in outcome.error
    assert not processes_with(mark)


def test_rank_0_exits():
    outcome = launch("fault.py", "exits with 3", "0")
    assert outcome.code == 3, outcome.error
    assert "rank 0 finished after 1 collective operation(s)" in outcome.error
    assert "rank 0 exited with code 3" in outcome.error


def test_ranks_that_wait_for_each_other(deadlocked_job):
    job, mark = deadlocked_job
    outcome = finish(job)
    assert outcome.code == 1, outcome.error
    message = outcome.error[outcome.error.index("oneflow.distributed.launch: ") :]
    assert "deadlock: the ranks wait for each other in different collective operations" in message
    for one, other in ((0, 1), (1, 2), (2, 0)):
        assert f"rank {one} waits for rank {other} in conversion of float32[2]" in message
    assert not processes_with(mark)


NO_FAULTS = ("late", "forks")


@pytest.mark.parametrize("what", NO_FAULTS)
def test_what_is_no_fault(what, sample):
    sample.take_turns(NO_FAULTS, what)
    outcome = launch("fault.py", what, "0", ONEFLOW_HANG_TIMEOUT="2")
    assert outcome.code == 0, outcome.error
    assert sorted(outcome.output.split("\n")) == ["", "done 0", "done 1"]


def test_no_process_outlives_the_launcher(mark):
    outcome = launch("fault.py", "kills_the_launcher", "1", mark)
    assert outcome.code == -signal.SIGKILL
    wait_until(lambda: not processes_with(mark))


def test_signals_are_passed_on(mark):
    command = [sys.executable, "-m", "oneflow.distributed.launch", "--nproc_per_node", "2"]
    launcher = subprocess.Popen(
        [*command, str(PROGRAMS / "fault.py"), "sleeps", "1", mark],
        env=environment(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    # Itself and two more.
    wait_until(lambda: len(processes_with(mark)) == 3)
    os.kill(launcher.pid, signal.SIGTERM)
    assert launcher.wait(timeout=PATIENCE) == 128 + signal.SIGTERM
    assert not processes_with(mark)


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
    port = free_port()
    processes = [start_rank(rank, 2, port) for rank in range(2)]
    errors = [process.communicate(timeout=PATIENCE)[1] for process in processes]
    assert [process.returncode for process in processes] == [1, 1]
    assert "rank 1 failed: ValueError: something is wrong here; rank 0 exits" in errors[0]
    assert "ValueError: something is wrong here" in errors[1]


def test_world_sizes_that_differ():
    port = free_port()
    processes = [start_rank(0, 2, port), start_rank(1, 3, port)]
    for process in processes:
        error = process.communicate(timeout=PATIENCE)[1]
        assert process.returncode == 1
        assert "world sizes differ: rank 1 was started as one of 3 processes" in error
