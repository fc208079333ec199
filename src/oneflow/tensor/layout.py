"""Strides of tensors, derived from their chains of views.

They decide whether `view` is possible and whether `reshape` shares memory.
"""

from __future__ import annotations

from typing import Any

from oneflow.primitives.operators.layout import Place, is_row_major, row_major
from oneflow.tensor.tensor import Tensor


def place_of(tensor: Tensor) -> Place:
    """Where the elements of `tensor` lie in its storage."""
    family = tensor._family
    if not is_view(tensor):
        shape = tensor._value.spec.shape
        return Place(shape, row_major(shape))
    shape = family.storage.value.spec.shape
    place = Place(shape, row_major(shape))
    for primitive, numbers, attributes in (*family.prefix, *tensor._chain):
        place = primitive.facts["layout"](place, *numbers, **attributes)
    return place


def is_view(tensor: Tensor) -> bool:
    """Whether `tensor` may be a part of its storage, or lie in it in another order."""
    return tensor._family is not None and bool(tensor._chain or tensor._family.prefix)


def is_contiguous(tensor: Tensor) -> bool:
    """Whether the elements of `tensor` lie row by row."""
    if not is_view(tensor):
        return True
    place = place_of(tensor)
    return is_row_major(place.shape, place.strides)


def offset_of(tensor: Tensor) -> int:
    """Position of the first element in the storage.

    Reads index tensors that the view was made with.
    """
    return sum(_whole(number) * stride for number, stride in place_of(tensor).terms)


def _whole(number: Any) -> int:
    return int(number.read()) if hasattr(number, "read") else number
