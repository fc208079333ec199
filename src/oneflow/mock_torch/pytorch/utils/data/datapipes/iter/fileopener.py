"""Pipes of open files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from oneflow.data.datapipes import IterDataPipe, functional_datapipe
from oneflow.mock_torch.pytorch.utils.data.datapipes.utils.common import (
    get_file_binaries_from_pathnames,
)


@functional_datapipe("open_files")
class FileOpenerIterDataPipe(IterDataPipe):
    """Open files, each with its name.

    Args:
        datapipe: the source, of names.
        mode: the mode of the files: `r`, `b`, `t`, `rb` or `rt`.
        encoding: the encoding of texts.
        length: the length that the pipe has; -1: none.

    Raises:
        ValueError: there is no such mode, or it takes no encoding.
    """

    def __init__(
        self,
        datapipe: Iterable[str],
        mode: str = "r",
        encoding: str | None = None,
        length: int = -1,
    ) -> None:
        if mode not in ("b", "t", "rb", "rt", "r"):
            raise ValueError(f"Invalid mode {mode}")
        if "b" in mode and encoding is not None:
            raise ValueError("binary mode doesn't take an encoding argument")
        self.datapipe, self.mode = datapipe, mode
        self.encoding, self.length = encoding, length

    def __iter__(self) -> Iterator[tuple[str, Any]]:
        yield from get_file_binaries_from_pathnames(self.datapipe, self.mode, self.encoding)

    def __len__(self) -> int:
        if self.length == -1:
            raise TypeError(f"{type(self).__name__} instance doesn't have valid length")
        return self.length
