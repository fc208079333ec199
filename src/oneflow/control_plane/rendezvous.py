"""Connecting the processes of a job with each other when the package is imported."""

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
    PREPARE_PROCESS,
    number_devices,
    platform_devices,
    set_cpu_devices,
)
from oneflow.control_plane.agent import Member
from oneflow.control_plane.collective_launch import connect_through, without_announcements
from oneflow.control_plane.coordinator import Hub
from oneflow.control_plane.job import Job

# A rank notes its process id here, so that processes which it starts (workers of loaders, programs)
# and which inherit its environment do not take themselves for the rank.
_OWNER = "ONEFLOW_RANK_PROCESS"
# XLA on CPUs gives up on another process after half an hour, even if that works, and JAX on one
# that a debugger stops for two minutes; the hub knows better. A month is as long as for ever.
_PATIENCE = "xla_cpu_collective_timeout_seconds"
_SECONDS_OF_PATIENCE = 30 * 24 * 3600


def join() -> None:
    """Connect with the other processes of the job, if the environment says that there are any.

    Must run once, before JAX starts a backend, which asks all processes for their devices.

    Raises:
        RuntimeError: the environment says only part of what is needed, or contradicts itself, or
            the processes did not find each other.
    """
    told = _told_by_launcher()
    method = None if told is not None else _managed_by()
    if os.environ.get(_OWNER, str(os.getpid())) != str(os.getpid()):
        cluster.set_membership(told or Membership())
    elif told is not None:
        os.environ[_OWNER] = str(os.getpid())
        PREPARE_PROCESS.value()  # before there are other threads
        _join_told(told)
    elif method is not None:
        os.environ[_OWNER] = str(os.getpid())
        PREPARE_PROCESS.value()  # before there are other threads
        _join_managed(method)
    else:
        set_cpu_devices(_number(environment.CPU_DEVICES))


# --- processes of a launcher that sets RANK and the like


def _told_by_launcher() -> Membership | None:
    """What the environment says, or None when this process is on its own."""
    world = _number(environment.WORLD_SIZE)
    if world <= 1 or environment.CLUSTER.read() != "auto":
        return None
    wanted = (environment.RANK, environment.MASTER_ADDR, environment.MASTER_PORT)
    missing = [each.name for each in wanted if each.name not in os.environ]
    if missing:
        raise RuntimeError(
            f"WORLD_SIZE={world} says that {world} processes train together, but "
            f"{', '.join(missing)} is not set; start them with `python -m "
            "oneflow.distributed.launch`, or unset WORLD_SIZE"
        )
    number = _number(environment.RANK)
    if not 0 <= number < world:
        raise RuntimeError(f"RANK={number} is not below WORLD_SIZE={world}")
    local = _number(environment.LOCAL_RANK)
    return Membership(number, world, local, _number(environment.LOCAL_WORLD_SIZE) or world)


def _join_told(told: Membership) -> None:
    host, port = _meeting_place(told), _number(environment.MASTER_PORT)
    if environment.AGENT_STORE.read() == "True":
        # torchrun listens at the port itself.
        port += 1
    job = Job(told.world_size, environment.JOB.read(), environment.SECRET.read())
    timeout = float(environment.JOIN_TIMEOUT.read())
    if told.rank == 0:
        listener = _listen(_own_address(host), port)
        Hub(listener, job, _free_port())
    member = Member((host, port), told.rank, job, timeout)
    coordinator, seed = member.await_start(timeout + 60.0)
    member.watch()
    _prepare_jax()
    jax.distributed.initialize(
        coordinator_address=f"{host}:{coordinator}",
        num_processes=told.world_size,
        process_id=told.rank,
        local_device_ids=_own_gpu(told),
        cluster_detection_method="deactivate",
        heartbeat_timeout_seconds=_SECONDS_OF_PATIENCE,
        coordinator_bind_address=f"{_own_address(host) or '[::]'}:{coordinator}",
    )
    _keep_service()
    # All processes start XLA now, while they are together: it gives up on those that come later.
    platform_devices("cpu")
    connect_through(member)
    _finish(told, seed)


def _meeting_place(told: Membership) -> str:
    """The address of rank 0: inside this machine if all processes are on it.

    Raises:
        RuntimeError: other machines can connect, and nothing tells the processes of this job from
            others.
    """
    host = environment.MASTER_ADDR.read()
    on_one_machine = environment.LOCAL_WORLD_SIZE.name in os.environ
    if on_one_machine and told.local_size == told.world_size:
        return "127.0.0.1"
    if not _own_address(host) and not environment.SECRET.read():
        raise RuntimeError(
            f"a job of several machines needs a secret, so that nobody else can join it: set "
            f"{environment.SECRET.name} to the same text on all of them, for example to what "
            "`openssl rand -hex 16` prints once. If all processes run on this machine, set "
            f"{environment.MASTER_ADDR.name}=localhost"
        )
    return host


