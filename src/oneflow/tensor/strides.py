"""Strides of tensors, derived from their chains of views.

They decide whether `view` is possible and whether `reshape` shares memory.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from oneflow.primitives.strides import StridedLayout, is_row_major, row_major
from oneflow.tensor.tensor import Tensor


def strided_layout(tensor: Tensor) -> StridedLayout:
    """The strided layout of `tensor` in its storage."""
    family, chain = tensor._family, tensor._chain
    root_chain = () if family is None else family.root_views()
    if family is None or not (chain or root_chain):
        shape = tensor._value.spec.shape
        return StridedLayout(shape, row_major(shape))
    if not root_chain and chain.layout is not None:
        return chain.layout
    shape = family.storage.value.spec.shape
    layout = StridedLayout(shape, row_major(shape))
    for primitive, numbers, attributes in (*root_chain, *chain):
        layout = primitive.view_rule.layout(layout, *numbers, **attributes)
    if not root_chain:
        chain.layout = layout
    return layout


def is_view(tensor: Tensor) -> bool:
    """Return whether `tensor` may be a part of its storage, or have another element order."""
    family = tensor._family
    if family is None:
        return False
    if tensor._chain:
        return True
    # The views that lead to a root change where its storage has grown.
    return bool(family.root_views() if family.storage.growths else family.root_chain)


def is_contiguous(tensor: Tensor) -> bool:
    """Return whether the elements of `tensor` are stored row by row."""
    if not is_view(tensor):
        return True
    layout = strided_layout(tensor)
    return is_row_major(layout.shape, layout.strides)


def storage_offset_of(tensor: Tensor) -> int:
    """The index of the first element in the storage.

    Reads index tensors that the view was made with.
    """
    # Strides are parts of an element where several are seen as a larger one.
    return int(sum(_as_int(number) * stride for number, stride in strided_layout(tensor).terms))


def share_elements(one: Tensor, other: Tensor) -> bool:
    """Return whether two tensors of one storage share a byte."""
    (start, end), (other_start, other_end) = byte_range(one), byte_range(other)
    if start >= other_end or other_start >= end:
        return False
    # Nobody touches it, so that it takes no memory.
    memory = np.empty(max(end, other_end), np.uint8)
    return np.shares_memory(_bytes_of(one, memory), _bytes_of(other, memory))


def byte_range(tensor: Tensor) -> tuple[int, int]:
    """The positions of the first byte of a tensor in its storage, and behind the last one."""
    shape, strides, _ = strided_layout(tensor)
    start, itemsize = storage_offset_of(tensor), tensor.dtype.itemsize
    if not math.prod(shape):
        return 0, 0
    last = start + sum((size - 1) * stride for size, stride in zip(shape, strides, strict=True))
    return start * itemsize, (last + 1) * itemsize


def _bytes_of(tensor: Tensor, memory: np.ndarray) -> np.ndarray:
    """Return the positions of a tensor's bytes in its storage."""
    shape, strides, _ = strided_layout(tensor)
    itemsize = tensor.dtype.itemsize
    start = memory[storage_offset_of(tensor) * itemsize :]
    steps = [stride * itemsize for stride in strides]
    return np.lib.stride_tricks.as_strided(start, (*shape, itemsize), (*steps, 1))


def _as_int(number: Any) -> int:
    return int(number.read()) if hasattr(number, "read") else number
