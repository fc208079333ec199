"""The values of tensors that a function reads, for those who have to know them."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator

import numpy as np


class _Reads(threading.local):
    """The arrays that this thread reads.

    Attributes:
        arrays: the arrays that were read, while somebody wants to know.
    """

    arrays: list[np.ndarray] | None = None


READS = _Reads()


@contextlib.contextmanager
def note_reads() -> Iterator[list[np.ndarray]]:
    """Context manager: note the values of tensors that this thread reads."""
    arrays: list[np.ndarray] = []
    before, READS.arrays = READS.arrays, arrays
    try:
        yield arrays
    finally:
        READS.arrays = before
        if before is not None:
            before += arrays


@contextlib.contextmanager
def ignore_reads() -> Iterator[None]:
    """Context manager: do not count reads inside (a captured step does not depend on them)."""
    before, READS.arrays = READS.arrays, None
    try:
        yield
    finally:
        READS.arrays = before
