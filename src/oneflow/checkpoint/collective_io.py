"""Collective operations of all processes of a job for saving and loading."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import numpy as np

from oneflow.base import cluster
from oneflow.base.dtype import uint8
from oneflow.base.placement import Placement, Sharding
from oneflow.base.spec import spec_of
from oneflow.program.value import Value
from oneflow.runtime.eager import read_array
from oneflow.runtime.shards import make_global_array
from oneflow.tensor.global_values import all_gather_ints, convert_sbp, move_global


def runs_rank(rank: int) -> bool:
    """Return whether this process is that rank, or a process on its own, which runs all ranks."""
    return not cluster.is_multiprocess() or cluster.rank() == rank


@contextlib.contextmanager
def propagate_errors(action: str) -> Iterator[None]:
    """Return a context that all processes enter: if the block fails in one, all raise.

    Args:
        action: what the block does, as an infinitive for the message of the others.

    Raises:
        RuntimeError: the block failed in another process.
    """
    failure = None
    try:
        yield
    except Exception as error:
        failure = error
    failed = all_gather_ints([failure is not None], Placement.all("cpu"))[:, 0]
    if failure is not None:
        raise failure
    if failed.any():
        raise RuntimeError(f"rank {int(failed.argmax())} could not {action}")


def broadcast_bytes(rank: int, content: bytes) -> bytes:
    """Return the bytes that `rank` passes, in all processes; what others pass is ignored."""
    if not cluster.is_multiprocess():
        return content
    (size,) = all_gather_ints([len(content)], Placement.all("cpu"))[rank]
    source, all_ranks = Placement("cpu", [rank]), Placement.all("cpu")
    spec = spec_of((int(size),), uint8, source, source.broadcast)
    array = make_global_array(spec, lambda coordinate: np.frombuffer(content, np.uint8))
    received = move_global(Value(spec, array), Sharding(all_ranks, all_ranks.broadcast))
    return np.asarray(read_array(received).addressable_data(0)).tobytes()


def gather_to_rank(value: Value, rank: int) -> np.ndarray | None:
    """Return a whole global value in the process of `rank`, None in the others; a collective."""
    placement: Any = value.spec.device
    if rank in placement.flat or not cluster.is_multiprocess():
        moved = convert_sbp(value, placement.broadcast)
    else:
        destination = Placement(placement.type, [rank])
        moved = move_global(value, Sharding(destination, destination.broadcast))
    return np.asarray(read_array(moved).addressable_data(0)) if runs_rank(rank) else None
