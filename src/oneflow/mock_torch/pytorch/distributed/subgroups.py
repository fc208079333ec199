"""Groups that come from other groups: divided, and without some of their processes."""

from __future__ import annotations

import contextlib
import pdb
import sys
from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import Any

from oneflow import distributed
from oneflow.distributed.groups import GroupMember, ProcessGroup
from oneflow.mock_torch.missing import raise_missing
from oneflow.profiler import record_function

# The number of times that each call of `breakpoint` has been passed, by its place.
_passed: dict[tuple[str, int], int] = {}


def split_group(
    parent_pg: ProcessGroup | None = None,
    split_ranks: Sequence[Sequence[int]] | None = None,
    timeout: timedelta | None = None,
    pg_options: Any = None,
    group_desc: str | None = None,
    backend: str | None = None,
) -> ProcessGroup | None:
    """Divide a group, and return the part in which this process is; None if it is in none.

    Args:
        parent_pg: the group, by default all processes, which all call this.
        split_ranks: the indices in the group of the processes of each part.
        timeout: how long a process waits for a message of another.
        pg_options: accepted.
        group_desc: accepted.
        backend: the library; see `init_process_group`.

    Raises:
        ValueError: there are no parts, one is empty, or has a process twice or one that the group
            has not.

    Example:
        >>> from oneflow import mock_torch
        >>> with mock_torch.enable():
        ...     import torch
        >>> torch.distributed.split_group(split_ranks=[[0]]).size()
        1
    """
    if not split_ranks:
        raise ValueError("`split_ranks` must have a list of ranks for each part, got none")
    ranks = distributed.get_process_group_ranks(parent_pg)
    own = distributed.get_rank(parent_pg)
    if own < 0:
        raise ValueError(f"rank {distributed.get_rank()} is not in the group to divide")
    for part in split_ranks:
        if not part or len(set(part)) < len(part) or not set(part) <= set(range(len(ranks))):
            raise ValueError(
                f"`split_ranks` must have different indices below {len(ranks)}, got {list(part)}"
            )
    parts = [[ranks[index] for index in sorted(part)] for part in split_ranks if own in part]
    return distributed.new_group(parts[0], timeout, backend) if parts else None


def shrink_group(
    ranks_to_exclude: list[int],
    group: ProcessGroup | None = None,
    shrink_flags: int = 0,
    pg_options: Any = None,
) -> ProcessGroup:
    """Return a group of the processes of another one that are not excluded, which all call this.

    Args:
        ranks_to_exclude: the indices in the group of those to leave out.
        group: a group of `new_group`.
        shrink_flags: 0, or 1 to abandon what runs; here each operation has been waited for.
        pg_options: accepted.

    Raises:
        TypeError: `ranks_to_exclude` is not a list.
        ValueError: it is empty, has an index twice or one that the group has not, or has all.
        RuntimeError: this process is excluded.
        NotImplementedError: the group is that of all processes, whose ranks stay.

    Example:
        >>> from oneflow import mock_torch
        >>> with mock_torch.enable():
        ...     import torch
        >>> group = torch.distributed.new_group([0])
        >>> torch.distributed.shrink_group([0], group)
        Traceback (most recent call last):
        ...
        ValueError: `ranks_to_exclude` must leave a process of the group's 1, got [0]
    """
    if not isinstance(ranks_to_exclude, list):
        raise TypeError(f"`ranks_to_exclude` must be a list, got {type(ranks_to_exclude)}")
    if shrink_flags not in (0, 1):
        raise ValueError(f"`shrink_flags` must be 0 or 1, got {shrink_flags}")
    if group is None or group == GroupMember.WORLD:
        raise_missing("shrink_group", "the job keeps its processes; give a group of `new_group`")
    ranks = distributed.get_process_group_ranks(group)
    excluded = set(ranks_to_exclude)
    are_indices = excluded <= set(range(len(ranks)))
    if not excluded or len(excluded) < len(ranks_to_exclude) or not are_indices:
        raise ValueError(
            f"`ranks_to_exclude` must have different indices below {len(ranks)}, got "
            f"{ranks_to_exclude}"
        )
    if len(excluded) == len(ranks):
        raise ValueError(
            f"`ranks_to_exclude` must leave a process of the group's {len(ranks)}, got "
            f"{ranks_to_exclude}"
        )
    if distributed.get_rank(group) in excluded:
        raise RuntimeError("this process is excluded: only those that stay call `shrink_group`")
    stays = [rank for index, rank in enumerate(ranks) if index not in excluded]
    return distributed.new_group(stays, group.timeout)


@contextlib.contextmanager
def record_comm(name: str) -> Iterator[None]:
    """Name the collective operations of a block in profiles: they lie in a range of that name.

    Example:
        >>> from oneflow import mock_torch
        >>> with mock_torch.enable():
        ...     import torch
        >>> with torch.distributed.record_comm("sum of losses"):
        ...     torch.distributed.all_reduce(torch.ones(1))
    """
    with record_function(name):
        yield


def breakpoint(rank: int = 0, skip: int = 0, timeout_s: float | None = 3600) -> None:
    """Stop in the debugger on one process, for which the others wait.

    Args:
        rank: the process.
        skip: how many times to pass this place before.
        timeout_s: accepted: a barrier waits as long as it takes.
    """
    frame = sys._getframe(1)
    place = (frame.f_code.co_filename, frame.f_lineno)
    _passed[place] = _passed.get(place, 0) + 1
    if _passed[place] <= skip:
        return
    if distributed.get_rank() == rank:
        pdb.Pdb(nosigint=True).set_trace(frame)
    distributed.barrier()
