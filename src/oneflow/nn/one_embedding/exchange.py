"""Keys and rows between processes: each key belongs to one process, by a hash of it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from oneflow.base import cluster
from oneflow.distributed.collectives import all_gather_into_tensor, reduce_scatter_tensor
from oneflow.functional.creation import factory_functions, from_data
from oneflow.nn.one_embedding.key_index import mixed


def owner_ranks(keys: np.ndarray) -> np.ndarray:
    """Return the rank that each key belongs to."""
    # Other bits than those that the hash table of the process uses.
    return ((mixed(keys) >> np.uint64(40)) % np.uint64(cluster.world_size())).astype(np.int64)


def gathered(array: np.ndarray) -> list[np.ndarray]:
    """Return the arrays of all processes, which may differ in their first sizes."""
    world = cluster.world_size()
    if world == 1:
        return [array]
    sizes = _all_gather(np.array([len(array)], np.int64)).reshape(-1)
    padded = np.zeros((int(sizes.max()), *array.shape[1:]), array.dtype)
    padded[: len(array)] = array
    parts = _all_gather(padded).reshape(world, *padded.shape)
    return [part[:size] for part, size in zip(parts, sizes, strict=True)]


def exchange_rows(
    keys: np.ndarray,
    width: int,
    read: Callable[[np.ndarray, np.ndarray], np.ndarray],
    *more: np.ndarray,
) -> np.ndarray:
    """Return the rows of keys, each from the process that owns the key.

    Args:
        keys: the keys of this process, without repetition.
        width: the width of a row.
        read: returns the rows of keys of this process; it gets `more` beside the keys.
        *more: arrays with an element for each key.
    """
    if cluster.world_size() == 1:
        return read(keys, *more)
    requested = gathered(keys)
    others = [gathered(array) for array in more]
    longest = max(map(len, requested))
    rows_of_ranks = np.zeros((len(requested), longest, width), np.float32)
    flat = np.concatenate(requested)
    local = np.flatnonzero(owner_ranks(flat) == cluster.rank())
    unique, first, inverse = np.unique(flat[local], return_index=True, return_inverse=True)
    local_others = [np.concatenate(other)[local][first] for other in others]
    rows = read(unique, *local_others)[inverse]
    ranks = np.repeat(np.arange(len(requested)), [len(request) for request in requested])
    positions = np.concatenate([np.arange(len(request)) for request in requested])
    rows_of_ranks[ranks[local], positions[local]] = rows
    output = factory_functions.zeros(longest, width)
    reduce_scatter_tensor(output, from_data.from_numpy(rows_of_ranks.reshape(-1, width)))
    return output.numpy()[: len(keys)]


def _all_gather(array: np.ndarray) -> np.ndarray:
    local = from_data.from_numpy(array)
    result = factory_functions.zeros(
        array.shape[0] * cluster.world_size(), *array.shape[1:], dtype=local.dtype
    )
    all_gather_into_tensor(result, local)
    return result.numpy()
