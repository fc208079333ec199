"""Tensors that get another shape: they see their memory, from their first element on, with it."""

from __future__ import annotations

import math

from oneflow.differentiation.grad_mode import no_grad
from oneflow.primitives.operators import strided
from oneflow.primitives.operators.creation import zeros
from oneflow.primitives.operators.shape import concat, reshape, slice_
from oneflow.primitives.strides import row_major
from oneflow.program.value import Value
from oneflow.runtime.eager import read_array
from oneflow.tensor.call import wrap
from oneflow.tensor.copied_memory import is_exclusive
from oneflow.tensor.memory_views import join_storage
from oneflow.tensor.storage import MEMORY_LOCK, Storage
from oneflow.tensor.strides import is_view, storage_offset_of
from oneflow.tensor.tensor import Tensor
from oneflow.tensor.views import marked_like, share, write


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


def with_elements(tensor: Tensor, count: int) -> bool:
    """Make sure that there are `count` elements in the memory from the first one of `tensor` on.

    The memory grows for all tensors that share it, by zeros.

    Returns:
        False if there are less and nobody else has the memory: then it had better be replaced.

    Raises:
        RuntimeError: global tensors share the memory.
    """
    if count <= available_elements(tensor):
        return True
    if not is_view(tensor) and is_exclusive(tensor):
        return False
    resize_to(tensor, count)
    return True


def resize_to(tensor: Tensor, count: int) -> None:
    """Grow the memory of `tensor` to at least `count` elements from its first one on.

    Raises:
        RuntimeError: it is that of a global tensor.
    """
    _resize_storage(
        share(tensor).storage, (storage_offset_of(tensor) + count) * tensor.dtype.itemsize
    )


def _resize_storage(storage: Storage, size: int) -> None:
    """Make a memory at least `size` bytes large; new bytes are zero.

    Raises:
        RuntimeError: it is that of a global tensor, or of an array.
    """
    with MEMORY_LOCK, no_grad():
        value = storage.root()
        spec = value.spec
        missing = -(-size // spec.dtype.itemsize) - spec.numel
        if missing <= 0:
            return
        if storage.host is not None:
            raise RuntimeError(
                "Trying to resize storage that is not resizable: an array has the same memory; "
                "resize a clone()"
            )
        if spec.sbp is not None:
            raise RuntimeError(
                "resize_: the memory of a global tensor with views cannot grow: resize a clone()"
            )
        end = zeros(shape=(missing,), dtype=spec.dtype, device=spec.device)
        root = marked_like(concat(reshape(value, shape=(spec.numel,)), end, dim=0), value)
        if not root.is_symbolic and spec.device.type != "meta":
            read_array(root)  # so that nothing has changed if it cannot be computed
        part = {"dims": (0,), "sizes": (spec.numel,), "steps": (1,)}
        former = ((slice_, (0,), part), (reshape, (), {"shape": spec.shape}))
        storage.value = root
        storage.version += 1
        storage.growths = (*storage.growths, (storage.version, former))
        storage.track(root)


def replace_memory(tensor: Tensor, content: Tensor) -> Tensor:
    """Give `tensor` the memory of `content`, and its shape; it counts as a write."""
    tensor.data = content
    share(tensor).writes[0] += 1
    return tensor


def resize_to_result(tensor: Tensor, result: Value) -> Tensor:
    """Give `tensor` the shape of `result`, and its values, in the memory that it has.

    If that is too small it grows, for all that share it.

    Raises:
        RuntimeError: it requires a gradient.
    """
    if tensor.requires_grad:
        raise RuntimeError("cannot resize variables that require grad")
    shape = result.spec.shape
    if with_elements(tensor, math.prod(shape)):
        view = tensor._replace_with_view(elements_from(tensor, shape), is_write=False)
        return write(view, result)
    tensor.data = wrap(result)
    return tensor
