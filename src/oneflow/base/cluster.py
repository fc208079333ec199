"""Who takes part in a training job, and which device stands for which rank.

Several processes train together when the environment says so: a launcher has given each of them its
`RANK` and the `WORLD_SIZE`. Each process is then one rank with one device. A process that trains
alone is rank 0, and plays all ranks of a placement itself: rank ``i`` is its device number ``i``.
"""

from __future__ import annotations

import contextlib
import functools
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax

from oneflow.base import environment
from oneflow.base.device import platform_devices

# A rank notes its process id here, so that processes which it starts (workers of loaders, programs)
# and which inherit its environment do not take themselves for the rank.
_OWNER = "ONEFLOW_RANK_PROCESS"


@dataclass(frozen=True)
class Membership:
    """The place of this process in its job.

    Attributes:
        rank: its number, from 0.
        world_size: how many processes train together.
        local_rank: its number among those of its machine.
        local_size: how many there are on each machine.
        joined: whether it is connected with the others. Processes that a rank starts know its
            numbers and are not.
    """

    rank: int = 0
    world_size: int = 1
    local_rank: int = 0
    local_size: int = 1
    joined: bool = False


_membership = Membership()


def rank() -> int:
    """The number of this process among those that train together."""
    return _membership.rank


def world_size() -> int:
    """How many processes train together; 1 for a process on its own, whatever devices it has."""
    return _membership.world_size


def local_rank() -> int:
    """The number of this process among those of its machine."""
    return _membership.local_rank


def node_size() -> int:
    """How many machines take part."""
    return -(-_membership.world_size // _membership.local_size)


def node_rank() -> int:
    """The number of this process's machine."""
    return _membership.rank // _membership.local_size


def is_several_processes() -> bool:
    """Whether this process is connected with others and is one rank among several."""
    return _membership.joined


def rank_count(type: str) -> int:
    """How many ranks placements of a device type may name: processes, or devices of this one."""
    return _membership.world_size if _membership.joined else len(platform_devices(type))


@functools.cache
def device_of_rank(type: str, rank: int) -> Any:
    """The XLA device of a rank.

    Args:
        type: ``"cpu"``, ``"cuda"`` or ``"tpu"``.
        rank: number of a process; in a process on its own, number of one of its devices.

    Raises:
        RuntimeError: there is no such rank, or it has no device of that type.
    """
    count = rank_count(type)
    if not 0 <= rank < count:
        raise RuntimeError(_missing_rank(type, rank, count))
    if not _membership.joined:
        return platform_devices(type)[rank]
    with contextlib.suppress(RuntimeError):
        for device in jax.devices(type):
            if device.process_index == rank:
                return device
    raise RuntimeError(f"rank {rank} has no {type} device: XLA found none on its machine")


def _missing_rank(type: str, rank: int, count: int) -> str:
    if _membership.joined:
        return (
            f"rank {rank} does not exist: {count} processes train together, ranks 0 to {count - 1}"
        )
    if count == 0:
        return f"rank {rank} has no {type} device: XLA found none on this machine"
    hint = f"; set {environment.CPU_DEVICES.name}={rank + 1} for that many" * (type == "cpu")
    return (
        f"rank {rank} does not exist: this process trains alone and has {count} {type} device(s), "
        f"which are ranks 0 to {count - 1}{hint}; or start several processes with "
        "`python -m oneflow.distributed.launch --nproc_per_node N script.py`"
    )


def join() -> None:
    """Connect with the other processes of the job, if there are any.

    Must run once, before JAX starts a backend, which asks all processes for their devices.

    Raises:
        RuntimeError: the environment says only part of what is needed, or contradicts itself.
    """
    global _membership
    told = _told_by_launcher()
    if told is None:
        _set_cpu_devices(_number(environment.CPU_DEVICES))
        return
    _membership = told
    if os.environ.get(_OWNER, str(os.getpid())) != str(os.getpid()):
        return
    os.environ[_OWNER] = str(os.getpid())
    _set_cpu_devices(1)
    address, port = environment.MASTER_ADDR.read(), environment.MASTER_PORT.read()
    jax.distributed.initialize(
        coordinator_address=f"{address}:{port}",
        num_processes=told.world_size,
        process_id=told.rank,
        cluster_detection_method="deactivate",
    )
    _membership = Membership(told.rank, told.world_size, told.local_rank, told.local_size, True)
    sys.excepthook = _leaving_at_once(sys.excepthook)


def _leaving_at_once(report: Callable[..., Any]) -> Callable[..., None]:
    """An exception hook that reports as before and then ends the process.

    The ordinary end would wait for the other processes, and those may wait for this one.
    """

    def hook(kind: type[BaseException], error: BaseException, traceback: Any) -> None:
        try:
            report(kind, error, traceback)
            sys.stdout.flush()
            sys.stderr.flush()
        finally:
            os._exit(130 if issubclass(kind, KeyboardInterrupt) else 1)

    return hook


def _told_by_launcher() -> Membership | None:
    """What the environment says, or None when this process is on its own."""
    world = _number(environment.WORLD_SIZE)
    if world <= 1:
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
    local_world = _number(environment.LOCAL_WORLD_SIZE) or world
    return Membership(number, world, local, local_world)


def _number(variable: environment.Variable) -> int:
    text = variable.read()
    if not text.isdecimal():
        raise RuntimeError(f"{variable.name}={text!r} is not a whole number")
    return int(text)


def _set_cpu_devices(count: int) -> None:
    if count > 0:
        jax.config.update("jax_num_cpu_devices", count)
