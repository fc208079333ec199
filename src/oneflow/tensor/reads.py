"""The values of tensors that a function reads, for those who have to know them."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator

import numpy as np


class _Reads(threading.local):
    """The arrays that this thread reads.

    Attributes:
        noted: the arrays that were read, while somebody wants to know.
    """

    noted: list[np.ndarray] | None = None


READS = _Reads()


@contextlib.contextmanager
def note_reads() -> Iterator[list[np.ndarray]]:
    """Context manager: note the values of tensors that this thread reads."""
    noted: list[np.ndarray] = []
    before, READS.noted = READS.noted, noted
    try:
        yield noted
    finally:
        READS.noted = before
        if before is not None:
            before += noted


@contextlib.contextmanager
def ignore_reads() -> Iterator[None]:
    """Context manager: what is read inside makes no difference to anything."""
    before, READS.noted = READS.noted, None
    try:
        yield
    finally:
        READS.noted = before
