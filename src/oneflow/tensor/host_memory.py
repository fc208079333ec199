"""Memory of the host that others may write to: NumPy's arrays, and what processes share.

A tensor's values are immutable, so that programs may run later, and this memory changes at any
time. So a storage on it looks at it whenever one of its tensors is read: other bytes than those of
its value become its value. A write by a tensor is computed at once, and copied there.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable
from sys import getrefcount
from typing import Any, Protocol

import numpy as np

from oneflow.base.dtype import from_numpy_dtype
from oneflow.program.value import Value
from oneflow.runtime.eager import read_array
from oneflow.runtime.lazy_array import HostArray, copy_to_device
from oneflow.runtime.small_programs import is_deleted
from oneflow.tensor.view_chain import Chain, is_conjugate, layout_within

# From this on, parts are read without a look at the whole.
_LARGE = 1 << 16
# Up to this, copying bytes to compare them is quicker than finding their address.
_SMALL = 4096


class MemoryOnHost(Protocol):
    """Protocol: the members of a storage that are written here."""

    value: Value
    version: int
    host: Any

    def track(self, value: Value) -> None:
        """Remember a value read from here."""


class HostMemory:
    """The memory of the host behind a storage.

    Args:
        array: the elements of the root, in its shape, which may be written to.
        is_kept: it is never given up, because other processes may have it.
    """

    __slots__ = ("_owner", "_value", "array", "is_kept")

    def __init__(self, array: np.ndarray, is_kept: bool = False) -> None:
        self.array = array[...]
        self._owner = _owner_of(array)
        self.is_kept = is_kept or self.array.base is not self._owner
        self._value: Value | None = None

    @staticmethod
    def copied_from(value: Value) -> HostMemory:
        """A new memory with what a value holds."""
        memory = HostMemory(np.array(numbers_of(value)))
        memory._value = value
        return memory

    def copy_in(self, value: Value) -> None:
        """Copy there what the storage's value has become.

        Elements that it has not changed stay as they are: others may have written to them
            meanwhile.
        """
        numbers, before = numbers_of(value), self._value
        if before is None or is_deleted(before):
            np.copyto(self.array, numbers)
        else:
            np.copyto(self.array, numbers, where=_changed(numbers_of(before), numbers))
        self._value = value

    @property
    def is_large(self) -> bool:
        """True if parts are read without a look at the whole."""
        return self.array.nbytes >= _LARGE

    def new_value(self, spec: Any) -> Value:
        """A value of the present content."""
        self._value = copy_to_device(self.array, spec)
        return self._value

    def forget(self) -> None:
        """Forget what was copied: the storage has got another value back."""
        self._value = None

    def exchange(self, storage: MemoryOnHost) -> None:
        """Copy there what was written to the storage, or else take over what others wrote there."""
        if not self._write_back(storage):
            self._take_over(storage)

    def _write_back(self, storage: MemoryOnHost) -> bool:
        """Copy there what was written to the storage.

        A memory that nobody else has any more is given up.

        Returns:
            Whether the storage holds what is there.
        """
        value = storage.value
        if value is not self._value and not value.is_symbolic:
            self.copy_in(value)
        if self.is_kept or getrefcount(self._owner) > _OF_OWNER:
            return value.is_symbolic
        self._take_over(storage)
        storage.host = None
        storage.version += 1  # views of it may not have been computed
        return True

    def _take_over(self, storage: MemoryOnHost) -> None:
        if storage.value is self._value and not is_same(self.array, numbers_of(storage.value)):
            storage.value = self.new_value(storage.value.spec)
            storage.version += 1
            storage.track(storage.value)

    def part_value(self, storage: MemoryOnHost, view: Value, chain: Chain) -> Value | None:
        """The value of a large memory's part, without looking at the rest.

        Args:
            storage: the storage of this memory.
            view: the value that the view at the end of `chain` had, or will have.
            chain: the views that lead from the root.

        Returns:
            `view` if there is nothing else there; None if it is to be computed from the root.
        """
        part = self.current_part(storage, view.spec, chain)
        if part is None:
            return None
        if (view.array is not None or view.recorder is not None) and is_same(
            part, numbers_of(view)
        ):
            return view
        value = copy_to_device(part, view.spec)
        value.stale = view.stale
        storage.track(value)
        return value

    def current_part(self, storage: MemoryOnHost, spec: Any, chain: Chain) -> np.ndarray | None:
        """The elements that a view of a large memory shows; None if the root is to be read."""
        if not self.is_large or self._write_back(storage):
            return None
        return self.part(spec, chain)

    def part(self, spec: Any, chain: Chain) -> np.ndarray | None:
        """The elements that a view shows, as NumPy's view; None if it has no such elements."""
        array = self.array
        if not chain:
            return array[...]
        if from_numpy_dtype(array.dtype) is not spec.dtype or is_conjugate(chain):
            return None
        size, memory, start = array.itemsize, array, 0
        strides = None
        if not array.flags.c_contiguous:
            memory = _contiguous(self._owner)
            if memory is None or any(step % size for step in array.strides):
                return None
            strides = tuple([step // size for step in array.strides])
            start = array.ctypes.data - memory.ctypes.data
        layout = layout_within(array.shape, chain, strides)
        if layout is None or not all(type(number) is int for number, _ in layout.terms):
            return None
        start += size * sum(number * stride for number, stride in layout.terms)
        steps = tuple([size * stride for stride in layout.strides])
        return np.ndarray(layout.shape, array.dtype, memory, start, steps)


def numbers_of(value: Value) -> np.ndarray:
    """The numbers of a value on the host, to be read only."""
    recorder = value.recorder
    if type(recorder) is HostArray:
        return np.asarray(recorder.numbers)
    return np.asarray(read_array(value))


def is_same(array: np.ndarray, numbers: np.ndarray) -> bool:
    """Return whether two arrays of one shape and dtype hold the same bytes."""
    if array.nbytes < _SMALL:
        return array.tobytes() == numbers.tobytes()
    one, other = np.ascontiguousarray(array), np.ascontiguousarray(numbers)
    return not _bytes_differ()(one.ctypes.data, other.ctypes.data, one.nbytes)


@functools.cache
def _bytes_differ() -> Callable[[int, int, int], int]:
    """The function of C that compares bytes; it returns 0 for equal ones."""
    compare: Any = ctypes.pythonapi.memcmp
    compare.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t]
    return compare


def _changed(before: Any, after: Any) -> Any:
    """Return where two arrays of one shape and dtype hold other bytes."""
    if before.dtype.kind == "c":
        return _changed(before.real, after.real) | _changed(before.imag, after.imag)
    bits = np.dtype(f"u{before.dtype.itemsize}")
    return before.view(bits) != after.view(bits)


def _contiguous(owner: Any) -> np.ndarray | None:
    """The memory of an array that owns it, element after element; None of other owners."""
    if not isinstance(owner, np.ndarray):
        return None
    return owner if owner.flags.c_contiguous else owner.T if owner.flags.f_contiguous else None


def _owner_of(array: np.ndarray) -> Any:
    """The object that owns the memory of an array: all views of it refer to that one."""
    owner: Any = array
    while isinstance(owner, np.ndarray) and owner.base is not None:
        owner = owner.base
    return owner


def _references() -> int:
    memory = HostMemory(np.empty(1))
    return getrefcount(memory._owner)


#: The references to the owner of a memory that nobody but a `HostMemory` has.
_OF_OWNER = _references()
