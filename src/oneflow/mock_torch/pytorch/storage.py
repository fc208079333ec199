"""``torch.storage``: the bytes of a file as memory, from which safetensors makes tensors."""

from __future__ import annotations

from typing import Any

import numpy as np

import oneflow as flow


class FileStorage:
    """Bytes that are mapped from a file, and read when tensors are made of them.

    Args:
        memory: the bytes, one-dimensional.
    """

    def __init__(self, memory: np.ndarray) -> None:
        self._memory = memory

    def untyped(self) -> FileStorage:
        """Return the storage itself: it has no element type."""
        return self

    def nbytes(self) -> int:
        """Return the number of bytes."""
        return self._memory.size

    def __len__(self) -> int:
        return self.nbytes()

    def __getitem__(self, part: slice) -> FileStorage:
        return FileStorage(self._memory[part])

    def __array__(self, *args: Any, **kwargs: Any) -> np.ndarray:
        return np.array(self._memory, *args, **kwargs)


class UntypedStorage(flow.UntypedStorage):
    """`oneflow.UntypedStorage`, which can also be the bytes of a file."""

    @staticmethod
    def from_file(filename: str, shared: bool = False, nbytes: int = 0) -> Any:
        """Return the first bytes of a file as memory.

        Args:
            filename: the file's path.
            shared: changes nothing: tensors are made of copies.
            nbytes: how many bytes; 0 means all.

        Raises:
            OSError: the file cannot be read.
            ValueError: it is shorter.
        """
        return FileStorage(np.memmap(filename, np.uint8, "r", shape=(nbytes,) if nbytes else None))


__all__ = ["UntypedStorage"]
