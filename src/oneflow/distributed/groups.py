"""Groups of processes, and the names by which PyTorch's programs connect them.

Processes that a launcher has started are connected as soon as `oneflow` is imported;
`init_process_group` then only checks what it is told. A process on its own becomes a rank by it.
"""

from __future__ import annotations

import datetime
import os
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar
from urllib.parse import parse_qs, urlsplit

from oneflow.base import cluster, environment
from oneflow.base.device import are_devices_in_use, platform_devices
from oneflow.base.group_ranks import next_number, ranks_of_group
from oneflow.control_plane.membership import join_job
from oneflow.random.generator import set_job_seed

default_pg_timeout = datetime.timedelta(minutes=30)


class Backend(str):
    """The name of a communication library, in lower case.

    Example:
        >>> import oneflow as flow
        >>> flow.distributed.Backend("GLOO") == flow.distributed.Backend.GLOO
        True
    """

    GLOO = "gloo"
    MPI = "mpi"
    NCCL = "nccl"
    UCC = "ucc"
    UNDEFINED = "undefined"
    default_device_backend_map: ClassVar[dict[str, str]] = {"cpu": GLOO, "cuda": NCCL}

    def __new__(cls, name: str) -> Backend:
        """Return a name in lower case."""
        return super().__new__(cls, name.lower())


@dataclass(frozen=True)
class ProcessGroup:
    """Processes that communicate.

    Attributes:
        ranks: their ranks in the job, in ascending order; empty on processes outside of the group.
        timeout: how long one waits for a message of another.
        number: tells groups that `new_group` made of the same processes apart, from 1.

    Example:
        >>> import oneflow as flow
        >>> group = flow.distributed.new_group([0])
        >>> group.size()
        1
    """

    ranks: tuple[int, ...]
    timeout: datetime.timedelta = field(default=default_pg_timeout, compare=False)
    number: int = 0

    def rank(self) -> int:
        """Return the index of this process in the group, -1 outside of it."""
        rank = cluster.rank()
        return self.ranks.index(rank) if rank in self.ranks else -1

    def size(self) -> int:
        """Return the number of processes, -1 outside of the group."""
        return len(self.ranks) or -1


class _Groups(type):
    """A class whose attribute `WORLD` depends on the job."""

    @property
    def WORLD(cls) -> ProcessGroup:
        return ProcessGroup(tuple(range(cluster.world_size())))


class GroupMember(metaclass=_Groups):
    """The groups that exist from the beginning.

    Attributes:
        WORLD: all ranks of the job.
        NON_GROUP_MEMBER: what `new_group` returns on processes outside of the group.

    Example:
        >>> import oneflow as flow
        >>> flow.distributed.group.WORLD.size() == flow.distributed.get_world_size()
        True
    """

    NON_GROUP_MEMBER = ProcessGroup(())


group = GroupMember


class _State:
    """The state that `init_process_group` and `destroy_process_group` leave."""

    initialized: bool | None = None


def group_ranks(group: ProcessGroup | None) -> tuple[int, ...]:
    """Return the ranks of a group, of all if it is None.

    Raises:
        TypeError: it is something else.
    """
    if group is None:
        return tuple(range(cluster.world_size()))
    if not isinstance(group, ProcessGroup):
        raise TypeError(
            f"`group` must be a group that `new_group` returned, or None, got "
            f"{type(group).__name__}"
        )
    return ranks_of_group(group.ranks, group.number)


def is_outside(group: ProcessGroup | None) -> bool:
    """Return whether this process takes no part in a group's operations, and warn if so."""
    if outside := cluster.rank() not in group_ranks(group):
        text = f"rank {cluster.rank()} is not in the group; this operation does nothing there"
        warnings.warn(text, stacklevel=3)
    return outside


def group_index(name: str, rank: int, ranks: Sequence[int]) -> int:
    """Return the index in a group of a rank of the job.

    Raises:
        ValueError: it is not in the group; `name` is the argument.
    """
    if rank in ranks:
        return ranks.index(rank)
    count = cluster.world_size()
    if not 0 <= rank < count:
        raise ValueError(f"`{name}`={rank} is not a rank: the job has ranks 0 to {count - 1}")
    raise ValueError(f"`{name}`={rank} is not a rank of the group, which has {list(ranks)}")


