"""The reader of PyTorch's files, part by part."""

from __future__ import annotations

import zipfile
from typing import Any

import numpy as np

import oneflow as flow
from oneflow import Tensor


class PyTorchFileReader:
    """A file of PyTorch's, which is an archive of records.

    Args:
        file: its path, or the file itself.
    """

    def __init__(self, file: Any) -> None:
        self._archive = zipfile.ZipFile(file)
        # All records are in one folder, whose name is that of the file.
        self._folder = self._archive.namelist()[0].partition("/")[0] + "/"

    def get_all_records(self) -> list[str]:
        """Return the names of the records."""
        return [name.removeprefix(self._folder) for name in self._archive.namelist()]

    def has_record(self, name: str) -> bool:
        """Return whether there is a record."""
        return name in self.get_all_records()

    def get_record(self, name: str) -> bytes:
        """Return the content of a record.

        Raises:
            RuntimeError: there is none of that name.
        """
        if not self.has_record(name):
            raise RuntimeError(f"`name`: the file has no record {name!r}")
        return self._archive.read(self._folder + name)

    def get_storage_from_record(self, name: str, numel: int, dtype: Any) -> Tensor:
        """Return the numbers in a record as a tensor."""
        numbers = np.frombuffer(self.get_record(name), dtype.numpy, numel)
        return flow.from_numpy(numbers.copy())


__all__ = ["PyTorchFileReader"]
