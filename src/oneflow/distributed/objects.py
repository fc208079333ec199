"""Collective operations on Python objects, which are pickled.

Unpickling runs code that the sender chooses: the processes of a job trust each other.
"""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from typing import Any

import numpy as np

from oneflow.base import cluster
from oneflow.dispatch.global_call import FIRST_SEED
from oneflow.distributed import collective_functions as functions
from oneflow.distributed.device_group import group_of_ranks, run_collective
from oneflow.distributed.groups import (
    ProcessGroup,
    group_index,
    group_ranks,
    is_outside,
    rank_or_first,
)
from oneflow.distributed.messages import recv, send
from oneflow.functional.global_tensors.trees import FIRST_OBJECT
from oneflow.program.captured_number import Seed
from oneflow.tensor.transfer import import_array


def all_gather_object(object_list: list[Any], obj: Any, group: ProcessGroup | None = None) -> None:
    """Gather the objects of all processes on every process.

    Args:
        object_list: one element per process, which are replaced.
        obj: the object of this process.
        group: the processes that call this, by default all.

    Raises:
        ValueError: the list has another length.

    Example:
        >>> import oneflow as flow
        >>> found = [None] * flow.distributed.get_world_size()
        >>> flow.distributed.all_gather_object(found, {"rank": flow.distributed.get_rank()})
        >>> found[0]
        {'rank': 0}
    """
    if is_outside(group):
        return
    ranks = group_ranks(group)
    _check_length("object_list", object_list, ranks)
    object_list[:] = map(pickle.loads, _all_gather(pickle.dumps(obj), ranks))


def gather_object(
    obj: Any,
    object_gather_list: list[Any] | None = None,
    dst: int | None = None,
    group: ProcessGroup | None = None,
    group_dst: int | None = None,
) -> None:
    """Gather the objects of all processes on process `dst`.

    Args:
        obj: the object of this process.
        object_gather_list: one element per process, which are replaced; only `dst` passes it.
        dst: the rank in the job of the process that gets them, by default 0.
        group: see `all_gather_object`.
        group_dst: its index in the group, in place of `dst`.

    Raises:
        ValueError: process `dst` passes no list, or one of another length.

    Example:
        >>> import oneflow as flow
        >>> found = [None] * flow.distributed.get_world_size()
        >>> flow.distributed.gather_object("hello", found if flow.env.get_rank() == 0 else None)
    """
    if is_outside(group):
        return
    ranks = group_ranks(group)
    dst = rank_or_first("dst", dst, group_dst, group)
    gathered = _all_gather(pickle.dumps(obj), ranks)
    if cluster.rank() == dst:
        if object_gather_list is None:
            raise ValueError(f"`object_gather_list` must be given on process {dst}, which is `dst`")
        _check_length("object_gather_list", object_gather_list, ranks)
        object_gather_list[:] = map(pickle.loads, gathered)


def broadcast_object_list(
    object_list: list[Any],
    src: int | None = None,
    group: ProcessGroup | None = None,
    device: Any = None,
    group_src: int | None = None,
) -> None:
    """Copy the objects of process `src` to all processes, into `object_list`.

    Args:
        object_list: elements that are replaced on the other processes; of one length on all.
        src: the rank in the job of the process that has them, by default 0.
        group: see `all_gather_object`.
        device: accepted for PyTorch's sake.
        group_src: its index in the group, in place of `src`.

    Example:
        >>> import oneflow as flow
        >>> names = ["a", 1] if flow.env.get_rank() == 0 else [None, None]
        >>> flow.distributed.broadcast_object_list(names)
        >>> names
        ['a', 1]
    """
    if is_outside(group):
        return
    src = rank_or_first("src", src, group_src, group)
    content = broadcast_bytes(pickle.dumps(object_list), src, group_ranks(group))
    if cluster.rank() != src:
        received = pickle.loads(content)
        _check_length("object_list", object_list, received)
        object_list[:] = received


def scatter_object_list(
    scatter_object_output_list: list[Any],
    scatter_object_input_list: Sequence[Any] | None = None,
    src: int | None = None,
    group: ProcessGroup | None = None,
    group_src: int | None = None,
) -> None:
    """Send object `i` of process `src` to process `i` of the group.

    Args:
        scatter_object_output_list: its first element is replaced.
        scatter_object_input_list: one object per process; only process `src` passes it.
        src: the rank in the job of the process that has them, by default 0.
        group: see `all_gather_object`.
        group_src: its index in the group, in place of `src`.

    Raises:
        ValueError: process `src` passes no list, or the output list is empty.

    Example:
        >>> import oneflow as flow
        >>> own, parts = [None], list(range(flow.distributed.get_world_size()))
        >>> flow.distributed.scatter_object_list(own, parts)
        >>> own[0] == flow.distributed.get_rank()
        True
    """
    if is_outside(group):
        return
    ranks = group_ranks(group)
    if not scatter_object_output_list:
        raise ValueError("`scatter_object_output_list` must have an element to replace")
    src = rank_or_first("src", src, group_src, group)
    parts: list[bytes] = []
    if cluster.rank() == src:
        if scatter_object_input_list is None:
            raise ValueError(
                f"`scatter_object_input_list` must be given on process {src}, which is `src`"
            )
        _check_length("scatter_object_input_list", scatter_object_input_list, ranks)
        parts = [pickle.dumps(part) for part in scatter_object_input_list]
    pickled = pickle.loads(broadcast_bytes(pickle.dumps(parts), src, ranks))
    local = pickled[ranks.index(cluster.rank())]
    scatter_object_output_list[0] = pickle.loads(local)


