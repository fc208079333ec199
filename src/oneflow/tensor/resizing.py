"""Tensors that get another shape: they see their memory, from their first element on, with it."""

from __future__ import annotations

import math

from oneflow.primitives.operators import strided
from oneflow.primitives.operators.shape import reshape, slice_
from oneflow.primitives.strides import row_major
from oneflow.program.value import Value
from oneflow.tensor.call import wrap
from oneflow.tensor.memory_views import join_storage
from oneflow.tensor.strides import storage_offset_of
from oneflow.tensor.tensor import Tensor
from oneflow.tensor.views import share, write


def elements_from(tensor: Tensor, shape: tuple[int, ...]) -> Tensor:
    """The view of the memory from the first element of `tensor` on, row by row in that shape."""
    offset = storage_offset_of(tensor)
    where = {"shape": shape, "strides": row_major(shape), "offset": offset}
    return join_storage(tensor, (strided.as_strided, (), where))


def available_elements(tensor: Tensor) -> int:
    """The number of elements in the memory from the first one of `tensor` on."""
    spec = share(tensor).storage.value.spec
    size = spec.numel * spec.dtype.itemsize // tensor.dtype.itemsize
    return size - storage_offset_of(tensor)


def replace_memory(tensor: Tensor, content: Tensor) -> Tensor:
    """Give `tensor` the memory of `content`, and its shape; it counts as a write."""
    tensor.data = content
    share(tensor).writes[0] += 1
    return tensor


def resize_to_result(tensor: Tensor, result: Value) -> Tensor:
    """Give `tensor` the shape of `result`, and its values, in the memory that it has.

    If that is too small it gets memory of its own, after what fits has been written.

    Raises:
        RuntimeError: it requires a gradient.
    """
    if tensor.requires_grad:
        raise RuntimeError("cannot resize variables that require grad")
    shape = result.spec.shape
    available = available_elements(tensor)
    if math.prod(shape) <= available:
        view = tensor._replace_with_view(elements_from(tensor, shape), is_write=False)
        return write(view, result)
    flat = reshape(result, shape=(result.spec.numel,))
    start = slice_(flat, 0, dims=(0,), sizes=(available,), steps=(1,))
    write(elements_from(tensor, (available,)), start)
    tensor.data = wrap(result)
    return tensor
