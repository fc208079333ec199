"""The ranks of a job: this process's own, the world size, and the device of each rank.

Processes form a job when the environment says so: a launcher has given each of them its `RANK` and
the `WORLD_SIZE`. Each process is then one rank with one device. A process on its own is rank 0 and
runs all ranks of a placement itself: rank ``i`` is its device number ``i``.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
from dataclasses import dataclass
from typing import Any

import jax

from oneflow.base import environment
from oneflow.base.device import DEVICE_TYPES, number_cpu, platform_devices


@dataclass(frozen=True)
class Membership:
    """The membership of this process in a job.

    Attributes:
        rank: the index of the process in the job, from 0.
        world_size: the number of processes of the job.
        local_rank: the index of the process on its machine.
        local_world_size: the number of processes on each machine.
        joined: the process is connected with the others. Child processes of a rank know its rank
            and are not.
        seed: a random number that all joined processes share.
    """

    rank: int = 0
    world_size: int = 1
    local_rank: int = 0
    local_world_size: int = 1
    joined: bool = False
    seed: int | None = None


_membership = Membership()


def rank() -> int:
    """Return the rank of this process in its job."""
    return _membership.rank


def world_size() -> int:
    """Return the number of processes of the job; 1 without one, whatever devices there are."""
    return _membership.world_size


def local_rank() -> int:
    """Return the rank of this process on its machine."""
    return _membership.local_rank


def node_size() -> int:
    """Return the number of machines of the job."""
    return -(-_membership.world_size // _membership.local_world_size)


def node_rank() -> int:
    """Return the index of this process's machine."""
    return _membership.rank // _membership.local_world_size


def shared_seed() -> int | None:
    """Return a random number that all ranks of the job share; None for a process on its own."""
    return _membership.seed


def is_multiprocess() -> bool:
    """Return whether this process is connected with others, as one rank of several."""
    return _membership.joined


def rank_count(type: str) -> int:
    """Return the number of ranks of a device type: processes, or devices of this one."""
    return _membership.world_size if _membership.joined else len(platform_devices(type))


@functools.cache
def device_of_rank(type: str, rank: int) -> Any:
    """Return the XLA device of a rank.

    Args:
        type: ``"cpu"``, ``"cuda"`` or ``"tpu"``.
        rank: index of a process; in a process on its own, index of one of its devices.

    Raises:
        RuntimeError: there is no such rank, or it has no device of that type.
    """
    count = rank_count(type)
    if not 0 <= rank < count:
        raise RuntimeError(_missing_rank(type, rank, count))
    if not _membership.joined:
        return platform_devices(type)[rank]
    with contextlib.suppress(RuntimeError):
        for device in jax.devices(DEVICE_TYPES[type].platform):
            if device.process_index == rank:
                return device
    raise RuntimeError(f"rank {rank} has no {type} device: XLA found none on its machine")


def _missing_rank(type: str, rank: int, count: int) -> str:
    if _membership.joined:
        return f"rank {rank} does not exist: the job has {count} processes, ranks 0 to {count - 1}"
    if count == 0:
        return f"rank {rank} has no {type} device: XLA found none on this machine"
    hint = f"; set {environment.CPU_DEVICES.name}={rank + 1} for that many" * (type == "cpu")
    return (
        f"rank {rank} does not exist: this process is on its own and has {count} {type} device(s), "
        f"which are ranks 0 to {count - 1}{hint}; or start several processes with "
        "`python -m oneflow.distributed.launch --nproc_per_node N script.py`"
    )


def set_membership(membership: Membership) -> None:
    """Set the membership of this process; the rendezvous does this once."""
    global _membership
    _membership = membership
    number_cpu(membership.local_rank if membership.joined else 0)
    device_of_rank.cache_clear()


def leave() -> None:
    """Leave the job: this process is a copy of a rank."""
    set_membership(dataclasses.replace(_membership, joined=False))