def send_object_list(
    object_list: list[Any],
    dst: int | None = None,
    group: ProcessGroup | None = None,
    device: Any = None,
    group_dst: int | None = None,
    use_batch: bool = False,
) -> None:
    """Send objects to process `dst`, which calls `recv_object_list`.

    Args:
        object_list: what is sent.
        dst: the rank in the job of the receiver.
        group: the group of both, by default all processes.
        device: accepted for PyTorch's sake.
        group_dst: its index in the group, in place of `dst`.
        use_batch: accepted for PyTorch's sake.

    Example:
        >>> import oneflow as flow
        >>> if flow.env.get_world_size() > 1:
        ...     if flow.env.get_rank() == 0:
        ...         flow.distributed.send_object_list(["a", 1], dst=1)
        ...     elif flow.env.get_rank() == 1:
        ...         names = [None, None]
        ...         sender = flow.distributed.recv_object_list(names, src=0)
    """
    content = pickle.dumps(object_list)
    for message in (np.array([len(content)]), np.frombuffer(content, np.uint8)):
        send(import_array(message), dst, group, group_dst=group_dst)


def recv_object_list(
    object_list: list[Any],
    src: int | None = None,
    group: ProcessGroup | None = None,
    device: Any = None,
    group_src: int | None = None,
    use_batch: bool = False,
) -> int:
    """Receive the objects that process `src` sends by `send_object_list`, into `object_list`.

    Args:
        object_list: elements that are replaced, as many as are sent.
        src: the rank in the job of the sender; by default any process of the group.
        group: the group of both, by default all processes.
        device: accepted for PyTorch's sake.
        group_src: its index in the group, in place of `src`.
        use_batch: accepted for PyTorch's sake.

    Returns:
        The rank of the sender; -1 outside of the group.

    Raises:
        ValueError: the list has another length than what was sent.

    Example:
        >>> import oneflow as flow
        >>> if flow.env.get_world_size() > 1:
        ...     if flow.env.get_rank() == 0:
        ...         flow.distributed.send_object_list(["a", 1], dst=1)
        ...     elif flow.env.get_rank() == 1:
        ...         names = [None, None]
        ...         sender = flow.distributed.recv_object_list(names, src=0)
    """
    length = import_array(np.zeros(1, np.int64))
    source = recv(length, src, group, group_src=group_src)
    if source < 0:
        return source
    content = import_array(np.zeros(int(length.item()), np.uint8))
    recv(content, source, group)
    received = pickle.loads(content.numpy().tobytes())
    _check_length("object_list", object_list, received)
    object_list[:] = received
    return source


def _check_length(name: str, objects: Sequence[Any], like: Sequence[Any]) -> None:
    if len(objects) != len(like):
        raise ValueError(f"`{name}` must have {len(like)} elements, got {len(objects)}")


def _all_gather(content: bytes, ranks: tuple[int, ...]) -> list[bytes]:
    """Return the contents of all processes, whose lengths may differ."""
    lengths = [
        int(length[0]) for length in _run(functions.all_gather, np.array([len(content)]), ranks)
    ]
    padded = np.frombuffer(content.ljust(_padded(max(lengths))), np.uint8)
    gathered = _run(functions.all_gather, padded, ranks)
    return [array.tobytes()[:length] for array, length in zip(gathered, lengths, strict=True)]


def broadcast_bytes(content: bytes, src: int, ranks: tuple[int, ...] | None = None) -> bytes:
    """Return the content of process `src`, on all of `ranks`, by default on all processes."""
    ranks = group_ranks(None) if ranks is None else ranks
    source = group_index("src", src, ranks)
    (length,) = _run(functions.broadcast, np.array([len(content)]), ranks, source=source)
    size = int(length[0])
    padded = np.frombuffer(content[:size].ljust(_padded(size)), np.uint8)
    (received,) = _run(functions.broadcast, padded, ranks, source=source)
    return received.tobytes()[:size]


# Seeds that processes share, by that of this one.
_shared_seeds: dict[tuple[int, int, tuple[int, ...]], Seed] = {}


def first_seed(seed: int, ranks: tuple[int, ...]) -> int:
    """The seed that the first of `ranks` has while this process has `seed`.

    All of them ask at the first draw from a generator that was seeded anew, and know it then. Other
    processes keep their own.
    """
    if cluster.rank() not in ranks or (isinstance(seed, Seed) and seed.is_shared):
        return seed
    key = getattr(seed, "seed_count", 0), int(seed), ranks
    shared = _shared_seeds.get(key)
    if shared is None:
        received = broadcast_bytes(int(seed).to_bytes(8, "little"), ranks[0], ranks)
        shared = _shared_seeds[key] = Seed(int.from_bytes(received, "little"), is_shared=True)
    return shared


FIRST_SEED.fill(first_seed)


@FIRST_OBJECT.fill
def first_object(value: Any, src: int) -> Any:
    """The object that process `src` has, on all processes of the job; they all call this."""
    return pickle.loads(broadcast_bytes(pickle.dumps(value), src))


def _padded(size: int) -> int:
    """Round a size up to one of few sizes, since each needs a program of its own."""
    return max(64, 1 << (size - 1).bit_length())


def _run(
    function: Any, array: np.ndarray, ranks: tuple[int, ...], **attributes: Any
) -> list[np.ndarray]:
    results = run_collective(function, group_of_ranks("cpu", ranks), [array], **attributes)
    return [np.asarray(result) for result in results]
