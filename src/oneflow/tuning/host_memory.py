"""Memory of the host: for tables and lists whose length an argument gives, and for XLA's arrays."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np

from oneflow.base.errors import OutOfMemoryError
from oneflow.base.units import bytes_text
from oneflow.tuning.linux import can_allocate

# Smaller requests are not checked.
_LARGE = 2**26
_STATISTICS = Path("/proc/meminfo")
# Bytes of a tensor, or of a layer without its parameters, with what belongs to it in Python.
OBJECT_SIZE = 1024
ALIGNMENT = 64
"""XLA uses memory whose address is a multiple of this as it is, and copies other memory."""
LARGE_COPY = 64 * 1024
"""Bytes below which a second copy is cheaper than finding such an address."""


def require_host_memory(name: str, count: int, item_size: int = 8) -> None:
    """Check that the host can hold a table or list, before it is made element by element.

    Args:
        name: the name of the operator that needs it, for the error.
        count: number of elements.
        item_size: bytes of each.

    Raises:
        OutOfMemoryError: there is less memory than that.
    """
    size = count * item_size
    if size >= _LARGE and not (size <= _available_memory(size) and can_allocate(size)):
        raise OutOfMemoryError(
            f"out of memory: `{name}` needs {bytes_text(size)} on the host for {count} elements, "
            "more than is left; check the sizes given"
        )


def empty_for_xla(shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """An uninitialized array; a large one in memory that XLA uses without a copy."""
    is_large = math.prod(shape) * dtype.itemsize >= LARGE_COPY
    return aligned_memory(shape, dtype) if is_large else np.empty(shape, dtype)


def aligned_memory(shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """An uninitialized array in memory that XLA uses without a copy."""
    size = math.prod(shape) * dtype.itemsize
    memory = np.empty(size + ALIGNMENT, np.uint8)
    start = -memory.ctypes.data % ALIGNMENT
    return memory[start : start + size].view(dtype).reshape(shape)


def host_memory_error(name: str, error: MemoryError) -> OutOfMemoryError:
    """The error that says what a function has found no memory for.

    Args:
        name: the name of the function.
        error: NumPy's or Python's, which may have no text.
    """
    reason = f" ({error})" if str(error) else ""
    return OutOfMemoryError(
        f"out of memory: `{name}` found too little on the host{reason}; check the sizes given, "
        "or keep fewer tensors"
    )


def _available_memory(default: int) -> int:
    """Bytes that Linux can give to new programs; `default` on other systems."""
    if not _STATISTICS.exists():
        return default
    lines = _STATISTICS.read_text(encoding="ascii").splitlines()
    fields_of_lines = (line.split() for line in lines)
    return next(
        (int(fields[1]) * 1024 for fields in fields_of_lines if fields[0] == "MemAvailable:"),
        default,
    )
