"""The values of tensors that a function reads, for those who have to know them."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np

from oneflow.base.device import CPU
from oneflow.runtime.eager import current, has_unknown_checks
from oneflow.runtime.events import SINK
from oneflow.runtime.small_programs import read_part
from oneflow.tensor.storage import MEMORY_LOCK
from oneflow.tensor.views import Handle, unwrap

# Bytes up to which NumPy looks at an array sooner than a compiled program has started.
_SMALL = 2**20


class _Reads(threading.local):
    """The arrays that this thread reads.

    Attributes:
        arrays: the arrays that were read, while somebody wants to know.
        all_recorded: somebody looks at the program, so nothing is computed beside it.
    """

    arrays: list[np.ndarray] | None = None
    all_recorded = False


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


@contextlib.contextmanager
def record_all() -> Iterator[None]:
    """Context manager: this thread records what it would compute on the host."""
    before, READS.all_recorded = READS.all_recorded, True
    try:
        yield
    finally:
        READS.all_recorded = before


def is_observed() -> bool:
    """Return whether somebody sees what this thread records, runs or reads in the ordinary way."""
    return (
        READS.arrays is not None
        or READS.all_recorded
        or SINK.record is not None
        or current.capture is not None
    )


def read_number(tensor: Handle) -> Any:
    """The number of a view of one element that was never computed, as NumPy's.

    Returns:
        The number; None if it cannot be read without waiting, or a check before it may have failed.
    """
    chain = tensor._chain
    is_element = len(chain) == 1 and not tensor._value.spec.ndim
    if not is_element or tensor._family.storage.host is not None:
        number = read_part(unwrap(tensor), ())
    else:
        with MEMORY_LOCK:
            value = tensor._family.current()
        number = read_part(value, chain[0][1])
    return None if has_unknown_checks() else number


def read_small(tensor: Handle) -> Any:
    """The numbers of a small tensor on the CPU, as NumPy's.

    Returns:
        The numbers, which are not to be written to; None if they cannot be read without waiting, a
        check before them may have failed, or somebody sees what is read.
    """
    spec = tensor._value.spec
    if spec.device is not CPU or spec.nbytes > _SMALL or is_observed():
        return None
    value = tensor._value if tensor._family is None else unwrap(tensor)
    numbers = read_part(value, ())
    return None if has_unknown_checks() else numbers
