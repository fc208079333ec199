"""The memory that tensors are views of, and tensors that get another size in it."""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any

from oneflow.base.keyword_aliases import self_by_name
from oneflow.base.layout import (
    preserve_format,
    require_memory_format,
    require_new_memory_format,
)
from oneflow.differentiation.grad_mode import MODE
from oneflow.functional.creation.conversion import clone
from oneflow.functional.creation.factory_functions import zeros
from oneflow.functional.creation.legacy_storages import STORAGE_CLASSES
from oneflow.functional.creation.options import new_shape
from oneflow.functional.creation.storages import TypedStorage, UntypedStorage
from oneflow.functional.derivatives import raise_without_derivative
from oneflow.functional.registry import function, register_public
from oneflow.functional.shape.concat import cat
from oneflow.primitives.strides import row_major
from oneflow.tensor.memory_views import base_of
from oneflow.tensor.methods import attach
from oneflow.tensor.operands import not_a_tensor, require_tensor
from oneflow.tensor.resizing import (
    available_elements,
    elements_from,
    replace_memory,
    resize_to,
    with_elements,
)
from oneflow.tensor.shared_memory import SharedMemory, share_with_processes
from oneflow.tensor.strides import is_contiguous, storage_offset_of
from oneflow.tensor.tensor import Tensor
from oneflow.tensor.views import share, unwrap, with_history_of


def untyped_storage(self: Tensor) -> UntypedStorage:
    """The memory that the tensor is a view of, in bytes.

    Example:
        >>> import oneflow as flow
        >>> flow.ones(2, 3)[0].untyped_storage().nbytes()
        24
    """
    return UntypedStorage._of(share(self).storage)


def storage(self: Tensor) -> TypedStorage:
    """The memory that the tensor is a view of, in elements.

    Example:
        >>> import oneflow as flow
        >>> flow.ones(2, 3)[0].storage().size()
        6
    """
    return TypedStorage._of(share(self).storage, self.dtype)


def share_memory_(self: Tensor) -> Tensor:
    """Move the memory of the tensor to where processes share it, and return the tensor.

    A process that gets the tensor, as an argument or by a queue of `multiprocessing`, has the same
    memory: each sees what the others write.

    Raises:
        RuntimeError: the tensor is not on the CPU.

    Example:
        >>> import oneflow as flow
        >>> flow.zeros(2).share_memory_().is_shared()
        True
    """
    share_with_processes(share(self).storage)
    return self


def is_shared(self: Tensor) -> bool:
    """Return whether other processes can have the memory: `share_memory_` moved it there.

    Example:
        >>> import oneflow as flow
        >>> flow.ones(2).is_shared()
        False
    """
    return self._family is not None and isinstance(self._family.storage.host, SharedMemory)


def storage_type(self: Tensor) -> type[TypedStorage]:
    """The class of PyTorch's storages that hold elements of the tensor's dtype.

    Example:
        >>> import oneflow as flow
        >>> flow.ones(2).storage_type().__name__
        'FloatStorage'
    """
    return STORAGE_CLASSES[self.dtype]


def data_ptr(self: Tensor) -> int:
    """The address of the first element, for reading; reads the tensor, and a write to it moves it.

    The address of a tensor without elements is 0.

    Example:
        >>> import oneflow as flow
        >>> x = flow.ones(4)
        >>> x[1:].data_ptr() - x.data_ptr()
        4
    """
    if not self.numel():
        return 0
    return untyped_storage(self).data_ptr() + storage_offset_of(self) * self.dtype.itemsize


def is_set_to(self: Tensor, tensor: Tensor) -> bool:
    """Return True if the elements of both tensors are the same memory, in the same shape.

    Example:
        >>> import oneflow as flow
        >>> x = flow.ones(4)
        >>> x.is_set_to(x[:]), x.is_set_to(x[:2]), x.is_set_to(x.clone())
        (True, False, False)
    """
    if self is tensor:
        return True
    if not isinstance(tensor, Tensor):
        raise not_a_tensor("is_set_to", "tensor", 1, tensor)
    return share(self).storage is share(tensor).storage and (
        (self.shape, self.stride(), storage_offset_of(self))
        == (tensor.shape, tensor.stride(), storage_offset_of(tensor))
    )


def _base(self: Tensor) -> Tensor | None:
    """The tensor that the tensor is a view of; None if it has a memory of its own.

    Example:
        >>> import oneflow as flow
        >>> x = flow.ones(4)
        >>> x[1:][:2]._base is x, x._base, x._is_view()
        (True, None, False)
    """
    return base_of(self)


