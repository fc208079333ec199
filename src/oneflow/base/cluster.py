"""Who takes part in a training job, and which device stands for which rank.

Several processes train together when the environment says so: a launcher has given each of them its
`RANK` and the `WORLD_SIZE`. Each process is then one rank with one device. A process that trains
alone is rank 0, and plays all ranks of a placement itself: rank ``i`` is its device number ``i``.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
from dataclasses import dataclass
from typing import Any

import jax

from oneflow.base import environment
from oneflow.base.device import DEVICE_TYPES, platform_devices


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
        seed: a random number that all joined processes share.
    """

    rank: int = 0
    world_size: int = 1
    local_rank: int = 0
    local_size: int = 1
    joined: bool = False
    seed: int | None = None


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


def shared_seed() -> int | None:
    """A random number that all processes of the job know; None for a process on its own."""
    return _membership.seed


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
        for device in jax.devices(DEVICE_TYPES[type].platform):
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


def set_membership(place: Membership) -> None:
    """Say what the place of this process is; `oneflow.control_plane.rendezvous` does, once."""
    global _membership
    _membership = place
    device_of_rank.cache_clear()


def leave() -> None:
    """Take part no more: this process is a copy of one that does."""
    set_membership(dataclasses.replace(_membership, joined=False))
