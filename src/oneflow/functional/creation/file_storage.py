"""Bytes of a file as memory, from which safetensors makes tensors."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np


@contextlib.contextmanager
def file_errors(filename: str | Path) -> Iterator[None]:
    """Context in which a file that cannot be opened, or mapped, is PyTorch's error.

    Raises:
        RuntimeError: names the file and the system's reason.
    """
    try:
        yield
    except (OSError, OverflowError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise RuntimeError(f"unable to open file <{filename}>: {reason}") from error


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