def _cdata(self: Tensor) -> int:
    """A number that the tensor alone has, as long as it exists."""
    return id(self)


def _is_view(self: Tensor) -> bool:
    """Return True if the tensor was made as a view of another one, its `_base`."""
    return base_of(self) is not None


def _version(self: Tensor) -> int:
    """Number of writes to the memory that autograd notices.

    Example:
        >>> import oneflow as flow
        >>> x = flow.zeros(2)
        >>> view = x.add_(1)[0].add_(1)
        >>> x.data.add_(1)._version, x._version, view._version
        (1, 2, 2)

    Raises:
        RuntimeError: it was made in inference mode.
    """
    if self.is_inference():
        raise RuntimeError("Inference tensors do not track version counter.")
    return self._writes if self._family is None else self._family.writes[0]


def _backward_hooks(self: Tensor) -> OrderedDict[int, Callable[..., Any]] | None:
    """The hooks of `register_hook` by their numbers, or None; changing them changes nothing.

    Example:
        >>> import oneflow as flow
        >>> x = flow.ones(1, requires_grad=True)
        >>> handle = x.register_hook(print)
        >>> dict(x._backward_hooks)
        {0: <built-in function print>}
    """
    value = unwrap(self)
    hooks = None if value.node is None else value.node.hooks
    registered = None if hooks is None else hooks.outputs.get(value.output_index)
    return OrderedDict(enumerate(registered)) if registered else None


def output_nr(self: Tensor) -> int:
    """The position of the tensor among the results of its `grad_fn`; 0 if it has none.

    Example:
        >>> import oneflow as flow
        >>> flow.ones(4, requires_grad=True).unbind()[3].output_nr
        3
    """
    value = unwrap(self)
    return 0 if value.node is None else value.output_index


@function()
def contiguous(input: Tensor, memory_format: Any = None) -> Tensor:
    """`input` itself if it is in row-major order, or in `memory_format`, else a row-major copy.

    Raises:
        RuntimeError: a copy would have to `preserve_format`, or the format is of tensors with
            other numbers of dimensions.

    Example:
        >>> import oneflow as flow
        >>> flow.ones(2, 3).T.contiguous().stride()
        (2, 1)
    """
    if memory_format is not None:
        require_memory_format(memory_format, "contiguous", input.ndim)
    if is_contiguous(input) or input.is_contiguous(memory_format):
        return input
    if memory_format is preserve_format:
        raise RuntimeError(
            "contiguous(): preserve memory format is unsupported by the contiguous operator; leave"
            " it out, or use `clone`"
        )
    return clone(input)


@self_by_name
def contiguous_(self: Tensor) -> Tensor:
    """Store the elements of this tensor row by row, in memory of its own if they are not.

    Example:
        >>> import oneflow as flow
        >>> flow.ones(2, 3).T.contiguous_().stride()
        (2, 1)
    """
    if not is_contiguous(self):
        self.data = self.contiguous()
    return self


def resize_(self: Tensor, *sizes: Any, memory_format: Any = None) -> Tensor:
    """Give the tensor another shape: the elements from its first one on, in their order in memory.

    Args:
        self: the tensor.
        sizes: the new sizes, as separate numbers or one sequence.
        memory_format: the memory format of the new sizes; it changes nothing.

    Returns:
        The tensor itself. If there are less elements in its memory, that grows by zeros, also for
        the tensors that share it.

    Raises:
        RuntimeError: it requires a gradient, a size is negative, or the memory that would have to
            grow is that of a global tensor with views.

    Example:
        >>> import oneflow as flow
        >>> flow.arange(6).resize_(2, 2)
        tensor([[0, 1],
                [2, 3]], dtype=oneflow.int64)
    """
    if self.requires_grad:
        raise RuntimeError("cannot resize variables that require grad")
    shape = new_shape(sizes)
    require_new_memory_format(memory_format, "resize_", len(shape))
    if shape == tuple(self.shape):
        return self
    available, count = available_elements(self), math.prod(shape)
    if with_elements(self, count):
        return self._replace_with_view(elements_from(self, shape))
    missing = zeros(count - available, dtype=self.dtype, device=self.device)
    content = cat([elements_from(self, (available,)), missing]).reshape(shape)
    return replace_memory(self, content)


