"""The rendezvous of a job: connects its processes when the package is imported."""

from __future__ import annotations

import contextlib
import ctypes
import dataclasses
import glob
import math
import os
import secrets
import socket

import jax
import numpy as np
from jax.experimental import multihost_utils

from oneflow.base import cluster, environment
from oneflow.base.cluster import Membership
from oneflow.base.device import (
    number_devices,
    platform_devices,
    set_cpu_devices,
)
from oneflow.control_plane.agent import Agent
from oneflow.control_plane.channel import free_port
from oneflow.control_plane.collective_launch import set_agent, suppress_gloo_output
from oneflow.control_plane.coordinator import Coordinator
from oneflow.control_plane.job import Job
from oneflow.control_plane.key_value_store import service_state

# XLA on CPUs gives up on another process after half an hour, even if that works, and JAX on one
# that a debugger stops for two minutes; the coordinator knows better. A month is forever enough.
_TIMEOUT_FLAG = "xla_cpu_collective_timeout_seconds"
_TIMEOUT_SECONDS = 30 * 24 * 3600


# --- processes of a launcher that sets RANK and the like


def join_from_launcher(membership: Membership) -> None:
    """Connect this process with the others that a launcher has started.

    Raises:
        RuntimeError: the processes could not connect.
    """
    host, port = _coordinator_host(membership), environment.MASTER_PORT.read_int()
    if environment.AGENT_STORE.read() == "True":
        # torchrun listens on the port itself.
        port += 1
    job = Job(membership.world_size, environment.JOB.read(), environment.SECRET.read())
    timeout = float(environment.JOIN_TIMEOUT.read())
    if membership.rank == 0:
        server = _create_server(_bind_address(host), port)
        Coordinator(server, job, free_port())
    agent = Agent((host, port), membership.rank, job, timeout)
    jax_port, seed = agent.await_start(timeout + 60.0)
    agent.start()
    _configure_jax()
    jax.distributed.initialize(
        coordinator_address=f"{host}:{jax_port}",
        num_processes=membership.world_size,
        process_id=membership.rank,
        local_device_ids=_assign_gpu(membership),
        cluster_detection_method="deactivate",
        heartbeat_timeout_seconds=_TIMEOUT_SECONDS,
        coordinator_bind_address=f"{_bind_address(host) or '[::]'}:{jax_port}",
    )
    _retain_service_state()
    # All processes start XLA now, while they are together: it gives up on those that come later.
    platform_devices("cpu")
    set_agent(agent)
    _set_joined(membership, seed)


def _coordinator_host(membership: Membership) -> str:
    """Return the address of rank 0: the loopback address if all ranks are on this machine.

    Raises:
        RuntimeError: other machines can connect, and the job has no secret to reject them by.
    """
    host = environment.MASTER_ADDR.read()
    is_local_size_set = environment.LOCAL_WORLD_SIZE.name in os.environ
    if is_local_size_set and membership.local_world_size == membership.world_size:
        return "127.0.0.1"
    if not _bind_address(host) and not environment.SECRET.read():
        raise RuntimeError(
            f"a job of several machines needs a secret, so that nobody else can join it: set "
            f"{environment.SECRET.name} to the same text on all of them, for example to the output "
            "of `openssl rand -hex 16`. If all processes run on this machine, set "
            f"{environment.MASTER_ADDR.name}=localhost"
        )
    return host


def _configure_jax() -> None:
    set_cpu_devices(1)
    flags = os.environ.get("XLA_FLAGS", "")
    if _TIMEOUT_FLAG not in flags:
        os.environ["XLA_FLAGS"] = f"{flags} --{_TIMEOUT_FLAG}={_TIMEOUT_SECONDS}".strip()
    # With this service processes would ignore SIGTERM.
    with contextlib.suppress(AttributeError):
        jax.config.update("jax_enable_preemption_service", False)


