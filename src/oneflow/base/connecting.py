"""Connecting the processes of a group for collective operations on CPUs, quietly."""

from __future__ import annotations

import functools
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from oneflow.base import cluster
from oneflow.base.control.record import note_collective


@functools.cache
def connect(type: str, ranks: tuple[int, ...]) -> None:
    """Let the processes of a group find each other, before their first collective operation.

    All of them must call this, and nothing else in between. Gloo, which connects them, announces
    that on standard output, where it does not belong.

    Args:
        type: the device type on which the operation will run.
        ranks: the members in ascending order; this process is one of them.
    """
    if type != "cpu" or not cluster.is_several_processes() or len(ranks) < 2:
        return
    devices = [cluster.device_of_rank(type, rank) for rank in ranks]
    mesh = Mesh(np.array(devices), ("group",))
    split, whole = PartitionSpec("group"), PartitionSpec()
    own = jax.device_put(np.zeros(1, np.int32), devices[ranks.index(cluster.rank())])
    parts = jax.make_array_from_single_device_arrays(
        (len(ranks),), NamedSharding(mesh, split), [own]
    )
    total = jax.jit(
        jax.shard_map(
            lambda part: jax.lax.psum(part, "group"), mesh=mesh, in_specs=split, out_specs=whole
        )
    )
    note_collective(ranks, "connect")
    with _without_announcements():
        total(parts).block_until_ready()


@contextmanager
def _without_announcements() -> Iterator[None]:
    """Keep lines of Gloo out of standard output; everything else comes out at the end."""
    sys.stdout.flush()
    kept = os.dup(1)
    try:
        with tempfile.TemporaryFile() as caught:
            os.dup2(caught.fileno(), 1)
            try:
                yield
            finally:
                sys.stdout.flush()
                os.dup2(kept, 1)
            caught.seek(0)
            others = [line for line in caught if b"[Gloo]" not in line]
            os.write(1, b"".join(others))
    finally:
        os.close(kept)
