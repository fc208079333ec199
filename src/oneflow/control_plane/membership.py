"""The membership of this process in a job, as its environment declares it.

A process takes part in a job if its environment says so: that of a launcher that sets `RANK` and
`WORLD_SIZE`, or of a cluster manager that JAX knows. Without either nothing is opened or connected.
"""

from __future__ import annotations

import importlib
import os
from typing import Any

from oneflow.base import cluster, environment
from oneflow.base.cluster import Membership
from oneflow.base.device import PREPARE_PROCESS, set_cpu_devices


def join_job() -> None:
    """Connect this process with the others of its job, if the environment says there are any.

    Must run once, before JAX starts a backend, which asks all processes for their devices.

    Raises:
        RuntimeError: the environment is incomplete or contradicts itself, or the processes could
            not connect.
    """
    membership = _membership_from_launcher()
    method = None if membership is not None else _cluster_detection_method()
    # Processes that a rank starts (workers of loaders, programs) inherit its environment and are no
    # ranks.
    is_child = environment.RANK_PROCESS.read() not in ("", str(os.getpid()))
    if is_child:
        cluster.set_membership(membership or Membership())
    elif membership is not None:
        os.environ[environment.RANK_PROCESS.name] = str(os.getpid())
        PREPARE_PROCESS.value()  # before there are other threads
        _rendezvous().join_from_launcher(membership)
    elif method is not None:
        os.environ[environment.RANK_PROCESS.name] = str(os.getpid())
        PREPARE_PROCESS.value()  # before there are other threads
        _rendezvous().join_from_manager(method)
    else:
        set_cpu_devices(environment.CPU_DEVICES.read_int())


def _rendezvous() -> Any:
    """Return the module that connects processes, which one on its own need not import."""
    return importlib.import_module("oneflow.control_plane.rendezvous")


def _membership_from_launcher() -> Membership | None:
    """Return the membership that the environment states; None for a process on its own."""
    world_size = environment.WORLD_SIZE.read_int()
    if world_size <= 1 or environment.CLUSTER.read() != "auto":
        return None
    required = (environment.RANK, environment.MASTER_ADDR, environment.MASTER_PORT)
    missing = [variable.name for variable in required if variable.name not in os.environ]
    if missing:
        raise RuntimeError(
            f"WORLD_SIZE={world_size} declares a job of {world_size} processes, but "
            f"{', '.join(missing)} is not set; start them with `python -m "
            "oneflow.distributed.launch`, or unset WORLD_SIZE"
        )
    rank = environment.RANK.read_int()
    if not 0 <= rank < world_size:
        raise RuntimeError(f"RANK={rank} must be less than WORLD_SIZE={world_size}")
    local_world_size = environment.LOCAL_WORLD_SIZE.read_int() or world_size
    return Membership(rank, world_size, environment.LOCAL_RANK.read_int(), local_world_size)


def _cluster_detection_method() -> str | None:
    """Return JAX's name of the manager that started this process as one of several, or None."""
    method = environment.CLUSTER.read()
    if method == "off":
        return None
    if method != "auto":
        return method
    if environment.read_count("OMPI_COMM_WORLD_SIZE") > 1:
        return "ompi"
    return "slurm" if environment.read_count("SLURM_STEP_NUM_TASKS") > 1 else None
