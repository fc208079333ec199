"""Names that ``torch.distributed.distributed_c10d`` has beside `oneflow.distributed`."""

from __future__ import annotations

import datetime
import os
from typing import Any

from oneflow import distributed
from oneflow.base.device import Device
from oneflow.distributed import (
    get_global_rank as _get_global_rank,
    is_mpi_available as is_ucc_available,
    is_mpi_available as is_xccl_available,
)
from oneflow.distributed.groups import GroupMember, ProcessGroup


class DistError(RuntimeError):
    """The base of errors between processes."""


class DistBackendError(DistError):
    """The error of a communication library."""


class DistNetworkError(DistError):
    """The error of a connection."""


class DistStoreError(DistError):
    """The error of a store of keys and values."""


class QueueEmptyError(DistStoreError):
    """The error of an empty queue of a store."""


def is_torchelastic_launched() -> bool:
    """Return whether torchrun has started this process."""
    return "TORCHELASTIC_RUN_ID" in os.environ


def get_default_backend_for_device(device: Device | str) -> str:
    """Return the library that sends the tensors of a type of devices.

    Raises:
        ValueError: there is none.

    Example:
        >>> from oneflow.mock_torch.pytorch import distributed
        >>> distributed.get_default_backend_for_device("cuda:1")
        'nccl'
    """
    kind = Device(device).type
    if kind not in distributed.Backend.default_device_backend_map:
        raise ValueError(f"no library sends tensors of {kind} devices")
    return distributed.Backend.default_device_backend_map[kind]


def get_node_local_rank(fallback_rank: int | None = None) -> int:
    """Return the number of this process among the processes of its machine.

    Raises:
        RuntimeError: no launcher has said so, and there is no `fallback_rank`.
    """
    if "LOCAL_RANK" in os.environ:
        return int(os.environ["LOCAL_RANK"])
    if fallback_rank is None:
        raise RuntimeError("LOCAL_RANK is not set, and `fallback_rank` is not given")
    return fallback_rank


def monitored_barrier(
    group: ProcessGroup | None = None,
    timeout: datetime.timedelta | None = None,
    wait_all_ranks: bool = False,
) -> None:
    """Wait for all processes; the launcher names those that do not come."""
    distributed.barrier(group)


def supports_complex(reduceOp: Any) -> bool:
    """Return whether complex numbers can be reduced so."""
    ordered = ("MIN", "MAX", "PRODUCT", "BAND", "BOR", "BXOR")
    return reduceOp not in [getattr(distributed.ReduceOp, name) for name in ordered]


def get_pg_count() -> int:
    """Return 1: the group of all processes alone needs a connection of its own."""
    return 1


def _get_default_group() -> ProcessGroup:
    """Return the group of all processes.

    Raises:
        ValueError: there is none yet.
    """
    if not distributed.is_initialized():
        raise ValueError("Default process group has not been initialized, use init_process_group")
    return GroupMember.WORLD


def new_subgroups(
    group_size: int | None = None, group: ProcessGroup | None = None, **options: Any
) -> tuple[ProcessGroup, list[ProcessGroup]]:
    """Return groups of neighbouring ranks, this process's first.

    Args:
        group_size: how many ranks each has, by default those of a machine.
        group: the ranks to divide, by default all.
        options: the options of `new_group`.

    Raises:
        ValueError: the number of ranks is no multiple of `group_size`.
    """
    ranks = distributed.get_process_group_ranks(group)
    size = group_size or int(os.environ.get("LOCAL_WORLD_SIZE", len(ranks)))
    if len(ranks) % size:
        raise ValueError(f"`group_size`={size} does not divide the number of ranks, {len(ranks)}")
    return new_subgroups_by_enumeration(
        [ranks[start : start + size] for start in range(0, len(ranks), size)], **options
    )


def new_subgroups_by_enumeration(
    ranks_per_subgroup_list: list[list[int]], **options: Any
) -> tuple[ProcessGroup, list[ProcessGroup]]:
    """Return a group for each list of ranks, this process's first.

    Raises:
        ValueError: a rank is in two lists.
    """
    every = [rank for ranks in ranks_per_subgroup_list for rank in ranks]
    if len(set(every)) < len(every):
        raise ValueError(f"a rank is in two of the groups {ranks_per_subgroup_list}")
    groups = [distributed.new_group(ranks, **options) for ranks in ranks_per_subgroup_list]
    here = [group for group in groups if group != GroupMember.NON_GROUP_MEMBER]
    return (here[0] if here else GroupMember.NON_GROUP_MEMBER), groups


# Groups that need a connection of their own, with what that is; PyTorch keeps them here.
_pg_map: dict[ProcessGroup, Any] = {}

__all__ = [
    "DistBackendError",
    "DistError",
    "DistNetworkError",
    "DistStoreError",
    "QueueEmptyError",
    "_get_default_group",
    "_get_global_rank",
    "_pg_map",
    "get_default_backend_for_device",
    "get_node_local_rank",
    "get_pg_count",
    "is_torchelastic_launched",
    "is_ucc_available",
    "is_xccl_available",
    "monitored_barrier",
    "new_subgroups",
    "new_subgroups_by_enumeration",
    "supports_complex",
]