def resize_as_(self: Tensor, the_template: Tensor, memory_format: Any = None) -> Tensor:
    """`resize_` to the shape of another tensor.

    Example:
        >>> import oneflow as flow
        >>> flow.arange(6).resize_as_(flow.ones(3))
        tensor([0, 1, 2], dtype=oneflow.int64)
    """
    require_tensor(self, "resize_as_")
    if not isinstance(the_template, Tensor):
        raise not_a_tensor("resize_as_", "the_template", 2, the_template)
    require_memory_format(memory_format, "resize_as_", the_template.ndim)
    return resize_(self, tuple(the_template.shape))


def set_(
    self: Tensor,
    source: Tensor | UntypedStorage | TypedStorage | None = None,
    storage_offset: int = 0,
    size: Any = None,
    stride: Any = None,
) -> Tensor:
    """Move the tensor to another memory; its views stay on the old one.

    Args:
        self: the tensor.
        source: a tensor, whose memory, shape and strides the tensor gets, or a memory; without it
            the tensor is empty.
        storage_offset: the position of the first element, counted from that of a tensor; with
            `size`.
        size: the shape, default all elements; a memory with less elements grows.
        stride: the strides, default row by row; with `size`.

    Returns:
        The tensor itself.

    Raises:
        RuntimeError: `source` has another dtype or is on another device, it requires a gradient, or
            it has a `size` and is not contiguous; or the tensor is a leaf that requires one.

    Example:
        >>> import oneflow as flow
        >>> x, y = flow.zeros(2), flow.ones(3)
        >>> x.set_(y).add_(1)
        tensor([2., 2., 2.], dtype=oneflow.float32)
        >>> y
        tensor([2., 2., 2.], dtype=oneflow.float32)
    """
    require_tensor(self, "set_")
    if MODE.enabled and self.requires_grad and self.is_leaf:
        raise RuntimeError(
            "a leaf Variable that requires grad is being used in an in-place operation."
        )
    if source is None:
        source = zeros(0, dtype=self.dtype, device=self.device)
    content = _as_source(self, source, has_size=size is not None)
    if size is not None:
        content = _strided_part(content, storage_offset, tuple(size), stride)
    history = raise_without_derivative("set_", content, self)
    replace_memory(self, content)
    if history.requires_grad:
        with_history_of(self._value, history._value)
    return self


def _as_source(tensor: Tensor, source: Any, has_size: bool) -> Tensor:
    """Return what `set_` gives `tensor`, as a tensor; of a memory all elements.

    Raises:
        RuntimeError: it does not fit.
        TypeError: it is neither a tensor nor a memory.
    """
    if isinstance(source, UntypedStorage):
        source = TypedStorage._of(source._memory, tensor.dtype, source._part)._elements()
    elif isinstance(source, TypedStorage):
        source = source._elements()
    elif not isinstance(source, Tensor):
        raise TypeError(
            f"set_: `source` must be a Tensor or its storage, got {type(source).__name__}"
        )
    elif has_size and not source.is_contiguous():
        raise RuntimeError("set_: a tensor used as memory must be contiguous")
    if source.dtype is not tensor.dtype:
        raise RuntimeError(f"Could not set tensor of {source.dtype} to a tensor of {tensor.dtype}")
    if source.device != tensor.device:
        raise RuntimeError(f"set_: `source` is on {source.device}, the tensor on {tensor.device}")
    if MODE.enabled and source.requires_grad:
        raise RuntimeError("set_ has no derivative: give it source.detach(), or call it in no_grad")
    return source.detach()


def _strided_part(
    memory: Tensor, offset: int, size: tuple[int, ...], stride: Sequence[int] | None
) -> Tensor:
    """The view of the elements of `memory` from position `offset` on, which grows if it must."""
    strides = row_major(size) if stride is None else tuple(stride)
    if math.prod(size):
        last = offset + sum((n - 1) * step for n, step in zip(size, strides, strict=True))
        resize_to(memory, last + 1)
    return memory.as_strided(size, strides, storage_offset_of(memory) + offset)


register_public("resize_as_", resize_as_)
attach("const_data_ptr", data_ptr)
attach("_base", property(_base))
attach("_is_view", _is_view)
attach("_cdata", property(_cdata))
attach("_version", property(_version))
attach("output_nr", property(output_nr))
attach("_backward_hooks", property(_backward_hooks))
for _method in (
    untyped_storage,
    storage,
    share_memory_,
    is_shared,
    storage_type,
    data_ptr,
    is_set_to,
    contiguous_,
    resize_,
    resize_as_,
    set_,
):
    attach(_method.__name__, _method)
