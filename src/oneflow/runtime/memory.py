"""Moving arrays between the host and devices."""

from __future__ import annotations

import ctypes
import functools
import math
import mmap
from pathlib import Path
from sys import getrefcount
from typing import Any

import jax
import numpy as np
from jax.sharding import SingleDeviceSharding

from oneflow.base.device import PREPARE_PROCESS, Device, device_from_xla, xla_device
from oneflow.base.no_interrupt import run_without_interrupt
from oneflow.base.planning import is_planning
from oneflow.base.x64 import x64
from oneflow.runtime.meta_array import MetaArray
from oneflow.tuning.host_memory import ALIGNMENT, LARGE_COPY, aligned_memory, require_host_memory


def put(array: np.ndarray | Any, device: Device) -> jax.Array | MetaArray:
    """A copy of a NumPy array, or of an array of another device, on `device`.

    NumPy memory is always copied: XLA may otherwise keep using it while the caller writes to it.
    While planning nothing is put anywhere, and nothing ever on ``meta``.
    """
    if isinstance(array, np.ndarray) and not _is_without_values(device):
        array = writable_copy(array)
    return wrap_array(array, device)


def writable_copy(array: np.ndarray) -> np.ndarray:
    """A copy that XLA may own; of large arrays, in aligned memory that XLA uses without a copy."""
    return _aligned_copy(array) if array.nbytes >= LARGE_COPY else array.copy()


def wrap_array(array: np.ndarray | Any, device: Device) -> jax.Array | MetaArray:
    """An array on `device`, which keeps its memory if it can: nobody may write to it any more."""
    if _is_without_values(device):
        return MetaArray()
    if isinstance(array, MetaArray):
        raise NotImplementedError(
            f"a tensor on the device `meta` has no values to copy to `{device}`; make one there"
            " (for modules: `Module.to_empty`)"
        )
    if isinstance(array, np.ndarray):
        return wrap_on(array, xla_device(device))
    with x64():
        return jax.device_put(array, xla_device(device))


def wrap_on(array: np.ndarray, device: Any) -> jax.Array:
    """An array on a device of XLA's, which keeps its memory if it can."""
    with x64():
        return jax.make_array_from_callback(array.shape, _sharding_on(device), lambda _: array)


@functools.lru_cache(maxsize=64)
def _sharding_on(device: Any) -> SingleDeviceSharding:
    """The sharding of arrays on one device.

    JAX makes an array of NumPy's by it in 13 us; `device_put`, which takes any tree, needs 30 us.
    """
    return SingleDeviceSharding(device)


def _is_without_values(device: Device) -> bool:
    return is_planning() or device.is_meta


def empty_aligned(shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """An uninitialized NumPy array in aligned memory that XLA uses without a copy."""
    require_host_memory("tensor", math.prod(shape) * dtype.itemsize, 1)
    return aligned_memory(shape, dtype)


def _aligned_copy(array: np.ndarray) -> np.ndarray:
    copy = empty_aligned(array.shape, array.dtype)
    copy[...] = array
    return copy


def is_only_view(array: np.ndarray) -> bool:
    """Return whether an array is all of another one's memory, which nobody else refers to."""
    base = array.base
    return (
        type(base) is np.ndarray
        and base.flags.owndata
        and 0 <= base.nbytes - array.nbytes <= ALIGNMENT
        and array.flags.c_contiguous
        and getrefcount(base) == _ONE_VIEW
    )


def _count_of_one_view(array: np.ndarray) -> int:
    """The reference count that `is_only_view` finds for memory with one view."""
    base = array.base
    return getrefcount(base)


_ONE_VIEW = _count_of_one_view(np.empty((2, 1)).reshape(2))


def memory_statistics(device: Device) -> dict[str, int]:
    """XLA's account of a device's memory in bytes; empty where it keeps none, as on the CPU."""
    return xla_device(device).memory_stats() or {}


def process_bytes() -> int | None:
    """The resident set size of this process in bytes; None where the system does not tell it."""
    try:
        page_count = Path("/proc/self/statm").read_text(encoding="ascii").split()[1]
    except OSError:
        return None
    return int(page_count) * mmap.PAGESIZE


def address_of(array: jax.Array | MetaArray) -> int:
    """The address of an array on its device, once it has been computed; 0 on ``meta``."""
    return 0 if isinstance(array, MetaArray) else array.unsafe_buffer_pointer()


def wait_for(device: Device) -> None:
    """Block until everything sent to `device` has run."""
    jax.device_put(np.zeros(()), xla_device(device)).block_until_ready()


def wait_until_ready(arrays: Any) -> None:
    """Block until arrays have been computed."""
    jax.block_until_ready(arrays)


class _Capsule:
    """A DLPack capsule that knows its device, which its first fields tell."""

    def __init__(self, capsule: Any) -> None:
        self._capsule = capsule

    def __dlpack__(self, **options: Any) -> Any:
        return self._capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        get_name = ctypes.pythonapi.PyCapsule_GetName
        get_name.restype, get_name.argtypes = ctypes.c_char_p, [ctypes.py_object]
        get_pointer = ctypes.pythonapi.PyCapsule_GetPointer
        get_pointer.restype = ctypes.c_void_p
        get_pointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
        name = get_name(self._capsule)
        if name not in _FIELDS_BEFORE_DEVICE:
            raise ValueError(f"`obj` is a capsule of {name}; give a DLPack capsule, unused")
        # The address of the elements is before the device's type and number.
        address = get_pointer(self._capsule, name) + _FIELDS_BEFORE_DEVICE[name]
        kind, number = (ctypes.c_int32 * 2).from_address(address)
        return kind, number


# Bytes by the name of a capsule: the second kind begins with a version, two addresses and flags.
_ADDRESS = ctypes.sizeof(ctypes.c_void_p)
_FIELDS_BEFORE_DEVICE = {b"dltensor": _ADDRESS, b"dltensor_versioned": 16 + 3 * _ADDRESS}


def copy_of_dlpack(exporter: Any) -> tuple[jax.Array, Device]:
    """A copy of the memory behind an object with `__dlpack__`, or a capsule, and its device."""
    if type(exporter).__name__ == "PyCapsule":
        exporter = _Capsule(exporter)
    PREPARE_PROCESS.value()
    array = run_without_interrupt(
        lambda: jax.numpy.array(jax.dlpack.from_dlpack(exporter), copy=True)
    )
    return array, device_from_xla(next(iter(array.devices())))


def use_cpu_only() -> None:
    """Make XLA start on the CPU only, if it starts in this process.

    For helper processes, which must not take a GPU.
    """
    jax.config.update("jax_platforms", "cpu")
