"""Indexing: ``x[...]``, iteration and membership."""

from __future__ import annotations

from collections.abc import Iterator
from numbers import Number
from typing import Any

import numpy as np

from oneflow.base.spec import spec_of
from oneflow.functional.shape.concat import slices_of, unbind
from oneflow.runtime.lazy_array import HostArray
from oneflow.tensor.indexing import get_item, set_item
from oneflow.tensor.methods import attach
from oneflow.tensor.operands import can_be_read
from oneflow.tensor.subclasses import OVERRIDES, has_override
from oneflow.tensor.tensor import Tensor

# From so many slices on they are read at once, up to as many bytes.
_MANY, _LARGE = 512, 2**26


def iterate(self: Tensor) -> Iterator[Tensor]:
    """The slices along dimension 0, as views.

    Many that need no gradient are read at once, so that reading each is quick.

    Raises:
        TypeError: a 0-dim tensor.
    """
    if not self.ndim:
        raise TypeError("iteration over a 0-d tensor")
    if OVERRIDES.asked_modes or has_override(type(self)):
        return iter(self.unbind(0))  # which asks them
    spec = self._value.spec
    size = spec.numel * spec.dtype.itemsize
    if spec.shape[0] < _MANY or size > _LARGE or not can_be_read(self):
        return iter(unbind(self))
    specs = spec_of(spec.shape[1:], spec.dtype, spec.device)
    rows = [HostArray(specs, row).value() for row in np.asarray(self._read())]
    return iter(slices_of(self, rows, 0))


def contains(self: Tensor, element: Any) -> bool:
    """Return True if some element equals `element` (a number or tensor).

    Raises:
        RuntimeError: `element` is something else.
    """
    if not isinstance(element, Tensor | Number):
        raise RuntimeError(
            "Tensor.__contains__ only supports Tensor or scalar, but you passed in a "
            f"{type(element).__name__}"
        )
    return bool((self == element).any())


def delete_item(self: Tensor, key: Any) -> None:
    """Refuse ``del x[key]``: tensors do not shrink.

    Raises:
        TypeError: always.
    """
    raise TypeError("Tensor does not support deleting items")


attach("__getitem__", get_item)
attach("__delitem__", delete_item)
attach("__setitem__", set_item)


def reverse(self: Tensor) -> Tensor:
    """Return a copy with the slices along dimension 0 in reverse order, for ``reversed(x)``."""
    return self.flip(0) if self.ndim else self


attach("__iter__", iterate)
attach("__reversed__", reverse)
attach("__contains__", contains)