def _retain_service_state() -> None:
    """Keep JAX's coordination service of rank 0 from being destroyed when the process exits.

    Its destructor would wait for other processes, which may have died. A shutdown in order is still
    possible.
    """
    with contextlib.suppress(AttributeError, KeyError):
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(service_state()))
    if hasattr(os, "register_at_fork"):  # Windows copies no processes
        os.register_at_fork(after_in_child=_leave_service)


def _leave_service() -> None:
    """Keep a copy of the process from taking leave of JAX's coordination service at its end.

    The copy has none of the threads that would do it, and would wait for them.
    """
    with contextlib.suppress(AttributeError, KeyError):
        state = service_state()
        # Their destructors would wait, too.
        for part in (state.client, state.service):
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(part))
        state.client = state.service = None


def _bind_address(host: str) -> str:
    """Return the address to listen on for clients of `host`: itself if local, else all (empty)."""
    return host if host == "localhost" or host.startswith("127.") else ""


def _create_server(address: str, port: int) -> socket.socket:
    try:
        return socket.create_server((address, port), backlog=4096)
    except OSError as error:
        raise RuntimeError(
            f"rank 0 cannot listen on port {port}: {error.strerror}; is another job running? "
            f"Choose another port with `--master_port` or {environment.MASTER_PORT.name}"
        ) from None


def _assign_gpu(membership: Membership) -> list[int] | None:
    """Return the index of the GPU of this process; several share one if there are too few."""
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    names = glob.glob("/dev/nvidia[0-9]*") if visible is None else visible.split(",")
    count = len([name for name in names if name not in ("", "-1")])
    if count == 0:
        return None
    if membership.local_world_size > count:
        # Otherwise each would reserve three quarters of the memory.
        os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    index = membership.local_rank % count
    number_devices("cuda", index, count)
    return [index]


# --- processes of a cluster manager that JAX knows


def join_from_manager(method: str) -> None:
    """Let JAX connect the processes; then rank 0 broadcasts the address of its coordinator."""
    _configure_jax()
    timeout = float(environment.JOIN_TIMEOUT.read())
    jax.distributed.initialize(
        cluster_detection_method=method,
        initialization_timeout=math.ceil(timeout),
        heartbeat_timeout_seconds=_TIMEOUT_SECONDS,
    )
    _retain_service_state()
    rank, world_size = jax.process_index(), jax.process_count()
    local_rank = environment.read_count("OMPI_COMM_WORLD_LOCAL_RANK") or environment.read_count(
        "SLURM_LOCALID"
    )
    nodes = environment.read_count("SLURM_STEP_NUM_NODES") or 1
    local_world_size = environment.read_count("OMPI_COMM_WORLD_LOCAL_SIZE") or -(
        -world_size // nodes
    )
    if world_size > 1:
        server = _create_server("", 0) if rank == 0 else None
        port = server.getsockname()[1] if server is not None else 0
        host, port, secret = _broadcast_address(_external_host(), port, secrets.token_hex(16))
        job = Job(world_size, "", secret)
        if server is not None:
            Coordinator(server, job, 0)
        agent = Agent((host, port), rank, job, timeout)
        _, seed = agent.await_start(timeout)
        agent.start()
        set_agent(agent)
        _set_joined(Membership(rank, world_size, local_rank, local_world_size), seed)


def _external_host() -> str:
    """Return the address under which other machines reach this one."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as connection:
        try:
            # Sends nothing: it only makes the system choose an interface.
            connection.connect(("10.255.255.255", 1))
            return connection.getsockname()[0]
        except OSError:
            return "127.0.0.1"


def _broadcast_address(host: str, port: int, secret: str) -> tuple[str, int, str]:
    """Return the host, the port and the secret that rank 0 passes, on all ranks."""
    text = f"{host} {port} {secret}".encode().ljust(128)
    with suppress_gloo_output():
        received = multihost_utils.broadcast_one_to_all(np.frombuffer(text, np.uint8))
    host, number, secret = bytes(np.asarray(received)).decode().split()
    return host, int(number), secret


def _set_joined(membership: Membership, seed: int) -> None:
    cluster.set_membership(dataclasses.replace(membership, joined=True, seed=seed))