def rank_in_job(
    name: str, rank: int | None, group_rank: int | None, group: ProcessGroup | None
) -> int:
    """Return the rank in the job of a process of `group`, given `rank` or `group_rank`.

    Raises:
        ValueError: both are given or neither, or it is not in the group; `name` is the argument.
    """
    if rank is None and group_rank is not None:
        return get_global_rank(group, group_rank)
    if rank is None or group_rank is not None:
        raise ValueError(f"give either `{name}` or `group_{name}`, got {rank} and {group_rank}")
    group_index(name, rank, group_ranks(group))
    return rank


def rank_or_first(
    name: str, rank: int | None, group_rank: int | None, group: ProcessGroup | None
) -> int:
    """Return `rank_in_job`; rank 0 of the job if none is given."""
    first = 0 if rank is None and group_rank is None else rank
    return rank_in_job(name, first, group_rank, group)


# --- the job


def init_process_group(
    backend: str | None = None,
    init_method: str | None = None,
    timeout: datetime.timedelta | None = None,
    world_size: int = -1,
    rank: int = -1,
    store: None = None,
    group_name: str = "",
    pg_options: Any = None,
    device_id: Any = None,
) -> None:
    """Connect this process with the others of a job.

    Processes of a launcher (`python -m oneflow.distributed.launch`, torchrun) are connected since
    `oneflow` was imported, and only the arguments are checked. Others, such as those of
    `multiprocessing.spawn`, connect now; they must not have made a tensor before.

    Args:
        backend: ``"gloo"`` or ``"nccl"``; XLA chooses by the device, so ``"nccl"`` only demands
            that there are CUDA devices.
        init_method: ``"env://"``, by default, for `MASTER_ADDR`, `MASTER_PORT`, `RANK` and
            `WORLD_SIZE`; or ``"tcp://host:port"``, where rank 0 listens.
        timeout: accepted for PyTorch's sake; `ONEFLOW_JOIN_TIMEOUT` says how long to wait.
        world_size: the number of processes.
        rank: the number of this process.
        store: for a job of one process, which has nothing to exchange; else it must be None.
        group_name: accepted for PyTorch's sake.
        pg_options: accepted for PyTorch's sake.
        device_id: accepted for PyTorch's sake.

    Raises:
        ValueError: an unknown backend or method, or a `rank` that does not exist.
        RuntimeError: the process is another rank already, has made tensors, or the others could
            not be reached.

    Example:
        >>> import oneflow as flow
        >>> flow.distributed.init_process_group("gloo", rank=0, world_size=1)
        >>> flow.distributed.is_initialized()
        True
        >>> flow.distributed.destroy_process_group()
    """
    if store is not None and world_size != 1:
        raise ValueError("`store` needs `world_size` 1: processes rendezvous by an address")
    variables = _membership_of(init_method, world_size, rank)
    if cluster.is_multiprocess():
        _check_membership(variables)
    elif int(variables.get("WORLD_SIZE", 1)) > 1:
        _join(variables)
    _check_backend(backend)  # looks for devices, which a process must not do before it is a rank
    _State.initialized = True


def destroy_process_group(group: ProcessGroup | None = None) -> None:
    """Release a group; after the group of all ranks `is_initialized()` is false.

    Processes stay connected until they exit.

    Example:
        >>> import oneflow as flow
        >>> flow.distributed.destroy_process_group()
        >>> flow.distributed.is_initialized()
        False
    """
    if group is None or group == GroupMember.WORLD:
        _State.initialized = False


def is_initialized() -> bool:
    """Return whether this process is connected with others, or has called `init_process_group`.

    Example:
        >>> import oneflow as flow
        >>> flow.distributed.init_process_group("gloo", rank=0, world_size=1)
        >>> flow.distributed.is_initialized()
        True
        >>> flow.distributed.destroy_process_group()
    """
    return cluster.is_multiprocess() if _State.initialized is None else _State.initialized


