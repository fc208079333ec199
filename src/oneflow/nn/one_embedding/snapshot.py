"""Tables in files: snapshots of an embedding, and their reader and writer."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np

from oneflow.base.dtype import DType

_CHUNK = 65536
_META = "meta.json"


def snapshot_folder(path: str | os.PathLike[str], name: str) -> Path:
    """Return the folder of a snapshot in a table's folder.

    Raises:
        ValueError: `name` cannot be that of a folder.
    """
    if not isinstance(name, str) or not name or "/" in name or name in (".", ".."):
        raise ValueError(f"{name!r} cannot be the name of a snapshot")
    return Path(path) / "snapshots" / name


class SnapshotWriter:
    """Writes keys and rows; they are there when the writer is closed, all or none of them.

    Args:
        folder: the folder of the snapshot; one that exists is replaced.
        width: numbers in a row.
        details: what else is to be known of the rows.
    """

    def __init__(self, folder: Path, width: int, details: dict[str, Any] | None = None) -> None:
        self._folder, self._details = folder, {"width": width, "count": 0, **(details or {})}
        self._partial = folder.with_name(f".{folder.name}.partial")
        shutil.rmtree(self._partial, ignore_errors=True)
        self._partial.mkdir(parents=True)
        self._files = {
            name: (self._partial / name).open("wb") for name in ("keys", "rows", "steps")
        }

    def write(self, keys: np.ndarray, rows: np.ndarray, steps: np.ndarray) -> None:
        """Add rows with their keys and the steps that changed them last."""
        for file, array in zip(self._files.values(), (keys, rows, steps), strict=True):
            file.write(np.ascontiguousarray(array).data)
        self._details["count"] += len(keys)

    def close(self) -> None:
        """Make the snapshot visible."""
        for file in self._files.values():
            file.flush()
            os.fsync(file.fileno())
            file.close()
        with (self._partial / _META).open("w") as file:
            json.dump(self._details, file)
            file.flush()
            os.fsync(file.fileno())
        replaced = self._folder.with_name(f".{self._folder.name}.replaced")
        shutil.rmtree(replaced, ignore_errors=True)
        if self._folder.exists():
            self._folder.rename(replaced)
        self._partial.rename(self._folder)
        shutil.rmtree(replaced, ignore_errors=True)

    def discard(self) -> None:
        """Leave no trace."""
        for file in self._files.values():
            file.close()
        shutil.rmtree(self._partial, ignore_errors=True)


class SnapshotReader:
    """Reads a snapshot part by part.

    Raises:
        FileNotFoundError: there is none.
        RuntimeError: it is damaged.
    """

    def __init__(self, folder: Path) -> None:
        if not (folder / _META).is_file():
            raise FileNotFoundError(f"there is no snapshot at `{folder}`")
        try:
            self.details = json.loads((folder / _META).read_text())
            count, width = self.details["count"], self.details["width"]
            shapes = {"keys": (np.int64, (count,)), "rows": (np.float32, (count, width))}
            shapes["steps"] = (np.int64, (count,))
            self._arrays = {}
            for name, (kind, shape) in shapes.items():
                size = (folder / name).stat().st_size
                expected = int(np.prod(shape)) * np.dtype(kind).itemsize
                if size != expected:
                    raise ValueError(f"`{name}` has {size} bytes instead of {expected}")
                self._arrays[name] = (
                    np.memmap(folder / name, kind, "r", shape=shape)
                    if count
                    else np.zeros(shape, kind)
                )
        except (ValueError, KeyError, TypeError, OSError) as error:
            raise RuntimeError(f"the snapshot at `{folder}` is damaged: {error}") from error

    def parts(self) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """Yield keys, rows and steps."""
        for start in range(0, self.details["count"], _CHUNK):
            part = slice(start, start + _CHUNK)
            keys, rows, steps = (np.array(array[part]) for array in self._arrays.values())
            yield keys, rows, steps


class PersistentTableReader:
    """Yields the keys and rows of a table's snapshot; see `make_persistent_table_reader`."""

    def __init__(self, paths: Sequence[Path], key_type: DType, width: int) -> None:
        self._readers = [SnapshotReader(path) for path in paths]
        for reader in self._readers:
            if reader.details["width"] < width:
                raise ValueError(
                    f"`storage_dim` is {width}, and rows have {reader.details['width']} numbers"
                )
        self._key_type, self._width = key_type, width
        self._parts = self._all_parts()

    def _all_parts(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        for reader in self._readers:
            for keys, rows, _ in reader.parts():
                yield keys.astype(self._key_type.numpy), rows[:, : self._width]

    def __iter__(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        return self._parts

    def __next__(self) -> tuple[np.ndarray, np.ndarray]:
        return next(self._parts)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: Any) -> None:
        self.close()

    def close(self) -> None:
        """Yield no more."""
        self._parts = iter(())


class PersistentTableWriter:
    """Writes keys and rows as a table's snapshot; see `make_persistent_table_writer`."""

    def __init__(self, paths: Sequence[Path], width: int) -> None:
        self._writers = [SnapshotWriter(path, width) for path in paths]
        self._width = width

    def write(self, keys: np.ndarray, values: np.ndarray) -> None:
        """Add rows.

        Args:
            keys: integers, each of which is written once.
            values: an array of shape (keys, storage_dim).

        Raises:
            ValueError: the shapes are others.
        """
        keys, values = np.asarray(keys), np.asarray(values)
        if keys.ndim != 1 or values.shape != (len(keys), self._width):
            raise ValueError(
                f"`values` must have the shape ({keys.size}, {self._width}), got {values.shape}"
            )
        # A process that loads them takes its own rows.
        part = keys.astype(np.int64) % len(self._writers)
        for number, writer in enumerate(self._writers):
            mask = part == number
            rows = values[mask].astype(np.float32)
            writer.write(keys[mask].astype(np.int64), rows, np.zeros(len(rows), np.int64))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: Any, *error: Any) -> None:
        for writer in self._writers:
            writer.close() if kind is None else writer.discard()

    def close(self) -> None:
        """Make the snapshot visible."""
        for writer in self._writers:
            writer.close()


