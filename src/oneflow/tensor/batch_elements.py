"""Starts of elements in the memory of their batch, while a function is mapped over it.

To the function, an element is a tensor of its own: its offsets count as if it were the first one.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from oneflow.tensor.storage import Storage
from oneflow.tensor.strides import strided_layout
from oneflow.tensor.tensor import Tensor
from oneflow.tensor.view_chain import Chain


class _Element(NamedTuple):
    """An element of a batch, or a view with strides of its own made of one.

    Attributes:
        storage: the memory of the batch.
        chain: the views that lead from there to the element.
        start: the first byte that the element has for its own.
    """

    storage: Storage
    chain: Chain
    start: int


class _Elements(threading.local):
    """The elements that functions of this thread run with, of the innermost function last."""

    def __init__(self) -> None:
        self.running: list[_Element] = []


_ELEMENTS = _Elements()


@contextlib.contextmanager
def running_elements(parts: Sequence[tuple[Tensor, Tensor, int, int]]) -> Iterator[None]:
    """Context manager: a function runs with elements of batches.

    Args:
        parts: each element, its batch, the dimension there and the position along it.
    """
    running = _ELEMENTS.running
    count = len(running)
    elements = []
    for part, batch, dim, number in parts:
        if part._family is not None:
            step = number * strided_layout(batch).strides[dim] * batch.dtype.itemsize
            elements.append(_element(part, _first_byte(batch) + step))
    running += elements
    try:
        yield
    finally:
        del running[count:]


def offset_in_storage(tensor: Tensor) -> int:
    """The position in the storage from which offsets of a tensor count; 0 but for elements."""
    return _first_byte(tensor) // tensor.dtype.itemsize if _ELEMENTS.running else 0


def note_same_start(view: Tensor, tensor: Tensor) -> None:
    """Note that offsets of an `as_strided` view count from where the tensor's offsets do."""
    if _ELEMENTS.running:
        _ELEMENTS.running.append(_element(view, _first_byte(tensor)))


def _first_byte(tensor: Tensor) -> int:
    if tensor._family is None:
        return 0
    storage, chain, _ = _element(tensor, 0)
    for element in reversed(_ELEMENTS.running):
        if element.storage is storage and chain[: len(element.chain)] == element.chain:
            return element.start
    return 0


def _element(tensor: Tensor, start: int) -> _Element:
    family = tensor._family
    return _Element(family.storage, (*family.root_views(), *tensor._chain), start)