def is_available() -> bool:
    """Return True: collective operations are always there.

    Example:
        >>> import oneflow as flow
        >>> flow.distributed.is_available()
        True
    """
    return True


def is_backend_available(backend: str) -> bool:
    """Return whether a communication library can be used: Gloo on CPUs, NCCL on CUDA devices.

    Example:
        >>> import oneflow as flow
        >>> flow.distributed.is_backend_available("gloo")
        True
    """
    name = Backend(backend)
    return name == Backend.GLOO or (name == Backend.NCCL and is_nccl_available())


def is_gloo_available() -> bool:
    """Return True: XLA's collectives on CPUs use Gloo.

    Example:
        >>> import oneflow as flow
        >>> flow.distributed.is_gloo_available()
        True
    """
    return True


def is_nccl_available() -> bool:
    """Return whether there are CUDA devices, whose collectives use NCCL.

    Example:
        >>> import oneflow as flow
        >>> flow.distributed.is_nccl_available() == flow.cuda.is_available()
        True
    """
    return bool(platform_devices("cuda"))


def is_mpi_available() -> bool:
    """Return False: there are no collectives by MPI. Jobs that `mpirun` starts use Gloo.

    Example:
        >>> import oneflow as flow
        >>> flow.distributed.is_mpi_available()
        False
    """
    return False


def get_backend(group: ProcessGroup | None = None) -> str:
    """Return the library of this process's collectives: ``"nccl"`` with CUDA devices, else Gloo.

    Example:
        >>> import oneflow as flow
        >>> flow.distributed.get_backend() in ("gloo", "nccl")
        True
    """
    group_ranks(group)
    return Backend.NCCL if is_nccl_available() else Backend.GLOO


# --- groups


def new_group(
    ranks: Sequence[int] | None = None,
    timeout: datetime.timedelta | None = None,
    backend: str | None = None,
    pg_options: Any = None,
    use_local_synchronization: bool = False,
    group_desc: str | None = None,
) -> ProcessGroup:
    """Return a group of some ranks, by default of all.

    Args:
        ranks: ranks of the job in any order. All of them make their groups in one order.
        timeout: how long a process waits for a message of another, by default half an hour.
        backend: ``"gloo"`` or ``"nccl"``; see `init_process_group`.
        pg_options: accepted for PyTorch's sake.
        use_local_synchronization: accepted for PyTorch's sake.
        group_desc: accepted for PyTorch's sake.

    Returns:
        The group; `GroupMember.NON_GROUP_MEMBER` on processes outside of it.

    Raises:
        ValueError: a rank does not exist or is given twice, or the backend is unknown.

    Example:
        >>> import oneflow as flow
        >>> flow.distributed.new_group([0]).ranks
        (0,)
    """
    _check_backend(backend)
    members = group_ranks(None) if ranks is None else tuple(sorted(ranks))
    for rank in members:
        group_index("ranks", rank, group_ranks(None))
    if len(set(members)) < len(members):
        raise ValueError(f"`ranks` must differ from each other, got {list(members)}")
    if cluster.rank() not in members:
        return GroupMember.NON_GROUP_MEMBER
    timeout = default_pg_timeout if timeout is None else timeout
    return ProcessGroup(members, timeout, next_number(members))


def get_rank(group: ProcessGroup | None = None) -> int:
    """Return the index of this process in a group, by default the job; -1 outside of it.

    Example:
        >>> import oneflow as flow
        >>> flow.distributed.get_rank() < flow.distributed.get_world_size()
        True
    """
    return ProcessGroup(group_ranks(group)).rank()


def get_world_size(group: ProcessGroup | None = None) -> int:
    """Return the number of processes of a group, by default of the job; -1 outside of it.

    Example:
        >>> import oneflow as flow
        >>> flow.distributed.get_world_size() >= 1
        True
    """
    return ProcessGroup(group_ranks(group)).size()


