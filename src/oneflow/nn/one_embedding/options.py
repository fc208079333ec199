"""Descriptions of tables and stores: `oneflow.one_embedding.make_...`."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Initializer = Mapping[str, Any]
BYTES_PER_MB = 2**20


def make_uniform_initializer(low: float, high: float) -> Initializer:
    """Describe first values that are uniform from `low` to `high`.

    Example:
        >>> import oneflow as flow
        >>> flow.one_embedding.make_uniform_initializer(low=-0.1, high=0.1)
        {'type': 'uniform', 'low': -0.1, 'high': 0.1}
    """
    return {"type": "uniform", "low": low, "high": high}


def make_normal_initializer(mean: float, std: float) -> Initializer:
    """Describe first values that are normal.

    Example:
        >>> import oneflow as flow
        >>> flow.one_embedding.make_normal_initializer(mean=0.0, std=0.05)
        {'type': 'normal', 'mean': 0.0, 'std': 0.05}
    """
    return {"type": "normal", "mean": mean, "std": std}


def make_trunc_normal_initializer(
    mean: float = 0.0, std: float = 1.0, a: float = -2.0, b: float = 2.0
) -> Initializer:
    """Describe first values that are normal, drawn again outside of `a` to `b`.

    Raises:
        ValueError: less than a hundredth of what is drawn would be kept.

    Example:
        >>> import oneflow as flow
        >>> flow.one_embedding.make_trunc_normal_initializer(std=0.5, a=-1.0, b=1.0)
        {'type': 'trunc_normal', 'mean': 0.0, 'std': 0.5, 'a': -1.0, 'b': 1.0}
    """
    if not (a < b and a < mean + 2.3 * std and b > mean - 2.3 * std and b - a > 0.05 * std):
        raise ValueError(f"too few numbers of mean {mean} and std {std} are from {a} to {b}")
    return {"type": "trunc_normal", "mean": mean, "std": std, "a": a, "b": b}


def make_constant_initializer(value: float) -> Initializer:
    """Describe first values that are all the same.

    Example:
        >>> import oneflow as flow
        >>> flow.one_embedding.make_constant_initializer(0.5)
        {'type': 'constant', 'value': 0.5}
    """
    return {"type": "constant", "value": value}


def make_column_options(initializer: Initializer) -> Initializer:
    """Describe a column of a table of several columns, by the first values of its elements.

    Example:
        >>> import oneflow as flow
        >>> one = flow.one_embedding
        >>> columns = [one.make_column_options(one.make_constant_initializer(x)) for x in (1, 2)]
        >>> len(one.make_table_options(columns).columns)
        2
    """
    return initializer


@dataclass(frozen=True)
class TableOptions:
    """A table.

    Attributes:
        columns: the first values of each of its columns.
    """

    columns: tuple[Initializer, ...]


def make_table_options(param: Initializer | Sequence[Initializer]) -> TableOptions:
    """Describe a table.

    Args:
        param: the first values of its elements, or those of each of its columns.

    Raises:
        TypeError: it is something else.

    Example:
        >>> import oneflow as flow
        >>> initializer = flow.one_embedding.make_normal_initializer(mean=0.0, std=0.05)
        >>> table = flow.one_embedding.make_table_options(initializer)
    """
    columns = tuple(param) if isinstance(param, Sequence) else (param,)
    if not columns or not all(
        isinstance(column, Mapping) and "type" in column for column in columns
    ):
        raise TypeError(
            "a table is described by an initializer, such as make_uniform_initializer(-0.1, 0.1), "
            f"or by one for each column; got {param!r}"
        )
    return TableOptions(columns)


@dataclass(frozen=True)
class StoreOptions:
    """The folders and memory that hold the rows of a store.

    Attributes:
        persistent_path: the folder of all processes, or one of each.
        capacity: the greatest number of rows of all processes; None for no limit.
        size_factor: length of a row in the store in embeddings: 1 and as many as the optimizer
            keeps states of a parameter.
        cache_bytes: the bytes of rows that are held in memory; None: all of them.
    """

    persistent_path: str | tuple[str, ...]
    capacity: int | None
    size_factor: int
    cache_bytes: int | None


def _store(
    persistent_path: Any, capacity: int | None, size_factor: int, cache_mb: float | None
) -> StoreOptions:
    if capacity is not None and capacity <= 0:
        raise ValueError(f"`capacity` must be positive, got {capacity}")
    if size_factor < 1:
        raise ValueError(f"`size_factor` must be positive, got {size_factor}")
    if cache_mb is not None and cache_mb <= 0:
        raise ValueError(f"`cache_budget_mb` must be positive, got {cache_mb}")
    if isinstance(persistent_path, str | os.PathLike):
        path: str | tuple[str, ...] = os.fspath(persistent_path)
    else:
        path = tuple(map(os.fspath, persistent_path))
    return StoreOptions(
        path, capacity, size_factor, None if cache_mb is None else int(cache_mb * BYTES_PER_MB)
    )


def make_device_mem_store_options(
    persistent_path: Any,
    capacity: int,
    size_factor: int = 1,
    storage_dim: int = -1,
    physical_block_size: int = 4096,
) -> StoreOptions:
    """Keep all rows in memory.

    Rows are in the memory of the host here, also where the tensors made of them are on a GPU.

    Args:
        persistent_path: the folder of snapshots, or a list with one of each process.
        capacity: the greatest number of rows.
        size_factor: 1 and as many as the optimizer keeps states of a parameter: 1 for SGD, 2 for
            SGD with momentum and Adagrad, 3 for Adam and Ftrl.
        storage_dim: accepted; `size_factor` says it.
        physical_block_size: accepted; the file system knows it.

    Raises:
        ValueError: a number is not positive.

    Example:
        >>> import oneflow as flow
        >>> options = flow.one_embedding.make_device_mem_store_options(
        ...     persistent_path="/tmp/one_embedding", capacity=10_000, size_factor=3)
    """
    return _store(persistent_path, capacity, size_factor, None)


def make_cached_host_mem_store_options(
    cache_budget_mb: float,
    persistent_path: Any,
    capacity: int,
    size_factor: int = 1,
    storage_dim: int = -1,
    physical_block_size: int = 4096,
) -> StoreOptions:
    """Keep all rows in the memory of the host; see `make_device_mem_store_options`.

    `cache_budget_mb`, the size of a cache on the device, is accepted and not used.

    Example:
        >>> import oneflow as flow
        >>> options = flow.one_embedding.make_cached_host_mem_store_options(
        ...     cache_budget_mb=16, persistent_path="/tmp/one_embedding", capacity=10_000)
    """
    return _store(persistent_path, capacity, size_factor, None)


def make_cached_ssd_store_options(
    cache_budget_mb: float,
    persistent_path: Any,
    capacity: int | None = None,
    size_factor: int = 1,
    storage_dim: int = -1,
    physical_block_size: int = 4096,
    host_cache_budget_mb: float = 0,
) -> StoreOptions:
    """Keep rows in files, with the most recently used ones in memory.

    Args:
        cache_budget_mb: how much of the files is in memory at once, in MiB.
        persistent_path: the same as for `make_device_mem_store_options`; files are there, too.
        capacity: the greatest number of rows, None for no limit.
        size_factor: the same as there.
        storage_dim: the same as there.
        physical_block_size: the same as there.
        host_cache_budget_mb: is added to `cache_budget_mb`.

    Raises:
        ValueError: a number is not positive.

    Example:
        >>> import oneflow as flow
        >>> flow.one_embedding.make_cached_ssd_store_options(
        ...     cache_budget_mb=16, persistent_path="/tmp/one_embedding").cache_bytes
        16777216
    """
    return _store(persistent_path, capacity, size_factor, cache_budget_mb + host_cache_budget_mb)
