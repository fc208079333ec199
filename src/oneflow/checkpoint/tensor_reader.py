"""Tensors from an open file or folder: local ones at once, global ones when they are needed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from oneflow.base.device import Device
from oneflow.base.dtype import from_numpy_dtype
from oneflow.base.placement import DeviceOrSharding
from oneflow.base.spec import spec_of
from oneflow.checkpoint.map_location import RestoreLocation
from oneflow.checkpoint.progress import progress_bar
from oneflow.checkpoint.shared_memory import MemoryLayout
from oneflow.runtime.lazy_array import LazyArray
from oneflow.tensor.call import wrap
from oneflow.tensor.global_values import fit_sharding
from oneflow.tensor.tensor import Tensor
from oneflow.tensor.transfer import import_array

if TYPE_CHECKING:
    from tqdm import tqdm


class ArraySource(Protocol):
    """Named arrays in an open file or folder."""

    names: list[str]

    def shape_and_dtype(self, name: str) -> tuple[tuple[int, ...], np.dtype]:
        """Shape and dtype of an array."""
        ...

    def read(self, name: str) -> np.ndarray:
        """An array."""
        ...

    def part(self, name: str, slices: tuple[slice, ...]) -> np.ndarray:
        """A part of an array: slices with start and stop, one per dimension."""
        ...


class TensorReader:
    """Makes tensors from the arrays of an open file or folder.

    Args:
        source: the arrays.
        restore_location: maps the device or sharding that a tensor was saved from to its new one.
        size: the size of the file, in bytes.
    """

    def __init__(self, source: ArraySource, restore_location: RestoreLocation, size: int) -> None:
        self._source = source
        self._restore_location = restore_location
        self._size = size
        self._left = set(source.names)
        self._bar: tqdm | None = None

    def read(self, name: str) -> np.ndarray:
        """An array with all of its values."""
        array = self._source.read(name)
        self._note(name)
        return array

    def make(
        self, name: str, saved: DeviceOrSharding, layout: MemoryLayout | None = None
    ) -> Tensor:
        """The tensor called `name`, which was saved from `saved`; or that of a layout in it."""
        device = self._restore_location(saved)
        if isinstance(device, Device):
            return import_array(self.numbers(name, layout), None, device)
        shape, dtype = self._source.shape_and_dtype(name)
        shape = shape if layout is None else layout.shape
        sharding = fit_sharding(device, len(shape))
        spec = spec_of(shape, from_numpy_dtype(dtype), sharding.placement, sharding.sbp)
        return wrap(LazyArray(spec, _Parts(self, name, layout)).value())

    def numbers(self, name: str, layout: MemoryLayout | None) -> np.ndarray:
        """An array with all of its values, or those of a layout in it."""
        array = self.read(name)
        return array if layout is None else layout.array(array)

    def part(self, name: str, slices: tuple[slice, ...]) -> np.ndarray:
        """A part of an array."""
        array = self._source.part(name, slices)
        self._note(name)
        return array

    def _note(self, name: str) -> None:
        """Show that one more has been read."""
        if self._bar is None:
            self._bar = progress_bar("Loading", "tensor", len(self._left), self._size)
        if name in self._left:
            self._left.discard(name)
            self._bar.update()
            if not self._left:
                self._bar.close()


class _Parts:
    """The numbers of one tensor, for whoever needs a part of them."""

    def __init__(self, reader: TensorReader, name: str, layout: MemoryLayout | None) -> None:
        self._reader, self._name, self._layout = reader, name, layout

    def __getitem__(self, slices: Any) -> np.ndarray:
        if self._layout is not None:
            return self._reader.numbers(self._name, self._layout)[slices]
        return self._reader.part(self._name, slices)
