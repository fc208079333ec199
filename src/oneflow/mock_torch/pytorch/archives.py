"""Archives of `torch.save`, entry by entry: what ``torch._C`` has for ``torch.serialization``."""

from __future__ import annotations

import contextlib
import os
import pickletools
import zipfile
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import IO, Any

import numpy as np

import oneflow as flow
from oneflow import Tensor
from oneflow.checkpoint.torch_writer import ARCHIVE_VERSION, ArchiveOutput, add_entry

NameOrFile = str | os.PathLike[str] | IO[bytes]


class PyTorchFileWriter:
    """An archive that is written entry by entry; the entries lie as `torch.save` lays them.

    Args:
        name_or_buffer: name of a file, or a file open for writing bytes.

    Example:
        >>> import io
        >>> from oneflow import mock_torch
        >>> with mock_torch.enable():
        ...     from torch import serialization
        >>> file = io.BytesIO()
        >>> with serialization._open_zipfile_writer(file) as archive:
        ...     archive.write_record("notes", b"text", 4)
        >>> _ = file.seek(0)
        >>> with serialization._open_zipfile_reader(file) as archive:
        ...     archive.get_all_records(), archive.get_record("notes")
        (['notes', 'version'], b'text')
    """

    def __init__(self, name_or_buffer: NameOrFile) -> None:
        self._folder, self._closing = "archive", contextlib.ExitStack()
        file: Any = name_or_buffer
        if isinstance(name_or_buffer, str | os.PathLike):
            self._folder = Path(name_or_buffer).stem
            stream = Path(name_or_buffer).open("wb")  # noqa: SIM115 - closed at the end of the file
            file = self._closing.enter_context(stream)
        output: Any = ArchiveOutput(file)
        self._archive = self._closing.enter_context(zipfile.ZipFile(output, "w"))

    def archive_name(self) -> str:
        """Return the folder in the archive that all entries are in."""
        return self._folder

    def write_record(self, name: str, data: Any, size: int) -> None:
        """Write an entry.

        Args:
            name: the name of the entry.
            data: bytes, or a storage.
            size: how many bytes of it.
        """
        content = data if isinstance(data, bytes | bytearray | memoryview) else bytes(data)
        add_entry(self._archive, f"{self._folder}/{name}", memoryview(content).cast("B")[:size])

    def write_end_of_file(self) -> None:
        """Write what stands behind the entries; the archive takes no others."""
        # Packages have the version among their own data.
        if f"{self._folder}/.data/version" not in self._archive.NameToInfo:
            self.write_record("version", ARCHIVE_VERSION, len(ARCHIVE_VERSION))
        self._closing.close()

    def __enter__(self) -> PyTorchFileWriter:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.write_end_of_file()


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

    def __enter__(self) -> PyTorchFileReader:
        return self

    def __exit__(self, *_: object) -> None:
        self._archive.close()

    def get_storage_from_record(self, name: str, numel: int, dtype: Any) -> Tensor:
        """Return the numbers in a record as a tensor."""
        numbers = np.frombuffer(self.get_record(name), dtype.numpy, numel)
        return flow.from_numpy(numbers.copy())


def is_archive(file: IO[bytes]) -> bool:
    """Return whether a file, where it stands, begins as the archives of `torch.save` do."""
    place = file.tell()
    head = file.read(4)
    file.seek(place)
    return head == b"PK\x03\x04"


@contextlib.contextmanager
def opened(name_or_file: NameOrFile) -> Iterator[IO[bytes]]:
    """Open a file for reading bytes; one that is open stays so."""
    if isinstance(name_or_file, str | os.PathLike):
        with Path(name_or_file).open("rb") as file:
            yield file
    else:
        yield name_or_file


def names_in(pickled: bytes) -> set[tuple[str, str]]:
    """Return the modules and names of classes and functions that a pickle names."""
    names: set[tuple[str, str]] = set()
    operands: list[Any] = []
    memo: dict[int, Any] = {}
    for opcode, argument, _ in pickletools.genops(pickled):
        if opcode.name in ("GLOBAL", "INST"):
            module, _, name = str(argument).partition(" ")
            names.add((module, name))
        elif opcode.name == "STACK_GLOBAL":
            names.add((operands[-2], operands[-1]))
        elif "UNICODE" in opcode.name:
            operands.append(argument)
        elif opcode.name.endswith("GET"):
            operands.append(memo.get(int(argument or 0)))
        elif opcode.name.endswith("PUT") or opcode.name == "MEMOIZE":
            memo[len(memo) if argument is None else int(argument)] = (
                operands[-1] if operands else None
            )
    return names


__all__ = ["PyTorchFileReader", "PyTorchFileWriter"]
