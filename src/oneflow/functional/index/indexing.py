"""Indexing: ``x[...]``, iteration and membership."""

from __future__ import annotations

from collections.abc import Iterator
from numbers import Number
from typing import Any

from oneflow.functional.shape.concat import unbind
from oneflow.tensor.indexing import get_item, set_item
from oneflow.tensor.methods import attach
from oneflow.tensor.tensor import Tensor


def iterate(self: Tensor) -> Iterator[Tensor]:
    """The slices along dimension 0, as views.

    Raises:
        TypeError: a 0-dim tensor.
    """
    if not self.ndim:
        raise TypeError("iteration over a 0-d tensor")
    return iter(unbind(self))


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
