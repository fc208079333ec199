"""Jobs that other programs than the launcher start: their environment variables are enough."""

import json
import subprocess
import sys

import pytest

from tests.distributed.launching import PATIENCE, PROGRAMS, environment, free_port

pytestmark = [pytest.mark.multiprocess, pytest.mark.xdist_group("processes")]

PLACE = [sys.executable, str(PROGRAMS / "place.py")]


def slurm(rank: int, port: int) -> dict[str, object]:
    """Return what `srun --nodes 2 --ntasks 2` sets; the number of the job decides the port."""
    return {
        "SLURM_JOB_ID": port % 4096,
        "SLURM_STEP_NODELIST": "localhost",
        "SLURM_NTASKS": 2,
        "SLURM_STEP_NUM_TASKS": 2,
        "SLURM_STEP_NUM_NODES": 2,
        "SLURM_PROCID": rank,
        "SLURM_LOCALID": 0,
    }


def open_mpi(rank: int, port: int) -> dict[str, object]:
    """Return what `mpirun -n 2` of Open MPI sets."""
    return {
        "OMPI_MCA_orte_hnp_uri": f"{port % 4096 * 4096}.0;tcp://127.0.0.1:1",
        "OMPI_COMM_WORLD_SIZE": 2,
        "OMPI_COMM_WORLD_RANK": rank,
        "OMPI_COMM_WORLD_LOCAL_RANK": rank,
        "OMPI_COMM_WORLD_LOCAL_SIZE": 2,
    }


def variables(rank: int, port: int) -> dict[str, object]:
    """Return what Ray Train and Kubeflow set, here for two machines."""
    return {
        "MASTER_ADDR": "localhost",
        "MASTER_PORT": port,
        "WORLD_SIZE": 2,
        "RANK": rank,
        "LOCAL_RANK": 0,
        "LOCAL_WORLD_SIZE": 1,
    }


def one_machine(rank: int, port: int) -> dict[str, object]:
    """Return the variables of processes of one machine at an address that others could reach."""
    more = {"MASTER_ADDR": "0.0.0.0", "LOCAL_RANK": rank, "LOCAL_WORLD_SIZE": 2}
    return {**variables(rank, port), **more}


def with_secret(rank: int, port: int) -> dict[str, object]:
    """Return what several machines need."""
    return {**variables(rank, port), "MASTER_ADDR": "0.0.0.0", "ONEFLOW_JOB_SECRET": "none's"}


# Job managers; the machines, and the numbers of processes on theirs.
MANAGERS = {"slurm": (slurm, 2, (0, 0)), "open_mpi": (open_mpi, 1, (0, 1))}
MANAGERS["variables"] = (variables, 2, (0, 0))
MANAGERS["one_machine"] = (one_machine, 1, (0, 1))
MANAGERS["with_secret"] = (with_secret, 2, (0, 0))


@pytest.mark.parametrize("manager", MANAGERS)
def test_processes_of(manager, sample):
    sample.take_turns(MANAGERS, manager, 2)
    told, machines, local_ranks = MANAGERS[manager]
    port = free_port()
    processes = [
        subprocess.Popen(
            PLACE,
            env=environment(**{name: str(value) for name, value in told(rank, port).items()}),
            stdout=subprocess.PIPE,
            text=True,
        )
        for rank in range(2)
    ]
    for rank, process in enumerate(processes):
        output = process.communicate(timeout=PATIENCE)[0]
        assert json.loads(output) == [rank, 2, local_ranks[rank], machines, [2.0, 2.0]]


def test_several_machines_need_a_secret():
    told = {**variables(0, free_port()), "MASTER_ADDR": "0.0.0.0"}
    run = subprocess.run(
        PLACE,
        env=environment(**{name: str(value) for name, value in told.items()}),
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert run.returncode == 1
    assert "set ONEFLOW_JOB_SECRET to the same text on all of them" in run.stderr


def test_processes_of_torchrun():
    run = subprocess.run(
        [sys.executable, "-m", "torch.distributed.run", "--nproc_per_node", "2", PLACE[1]],
        env=environment(MASTER_PORT=str(free_port())),
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    lines = sorted(map(json.loads, run.stdout.splitlines()))
    assert lines == [[rank, 2, rank, 1, [2.0, 2.0]] for rank in range(2)]
