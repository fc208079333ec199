"""The entries of an index, as users write them: numbers, slices, lists, arrays and tensors."""

from __future__ import annotations

import functools
import operator
from typing import Any

import numpy as np

from oneflow.base.shape import broadcast_shapes
from oneflow.primitives.operators.indexing import out_of_bounds
from oneflow.primitives.operators.shape import select
from oneflow.program.value import Value
from oneflow.tensor.tensor import Tensor
from oneflow.tensor.transfer import import_array
from oneflow.tensor.view_chain import ViewCall

NO_DIMENSIONS = (
    "invalid index of a 0-dim tensor. Use `tensor.item()` in Python to convert a 0-dim tensor to a "
    "number"
)


class SliceError(TypeError):
    """A slice has a bound that is no integer."""


def bound_of_slice(bound: Any) -> int | None:
    """A bound or step of a slice as an integer, if there is one.

    Raises:
        SliceError: it is something else.
    """
    try:
        return None if bound is None else operator.index(bound)
    except TypeError:
        raise SliceError(
            "slice indices must be integers or None or have an __index__ method, got "
            f"{type(bound).__name__}"
        ) from None


def entries_of(index: Any) -> tuple:
    """The entries of an index; lists and arrays become tensors.

    A list that holds lists, tensors, slices, None or Ellipsis stands for a tuple, as in PyTorch.
    """
    if isinstance(index, list) and any(map(_is_entry, index)):
        index = tuple(index)
    entries = index if isinstance(index, tuple) else (index,)
    return tuple(
        [
            import_array(_index_array(entry))
            if isinstance(entry, list | tuple | range | np.ndarray)
            else bool(entry)
            if isinstance(entry, np.bool_)
            else entry
            for entry in entries
        ]
    )


def select_first(shape: tuple[int, ...], index: int) -> ViewCall:
    """The selection of one position along dimension 0: the commonest index gets a short way.

    Raises:
        IndexError: there is no such position.
    """
    if not shape:
        raise IndexError(NO_DIMENSIONS)
    if not -shape[0] <= index < shape[0]:
        raise out_of_bounds(index, 0, shape[0])
    return select, (index + shape[0] if index < 0 else index,), _leading_dims(1)


def select_leading(shape: tuple[int, ...], entries: tuple) -> ViewCall | None:
    """The selection by an index of numbers alone: a loop over elements has each index once.

    None for another index, and for one with a position that does not exist.
    """
    if not 0 < len(entries) <= len(shape):
        return None
    positions = []
    for entry, size in zip(entries, shape):  # noqa: B905 - the commonest index, and often shorter
        if type(entry) is not int or not -size <= entry < size:
            return None
        positions.append(entry + size if entry < 0 else entry)
    return select, tuple(positions), _leading_dims(len(positions))


@functools.cache
def _leading_dims(count: int) -> dict[str, Any]:
    """The attributes of a selection along the first dimensions."""
    return {"dims": tuple(range(count))}


def _is_entry(item: Any) -> bool:
    """Return whether an element of a list shows that the list is an index of several entries."""
    if isinstance(item, Tensor):
        return item.ndim > 0
    return item is None or item is Ellipsis or isinstance(item, list | tuple | slice)


def _index_array(entry: Any) -> np.ndarray:
    """A list or array of positions; an empty list is one of integers."""
    if isinstance(entry, list | tuple) and any(isinstance(item, Tensor) for item in entry):
        entry = [item.tolist() if isinstance(item, Tensor) else item for item in entry]
    array = np.asarray(entry)
    return array.astype(np.int64) if array.size == 0 and array.dtype.kind == "f" else array


def common_shape(positions: list[Value]) -> tuple[int, ...]:
    """The shape to which positions broadcast.

    Raises:
        IndexError: they do not.
    """
    shapes = [position.spec.shape for position in positions]
    if len(shapes) == 1:
        return shapes[0]
    try:
        return broadcast_shapes(*shapes)
    except RuntimeError:
        shapes_text = ", ".join(str(list(shape)) for shape in shapes)
        raise IndexError(
            "shape mismatch: indexing tensors could not be broadcast together with shapes "
            f"{shapes_text}"
        ) from None
