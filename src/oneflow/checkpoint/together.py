"""What processes that train together do as one when they save and load."""

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
from oneflow.runtime.shards import assemble
from oneflow.tensor.global_values import move_global, relaid, told_by_all


def plays(rank: int) -> bool:
    """Whether this process is that rank, or plays all ranks."""
    return not cluster.is_several_processes() or cluster.rank() == rank


@contextlib.contextmanager
def all_succeed(deed: str) -> Iterator[None]:
    """A block that all processes run: where one fails, they all raise.

    Args:
        deed: what the block does, for the others' message.

    Raises:
        RuntimeError: the block failed in another process.
    """
    failure = None
    try:
        yield
    except Exception as error:
        failure = error
    failed = told_by_all(np.array([failure is not None], np.int64), "cpu")[:, 0]
    if failure is not None:
        raise failure
    if failed.any():
        raise RuntimeError(f"rank {int(failed.argmax())} could not {deed}")


def bytes_from(rank: int, content: bytes) -> bytes:
    """The bytes that `rank` gives, in all processes; what the others give is not looked at."""
    if not cluster.is_several_processes():
        return content
    (size,) = told_by_all(np.array([len(content)], np.int64), "cpu")[rank]
    source, everyone = Placement("cpu", [rank]), Placement.all("cpu")
    spec = spec_of((int(size),), uint8, source, source.broadcast)
    array = assemble(spec, lambda coordinate: np.frombuffer(content, np.uint8))
    received = move_global(Value(spec, array), Sharding(everyone, everyone.broadcast))
    return np.asarray(read_array(received).addressable_data(0)).tobytes()


def whole_at(value: Value, rank: int) -> np.ndarray | None:
    """All of a global value in the process of `rank`, None in the others, which take part."""
    placement: Any = value.spec.device
    if rank in placement.flat or not cluster.is_several_processes():
        moved = relaid(value, placement.broadcast)
    else:
        there = Placement(placement.type, [rank])
        moved = move_global(value, Sharding(there, there.broadcast))
    return np.asarray(read_array(moved).addressable_data(0)) if plays(rank) else None
