"""Packages whose archive has been unpacked into a folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import oneflow as flow


class DirectoryReader:
    """The files below a folder, read as `PyTorchFileReader` reads an archive.

    Args:
        directory: the folder.
    """

    def __init__(self, directory: Any) -> None:
        self.directory = str(directory)

    def get_record(self, name: str) -> bytes:
        """Return the content of a file."""
        return Path(self.directory, name).read_bytes()

    def get_storage_from_record(self, name: str, numel: int, dtype: Any) -> flow.Tensor:
        """Return the numbers in a file as a tensor."""
        return flow.from_numpy(np.frombuffer(self.get_record(name), dtype.numpy, numel).copy())

    def has_record(self, path: str) -> bool:
        """Return whether there is a file."""
        return Path(self.directory, path).is_file()

    def get_all_records(self) -> list[str]:
        """Return the paths of all files."""
        root = Path(self.directory)
        files = sorted(path for path in root.rglob("*") if path.is_file())
        return [path.relative_to(root).as_posix() for path in files]

    def serialization_id(self) -> str:
        """Return the archive's mark, if it has one."""
        place = ".data/serialization_id"
        return self.get_record(place).decode() if self.has_record(place) else ""
