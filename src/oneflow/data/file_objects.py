"""Pickling of open files, memory in mapped files, and locks for another process."""

from __future__ import annotations

import io
import mmap
import threading
from collections.abc import Callable
from typing import Any

import numpy as np


def _open_at(path: str, position: int) -> Any:
    file = open(path, "rb")  # noqa: SIM115 - who unpickles it closes it
    file.seek(position)
    return file


def _file(file: io.BufferedReader) -> tuple[Any, ...]:
    name = file.name
    if not isinstance(name, str | bytes) or file.closed:
        raise TypeError(f"cannot pickle {file!r}: only open files that have a path")
    return _open_at, (name, file.tell())


def _map(path: str, mode: Any, dtype: np.dtype, offset: int, shape: Any, strides: Any) -> Any:
    """Map a part of a file: as a `numpy.memmap` if the array has no gaps."""
    if strides is None:
        return np.memmap(path, dtype, mode, offset, shape)
    extent = dtype.itemsize + sum((n - 1) * step for n, step in zip(shape, strides, strict=True))
    memory: Any = np.memmap(path, np.uint8, mode, offset, (extent,))
    return np.ndarray(shape, dtype, memory, strides=strides)


def _mapped_file(array: Any) -> np.memmap | None:
    """Return the mapped file that holds an array's memory, if there is one that has a path."""
    base = array
    while base is not None:
        if isinstance(base, np.memmap) and isinstance(base.base, mmap.mmap):
            return base if base.filename is not None and base.mode in ("r", "r+", "w+") else None
        base = base.obj if isinstance(base, memoryview) else getattr(base, "base", None)
    return None


def _array(array: np.ndarray) -> Any:
    """An array in a mapped file is mapped there, too; others are sent."""
    file = _mapped_file(array)
    if file is None or array.size == 0 or min(array.strides, default=0) < 0:
        return array.__reduce_ex__(5)
    offset = file.offset + _address(array) - _address(file)
    strides = None if array.flags.c_contiguous else array.strides
    mode = "r" if file.mode == "r" else "r+"
    return _map, (str(file.filename), mode, array.dtype, offset, array.shape, strides)


def _address(array: np.ndarray) -> int:
    return array.__array_interface__["data"][0]


def _memory(view: memoryview) -> tuple[Any, ...]:
    return memoryview, (np.asarray(view),)


def _lock(lock: Any) -> tuple[Any, ...]:
    return threading.Lock, ()


def _reentrant_lock(lock: Any) -> tuple[Any, ...]:
    return threading.RLock, ()


# The reducers by class, for a pickler's `dispatch_table`.
FILE_OBJECTS: dict[type, Callable[[Any], Any]] = {
    io.BufferedReader: _file,
    memoryview: _memory,
    np.memmap: _array,
    np.ndarray: _array,
    type(threading.Lock()): _lock,
    type(threading.RLock()): _reentrant_lock,
}
