"""Names of ``torch.distributed.checkpoint.filesystem``: where a checkpoint is."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from oneflow.mock_torch.missing import raise_missing


class _Storage:
    """A folder with a checkpoint."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)

    @property
    def checkpoint_id(self) -> Path:
        """The folder."""
        return self.path


class FileSystemWriter(_Storage):
    """The folder that a checkpoint is written to.

    Args:
        path: the folder.
        single_file_per_rank: accepted; each process writes files of its own.
        sync_files: accepted; files are always on disk before the checkpoint names them.
        thread_count: accepted.
        per_thread_copy_ahead: accepted.
        cache_staged_state_dict: accepted.
        overwrite: whether a checkpoint that is there may be replaced.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        single_file_per_rank: bool = True,
        sync_files: bool = True,
        thread_count: int = 1,
        per_thread_copy_ahead: int = 10_000_000,
        cache_staged_state_dict: bool = False,
        overwrite: bool = True,
    ) -> None:
        super().__init__(path)
        self.overwrite = overwrite


class FileSystemReader(_Storage):
    """The folder that a checkpoint is read from.

    Args:
        path: the folder.
    """


def folder_of(
    checkpoint_id: str | os.PathLike[str] | None, storage: Any, argument: str, kind: type[_Storage]
) -> Path:
    """Return the folder that is given in one of two ways.

    Args:
        checkpoint_id: the folder, or None.
        storage: an object that has it, or None.
        argument: the name of the argument that `storage` is.
        kind: what it must be.

    Raises:
        RuntimeError: neither is given.
        NotImplementedError: `storage` is of another type.
    """
    if storage is None and checkpoint_id is None:
        raise RuntimeError(
            f"`checkpoint_id` must be the folder of a checkpoint, or `{argument}` given"
        )
    if storage is None:
        return Path(checkpoint_id or "")
    if not isinstance(storage, kind):
        raise_missing(
            f"{type(storage).__name__} as `{argument}`",
            f"checkpoints are folders; give a `{kind.__name__}`",
        )
    return Path(checkpoint_id) if checkpoint_id is not None else storage.path


__all__ = ["FileSystemReader", "FileSystemWriter"]