def make_persistent_table_reader(
    paths: Sequence[str],
    snapshot_name: str,
    key_type: DType,
    value_type: DType,
    storage_dim: int,
    physical_block_size: int = 4096,
) -> PersistentTableReader:
    """Open a snapshot of a table for reading.

    Args:
        paths: folders of the table, one of each process that wrote it, such as ``["table/0-1"]``.
        snapshot_name: its name.
        key_type: dtype of keys.
        value_type: dtype of rows, float32.
        storage_dim: how many numbers of each row to read: the embedding comes first.
        physical_block_size: accepted.

    Returns:
        A context manager and iterator of arrays of keys and rows.

    Raises:
        FileNotFoundError: there is no such snapshot.
        ValueError: rows have fewer numbers, or another dtype.

    Example:
        >>> import tempfile
        >>> import numpy as np
        >>> import oneflow as flow
        >>> one, folder = flow.one_embedding, tempfile.mkdtemp()
        >>> kinds = {"key_type": flow.int64, "value_type": flow.float, "storage_dim": 2}
        >>> with one.make_persistent_table_writer([folder], "first", **kinds) as writer:
        ...     writer.write(np.array([7, 10**12]), np.ones((2, 2)))
        >>> with one.make_persistent_table_reader([folder], "first", **kinds) as reader:
        ...     keys, rows = next(reader)
        >>> keys.tolist(), rows.shape
        ([7, 1000000000000], (2, 2))
    """
    _check_value_type(value_type)
    sources = [snapshot_folder(path, snapshot_name) for path in paths]
    return PersistentTableReader(sources, key_type, storage_dim)


def make_persistent_table_writer(
    paths: Sequence[str],
    snapshot_name: str,
    key_type: DType,
    value_type: DType,
    storage_dim: int,
    physical_block_size: int = 4096,
) -> PersistentTableWriter:
    """Begin a snapshot of a table, which `MultiTableEmbedding.load_snapshot` reads.

    The arguments are those of `make_persistent_table_reader`.

    Returns:
        A context manager with the method `write`.

    Example:
        >>> import tempfile
        >>> import numpy as np
        >>> import oneflow as flow
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     table = [f"{folder}/0-1"], "first", flow.int64, flow.float, 2
        ...     with flow.one_embedding.make_persistent_table_writer(*table) as writer:
        ...         writer.write(np.array([7, 9]), np.float32([[1, 2], [3, 4]]))
        ...     with flow.one_embedding.make_persistent_table_reader(*table) as reader:
        ...         [(keys.tolist(), rows.tolist()) for keys, rows in reader]
        [([7, 9], [[1.0, 2.0], [3.0, 4.0]])]
    """
    _check_value_type(value_type)
    targets = [snapshot_folder(path, snapshot_name) for path in paths]
    return PersistentTableWriter(targets, storage_dim)


def _check_value_type(value_type: DType) -> None:
    if value_type.name != "float32":
        raise ValueError(f"rows are float32, not {value_type}")