def _prepare_jax() -> None:
    set_cpu_devices(1)
    flags = os.environ.get("XLA_FLAGS", "")
    if _PATIENCE not in flags:
        os.environ["XLA_FLAGS"] = f"{flags} --{_PATIENCE}={_SECONDS_OF_PATIENCE}".strip()
    # It would make processes deaf to SIGTERM.
    with contextlib.suppress(AttributeError):
        jax.config.update("jax_enable_preemption_service", False)


def _keep_service() -> None:
    """Let JAX's service of rank 0 be shut down in order or not at all.

    When the objects of an ending process are destroyed, it would wait for other processes, which
    may have gone.
    """
    with contextlib.suppress(AttributeError, KeyError):
        state = jax.distributed.shutdown.__globals__["global_state"]
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(state))


def _own_address(host: str) -> str:
    """Where to listen for processes that come to `host`: only here inside if it is local."""
    return host if host == "localhost" or host.startswith("127.") else ""


def _listen(address: str, port: int) -> socket.socket:
    try:
        return socket.create_server((address, port), backlog=4096)
    except OSError as error:
        raise RuntimeError(
            f"rank 0 cannot listen at port {port}: {error.strerror}; is another job running? "
            f"Choose another port with `--master_port` or {environment.MASTER_PORT.name}"
        ) from None


def _free_port() -> int:
    with socket.create_server(("", 0)) as probe:
        return probe.getsockname()[1]


def _own_gpu(told: Membership) -> list[int] | None:
    """The number of the GPU this process uses; several share one if there are too few."""
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    listed = glob.glob("/dev/nvidia[0-9]*") if visible is None else visible.split(",")
    count = len([each for each in listed if each not in ("", "-1")])
    if count == 0:
        return None
    if told.local_size > count:
        # Each would else reserve three quarters of the memory.
        os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    number = told.local_rank % count
    number_devices("cuda", number, count)
    return [number]


# --- processes of a cluster manager that JAX knows


def _managed_by() -> str | None:
    """The name JAX has for what started this process as one of several; None: nothing did."""
    chosen = environment.CLUSTER.read()
    if chosen == "off":
        return None
    if chosen != "auto":
        return chosen
    if _count_in("OMPI_COMM_WORLD_SIZE") > 1:
        return "ompi"
    return "slurm" if _count_in("SLURM_STEP_NUM_TASKS") > 1 else None


def _count_in(name: str) -> int:
    text = os.environ.get(name, "")
    return int(text) if text.isdecimal() else 0


def _join_managed(method: str) -> None:
    """Let JAX connect the processes; then rank 0 tells the others where its hub is."""
    _prepare_jax()
    timeout = float(environment.JOIN_TIMEOUT.read())
    jax.distributed.initialize(
        cluster_detection_method=method,
        initialization_timeout=math.ceil(timeout),
        heartbeat_timeout_seconds=_SECONDS_OF_PATIENCE,
    )
    _keep_service()
    rank, world = jax.process_index(), jax.process_count()
    local = _count_in("OMPI_COMM_WORLD_LOCAL_RANK") or _count_in("SLURM_LOCALID")
    machines = _count_in("SLURM_STEP_NUM_NODES") or 1
    local_size = _count_in("OMPI_COMM_WORLD_LOCAL_SIZE") or -(-world // machines)
    if world > 1:
        listener = _listen("", 0) if rank == 0 else None
        port = listener.getsockname()[1] if listener is not None else 0
        host, port, secret = _from_rank_0(_outer_address(), port, secrets.token_hex(16))
        job = Job(world, "", secret)
        if listener is not None:
            Hub(listener, job, 0)
        member = Member((host, port), rank, job, timeout)
        _, seed = member.await_start(timeout)
        member.watch()
        connect_through(member)
        _finish(Membership(rank, world, local, local_size), seed)


def _outer_address() -> str:
    """The address under which other machines reach this one."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            # Sends nothing: it only makes the system choose an interface.
            probe.connect(("10.255.255.255", 1))
            return probe.getsockname()[0]
        except OSError:
            return "127.0.0.1"


def _from_rank_0(host: str, port: int, secret: str) -> tuple[str, int, str]:
    """Where the hub of rank 0 is, and the secret that it has made up."""
    text = f"{host} {port} {secret}".encode().ljust(128)
    with without_announcements():
        received = multihost_utils.broadcast_one_to_all(np.frombuffer(text, np.uint8))
    host, number, secret = bytes(np.asarray(received)).decode().split()
    return host, int(number), secret


def _finish(place: Membership, seed: int) -> None:
    cluster.set_membership(dataclasses.replace(place, joined=True, seed=seed))


def _number(variable: environment.Variable) -> int:
    text = variable.read()
    if not text.isdecimal():
        raise RuntimeError(f"{variable.name}={text!r} is not a whole number")
    return int(text)
