"""Pipes of the names of files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from oneflow.data.datapipes import IterDataPipe, functional_datapipe
from oneflow.mock_torch.pytorch.utils.data.datapipes.iter.utils import IterableWrapperIterDataPipe
from oneflow.mock_torch.pytorch.utils.data.datapipes.utils.common import (
    get_file_pathnames_from_root,
)


@functional_datapipe("list_files")
class FileListerIterDataPipe(IterDataPipe):
    """The files in folders.

    Args:
        root: a folder, several, or a pipe of them.
        masks: patterns of which the files' names fit one; without any, all do.
        recursive: also those in the folders' folders.
        abspath: give absolute paths.
        non_deterministic: in the order of the file system; otherwise sorted.
        length: the length that the pipe has; -1: none.
    """

    def __init__(
        self,
        root: str | Sequence[str] | Any = ".",
        masks: str | list[str] = "",
        *,
        recursive: bool = False,
        abspath: bool = False,
        non_deterministic: bool = False,
        length: int = -1,
    ) -> None:
        roots = [root] if isinstance(root, str) else root
        is_pipe = isinstance(roots, IterDataPipe)
        self.datapipe = roots if is_pipe else IterableWrapperIterDataPipe(roots)
        self.masks, self.recursive, self.abspath = masks, recursive, abspath
        self.non_deterministic, self.length = non_deterministic, length

    def __iter__(self) -> Iterator[str]:
        for root in self.datapipe:
            yield from get_file_pathnames_from_root(
                root, self.masks, self.recursive, self.abspath, self.non_deterministic
            )

    def __len__(self) -> int:
        if self.length == -1:
            raise TypeError(f"{type(self).__name__} instance doesn't have valid length")
        return self.length
