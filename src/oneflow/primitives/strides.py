"""Strided layouts: the positions in memory at which PyTorch would find the elements of a view.

They are derived from the views, since arrays have none.
"""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import numpy as np


class StridedLayout(NamedTuple):
    """The positions of a tensor's elements in its storage.

    Attributes:
        shape: sizes.
        strides: distances between neighbours along each dimension, in elements.
        terms: ``(number, stride)`` pairs; the offset of the first element is the sum of their
            products. A number may be the handle of an index tensor.
    """

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    terms: tuple[tuple[Any, int], ...] = ()


@functools.lru_cache(maxsize=1 << 12)
def row_major(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Strides of a new, contiguous tensor."""
    strides, step = [], 1
    for size in reversed(shape):
        strides.append(step)
        step *= max(size, 1)
    return tuple(reversed(strides))


def is_row_major(shape: tuple[int, ...], strides: tuple[int, ...]) -> bool:
    """Return whether elements are stored row by row without gaps.

    Strides of dimensions of size 1 do not matter.
    """
    if 0 in shape:
        return True
    step = 1
    for size, stride in zip(reversed(shape), reversed(strides), strict=True):
        if size != 1:
            if stride != step:
                return False
            step *= size
    return True


@functools.lru_cache(maxsize=1 << 12)
def reshaped_strides(
    shape: tuple[int, ...], strides: tuple[int, ...], new_shape: tuple[int, ...]
) -> tuple[int, ...] | None:
    """Strides of the same memory seen with another shape; None if no strides describe it."""
    if 0 in shape:
        return strides if new_shape == shape else row_major(new_shape)
    result: list[int] = []
    sizes = list(new_shape)
    for count, stride in _runs(shape, strides):
        described = 1
        while sizes and (described < count or sizes[-1] == 1):
            result.append(described * stride)
            described *= sizes.pop()
        if described != count:
            return None
    return tuple(reversed(result))


def _runs(shape: tuple[int, ...], strides: tuple[int, ...]) -> list[tuple[int, int]]:
    """Merge neighbouring dimensions of one stride; returns ``(size, stride)`` pairs, last first.

    A dimension of size 1 belongs to those behind it, as in PyTorch.
    """
    runs = [(shape[-1], strides[-1])] if shape else [(1, 1)]
    for size, stride in zip(reversed(shape[:-1]), reversed(strides[:-1]), strict=True):
        count, step = runs[-1]
        if size == 1 or stride == count * step:
            runs[-1] = (count * size, step)
        else:
            runs.append((size, stride))
    return runs


def last_at_place(shape: tuple[int, ...], strides: tuple[int, ...]) -> np.ndarray:
    """The mask of the elements after which, row by row, no other comes at the same place."""
    places = np.zeros(shape, np.int64)
    for along, stride in zip(np.ogrid[tuple(map(slice, shape))], strides, strict=True):
        places += along * stride
    backwards = places.reshape(-1)[::-1]
    is_last = np.zeros(backwards.size, bool)
    is_last[np.unique(backwards, return_index=True)[1]] = True
    return is_last[::-1].reshape(shape)


@functools.lru_cache(maxsize=1 << 12)
def has_repeats(shape: tuple[int, ...], strides: tuple[int, ...]) -> bool:
    """Return whether two elements are at the same place."""
    if 0 in shape:
        return False
    end = 0
    for stride, size in sorted(zip(strides, shape, strict=True)):
        if size == 1:
            continue
        if stride <= end:
            return not last_at_place(shape, strides).all()
        end += stride * (size - 1)
    return False