def get_process_group_ranks(group: ProcessGroup | None) -> list[int]:
    """Return the ranks of a group in the job.

    Example:
        >>> import oneflow as flow
        >>> flow.distributed.get_process_group_ranks(flow.distributed.new_group([0]))
        [0]
    """
    return list(group_ranks(group))


def get_group_rank(group: ProcessGroup, global_rank: int) -> int:
    """Return the index in a group of a rank of the job.

    Raises:
        ValueError: it is not in the group.

    Example:
        >>> import oneflow as flow
        >>> flow.distributed.get_group_rank(flow.distributed.new_group([0]), 0)
        0
    """
    return group_index("global_rank", global_rank, group_ranks(group))


def get_global_rank(group: ProcessGroup | None, group_rank: int) -> int:
    """Return the rank in the job of a process of a group.

    Raises:
        ValueError: the group is smaller.

    Example:
        >>> import oneflow as flow
        >>> flow.distributed.get_global_rank(flow.distributed.new_group([0]), 0)
        0
    """
    ranks = group_ranks(group)
    if not 0 <= group_rank < len(ranks):
        raise ValueError(f"`group_rank`={group_rank}: the group has {len(ranks)} processes")
    return ranks[group_rank]


# --- what a program states about its job


def _check_backend(backend: str | None) -> None:
    """Check that a backend can be used; ``"cpu:gloo,cuda:nccl"`` names one for each device type.

    Raises:
        ValueError: an unknown name.
        RuntimeError: it needs devices that are not there.
    """
    for part in (backend or "").split(","):
        device, _, name = part.rpartition(":")
        if name.lower() not in ("", Backend.GLOO, Backend.NCCL):
            raise ValueError(f"`backend`={backend!r}: expected 'gloo' or 'nccl'")
        if name.lower() == Backend.NCCL and not device and not is_nccl_available():
            raise RuntimeError("backend 'nccl' needs CUDA devices, and XLA found none; use 'gloo'")


def _membership_of(init_method: str | None, world_size: int, rank: int) -> dict[str, str]:
    """Return what arguments and environment say of the job, as variables of the environment."""
    names = ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")
    variables = {name: os.environ[name] for name in names if name in os.environ}
    url = urlsplit(init_method or "env://")
    if url.scheme == "tcp" and url.hostname and url.port:
        variables |= {"MASTER_ADDR": url.hostname, "MASTER_PORT": str(url.port)}
    elif url.scheme != "env":
        raise ValueError(f"`init_method`={init_method!r}: expected 'env://' or 'tcp://host:port'")
    variables |= {name.upper(): values[0] for name, values in parse_qs(url.query).items()}
    if world_size >= 0:
        variables["WORLD_SIZE"] = str(world_size)
    if rank >= 0:
        variables["RANK"] = str(rank)
    if not 0 <= int(variables.get("RANK", 0)) < int(variables.get("WORLD_SIZE", 1)):
        raise ValueError(
            f"`rank`={variables.get('RANK')} must be less than `world_size`="
            f"{variables.get('WORLD_SIZE', 'not given')}"
        )
    return variables


def _check_membership(variables: dict[str, str]) -> None:
    """Raise unless ``RANK`` and ``WORLD_SIZE`` are this process's."""
    actual = {"RANK": cluster.rank(), "WORLD_SIZE": cluster.world_size()}
    for name, value in actual.items():
        if int(variables.get(name, value)) != value:
            raise RuntimeError(
                f"this process is rank {cluster.rank()} of {cluster.world_size()}, as its launcher "
                f"says, and cannot have {name}={variables[name]}"
            )


def _join(variables: dict[str, str]) -> None:
    """Make this process, which has been on its own, a rank of a job.

    Raises:
        RuntimeError: it has used a device before.
    """
    if are_devices_in_use():
        raise RuntimeError(
            "`init_process_group` must be called before the first tensor is made: devices are "
            "shared with the other processes from the beginning. Move the call up, or start the "
            "processes with `python -m oneflow.distributed.launch`"
        )
    os.environ |= variables
    if environment.LOCAL_RANK.name not in os.environ:
        os.environ[environment.LOCAL_RANK.name] = variables["RANK"]
    join_job()
    set_job_seed()
