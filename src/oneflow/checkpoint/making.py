"""Tensors from an open file or folder: local ones at once, global ones when they are needed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from tqdm import tqdm

from oneflow.base.device import Device
from oneflow.base.dtype import from_numpy_dtype
from oneflow.base.spec import spec_of
from oneflow.checkpoint.map_location import Place, fitting
from oneflow.checkpoint.progress import progress_bar
from oneflow.runtime.stored import Stored
from oneflow.tensor.call import wrap
from oneflow.tensor.tensor import Tensor


class Opened(Protocol):
    """Named arrays in an open file or folder."""

    names: list[str]

    def described(self, name: str) -> tuple[tuple[int, ...], np.dtype]:
        """Shape and dtype of an array."""
        ...

    def read(self, name: str) -> np.ndarray:
        """An array."""
        ...

    def part(self, name: str, slices: tuple[slice, ...]) -> np.ndarray:
        """A part of an array: slices with start and stop, one per dimension."""
        ...


class Maker:
    """Makes tensors from the arrays of an open file or folder.

    Args:
        opened: the arrays.
        place: from where a tensor was saved to where it goes.
        size: of the file, in bytes.
    """

    def __init__(self, opened: Opened, place: Callable[[Place], Place], size: int) -> None:
        self._opened = opened
        self._place = place
        self._size = size
        self._left = set(opened.names)
        self._bar: tqdm | None = None

    def read(self, name: str) -> np.ndarray:
        """An array with all of its values."""
        array = self._opened.read(name)
        self._note(name)
        return array

    def make(self, name: str, saved: Place) -> Tensor:
        """The tensor called `name`, which was saved from `saved`."""
        place = self._place(saved)
        if isinstance(place, Device):
            return Tensor._import(self.read(name), None, place)
        shape, dtype = self._opened.described(name)
        layout = fitting(place, len(shape))
        spec = spec_of(shape, from_numpy_dtype(dtype), layout.placement, layout.sbp)
        return wrap(Stored(spec, _Parts(self, name)).value())

    def part(self, name: str, slices: tuple[slice, ...]) -> np.ndarray:
        """A part of an array."""
        array = self._opened.part(name, slices)
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

    def __init__(self, maker: Maker, name: str) -> None:
        self._maker, self._name = maker, name

    def __getitem__(self, slices: Any) -> np.ndarray:
        return self._maker.part(self._name, slices)
