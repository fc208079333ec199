"""Processes that are no ranks of a job, although their environment describes one."""

import subprocess
import sys

import pytest

from tests.distributed.launching import PATIENCE, environment

JOB = {"WORLD_SIZE": "2", "RANK": "1", "MASTER_ADDR": "localhost", "MASTER_PORT": "1"}
CODE = """
import sys

sockets = []
sys.addaudithook(lambda event, arguments: event.startswith("socket.") and sockets.append(event))
import oneflow as flow

assert not sockets, sockets
print(flow.env.get_rank(), flow.env.get_world_size())
"""


@pytest.mark.parametrize(
    ("changes", "rank_and_size"),
    [
        # A worker of a data loader inherits the environment of its rank, whose process is another.
        ({**JOB, "ONEFLOW_RANK_PROCESS": "1"}, ["1", "2"]),
        ({**JOB, "ONEFLOW_CLUSTER": "off"}, ["0", "1"]),
        ({"SLURM_STEP_NUM_TASKS": "1"}, ["0", "1"]),
    ],
    ids=["child of a rank", "off", "one task"],
)
def test_importing_the_package_opens_no_sockets(changes, rank_and_size):
    run = subprocess.run(
        [sys.executable, "-c", CODE],
        env=environment(**changes),
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    assert run.stdout.split() == rank_and_size
