"""The rows of one process by their keys, with the optimizer's states for them."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from oneflow.base import cluster
from oneflow.nn.one_embedding.exchange import owner_ranks
from oneflow.nn.one_embedding.initial_values import first_values
from oneflow.nn.one_embedding.key_index import KeyIndex
from oneflow.nn.one_embedding.options import StoreOptions, TableOptions
from oneflow.nn.one_embedding.row_store import RowStore
from oneflow.nn.one_embedding.snapshot import SnapshotReader, SnapshotWriter, snapshot_folder

_CHUNK = 65536


class TableStore:
    """Rows by key. A row is an embedding, followed by the states of an optimizer.

    Args:
        options: where rows are.
        widths: the widths of the columns of an embedding.
        tables: first values of the columns of each table.
        seed: the seed of first values.

    Attributes:
        step: how many updates there were. It is not the module's, in whose attributes graphs look
            for what their program was made for.
    """

    def __init__(
        self,
        options: StoreOptions,
        widths: tuple[int, ...],
        tables: tuple[TableOptions, ...],
        seed: int,
    ) -> None:
        self.path = _local_path(options.persistent_path)
        self.embedding_dim = sum(widths)
        self._options, self._widths, self._tables, self._seed = options, widths, tables, seed
        self.step = 0
        self._clear()

    def _clear(self) -> None:
        folder = None if self._options.cache_bytes is None else self.path / "rows"
        width = self.embedding_dim * self._options.size_factor
        self._index = KeyIndex()
        self._rows = RowStore(width, folder, self._options.cache_bytes or 0)
        self._steps = np.zeros(0, np.int64)

    def __len__(self) -> int:
        return self._index.size

    @property
    def state_count(self) -> int:
        """The number of an optimizer's states that a row has room for."""
        return self._options.size_factor - 1

    def embeddings(self, keys: np.ndarray, tables: np.ndarray) -> np.ndarray:
        """Return the embeddings of keys that differ from each other; new ones are made.

        Raises:
            RuntimeError: the store is full.
        """
        numbers = self._index.find(keys)
        new = numbers < 0
        if new.any():
            self._add(keys[new], self._first_rows(keys[new], tables[new]))
            numbers[new] = self._index.find(keys[new])
        return self._rows.read(numbers)[:, : self.embedding_dim]

    def rows(self, keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the whole rows of keys, and the steps that changed them last."""
        numbers = self._index.find(keys)
        return self._rows.read(numbers), self._steps[numbers]

    def update(self, keys: np.ndarray, rows: np.ndarray) -> None:
        """Replace rows, which this step changes."""
        numbers = self._index.find(keys)
        self._rows.write(numbers, rows)
        self._steps[numbers] = self.step

    def _first_rows(self, keys: np.ndarray, tables: np.ndarray) -> np.ndarray:
        rows = np.zeros((len(keys), self._rows.width), np.float32)
        for number, table in enumerate(self._tables):
            indices = np.flatnonzero(tables == number)
            start = 0
            for column, (width, initializer) in enumerate(
                zip(self._widths, table.columns, strict=True)
            ):
                values = first_values(initializer, keys[indices], width, self._seed, column)
                rows[indices, start : start + width] = values
                start += width
        return rows

    def _add(self, keys: np.ndarray, rows: np.ndarray, steps: np.ndarray | None = None) -> None:
        capacity = self._options.capacity
        if capacity is not None and len(self) + len(keys) > capacity:
            raise RuntimeError(
                f"the store has a capacity of {capacity} rows, {len(self)} are there, and "
                f"{len(keys)} more are asked for; give it a larger `capacity`"
            )
        numbers = self._index.add(keys)
        self._rows.append(rows)
        if len(self) > len(self._steps):
            more = np.zeros(len(self), np.int64)  # at least as many again
            self._steps = np.concatenate([self._steps, more])
        if steps is not None:
            self._steps[numbers] = steps

    # --- snapshots

    def save(self, name: str) -> None:
        """Write all rows as a snapshot; one of this name is replaced when all is written."""
        details = {"step": self.step, "embedding_dim": self.embedding_dim}
        writer = SnapshotWriter(snapshot_folder(self.path, name), self._rows.width, details)
        try:
            keys = self._index.keys()
            for start in range(0, len(keys), _CHUNK):
                numbers = np.arange(start, min(start + _CHUNK, len(keys)))
                writer.write(keys[numbers], self._rows.read(numbers), self._steps[numbers])
        except BaseException:
            writer.discard()
            raise
        writer.close()

    def load(self, name: str) -> None:
        """Take the rows and the step of a snapshot, whatever number of processes wrote it.

        Raises:
            FileNotFoundError: there is none.
            RuntimeError: it is damaged.
            ValueError: its rows are longer than those of this store.
        """
        sources = [SnapshotReader(snapshot_folder(folder, name)) for folder in self._written_by()]
        for source in sources:
            width = source.details["width"]
            if (
                width > self._rows.width
                or source.details.get("embedding_dim", self.embedding_dim) != self.embedding_dim
            ):
                raise ValueError(
                    f"rows of snapshot `{name}` have {width} numbers, and those of the store "
                    f"{self._rows.width}, {self.embedding_dim} of them an embedding"
                )
        self._clear()
        for source in sources:
            for keys, rows, steps in source.parts():
                is_local = owner_ranks(keys) == cluster.rank()
                padded = np.zeros((int(is_local.sum()), self._rows.width), np.float32)
                padded[:, : rows.shape[1]] = rows[is_local]
                self._add(keys[is_local], padded, steps[is_local])
        self.step = max(source.details.get("step", 0) for source in sources)

    def _written_by(self) -> list[Path]:
        """Return the folders of the processes that wrote the tables."""
        persistent_path = self._options.persistent_path
        if not isinstance(persistent_path, str):
            return [Path(path) for path in persistent_path]
        paths = sorted(
            folder
            for folder in Path(persistent_path).glob("*-*")
            if (folder / "snapshots").is_dir()
        )
        local = [folder for folder in paths if folder.name.endswith(f"-{cluster.world_size()}")]
        return local or paths or [self.path]


def _local_path(persistent_path: str | tuple[str, ...]) -> Path:
    """Return the folder of this process.

    Raises:
        ValueError: there is not one folder for each process.
    """
    rank, world = cluster.rank(), cluster.world_size()
    if isinstance(persistent_path, str):
        return Path(os.path.abspath(persistent_path)) / f"{rank}-{world}"
    if len(persistent_path) != world:
        raise ValueError(
            f"`persistent_path` has {len(persistent_path)} folders, for {world} processes"
        )
    return Path(os.path.abspath(persistent_path[rank]))
