"""The memory that tensors are views of, and tensors that get another size in it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, Self

import numpy as np

from oneflow.base.device import Device
from oneflow.base.dtype import DType
from oneflow.base.program_name import program_name
from oneflow.functional.creation.factory_functions import zeros
from oneflow.functional.creation.options import new_shape
from oneflow.functional.registry import register_public
from oneflow.functional.shape.concat import cat
from oneflow.runtime.eager import read_array
from oneflow.runtime.memory import address_of
from oneflow.tensor.call import wrap
from oneflow.tensor.memory_views import base_of
from oneflow.tensor.methods import attach
from oneflow.tensor.resizing import available_elements, elements_from
from oneflow.tensor.strides import storage_offset_of
from oneflow.tensor.tensor import Tensor
from oneflow.tensor.views import share, unwrap


class UntypedStorage:
    """The memory of a tensor and of all its views, in bytes.

    It tells what shares memory and how much there is; values are read through tensors.

    Attributes:
        device: where it is.

    Example:
        >>> import oneflow as flow
        >>> x = flow.ones(2, 3)
        >>> x[1].untyped_storage().nbytes(), x[1].untyped_storage() == x.untyped_storage()
        (24, True)
    """

    def __init__(self, tensor: Tensor) -> None:
        self._memory = share(tensor).storage

    @property
    def device(self) -> Device:
        """The device of the memory; of a global tensor its placement."""
        return self._memory.value.spec.device

    def nbytes(self) -> int:
        """Return the number of bytes."""
        return self._memory.value.spec.nbytes

    def size(self) -> int:
        """Return the number of elements: bytes."""
        return self.nbytes()

    def data_ptr(self) -> int:
        """Return the address of the memory, for reading: values never change, and a write moves it.

        It is 0 on the device ``meta``. For a tensor with shards, or without values yet, it is a
        number that all tensors on the memory share.
        """
        value = self._memory.value
        if value.is_symbolic or value.spec.sbp is not None:
            return id(self._memory)
        return address_of(read_array(value))

    def clone(self) -> Self:
        """Return other memory with the same contents."""
        return type(self)(self._tensor().clone())

    def tolist(self) -> list[int] | list[Any]:
        """Return the contents: bytes."""
        return self._elements().tolist()

    def _elements(self) -> np.ndarray:
        """The contents, in one dimension."""
        return np.ascontiguousarray(self._tensor().detach().numpy()).reshape(-1).view(np.uint8)

    def _tensor(self) -> Tensor:
        """A tensor of all that is in memory."""
        return wrap(self._memory.value.alias())

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        if id(self._memory) not in memo:
            memo[id(self._memory)] = self.clone()._tensor(), self._memory
        return type(self)(memo[id(self._memory)][0])

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._tensor().detach(),)

    def __getitem__(self, index: int | slice) -> Any:
        if self.device.type == "meta":
            raise NotImplementedError("memory on the device `meta` has no contents to read")
        # The dots keep an array, whose numbers become those of Python, where one is chosen.
        return self._elements()[index, ...].tolist()

    def __iter__(self) -> Iterator[Any]:
        return iter(self.tolist())

    def __len__(self) -> int:
        return self.size()

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and other._memory is self._memory  # type: ignore[attr-defined]

    def __hash__(self) -> int:
        return id(self._memory)

    def __repr__(self) -> str:
        return f"{program_name()}.{type(self).__name__}(device={self.device}) of size {self.size()}"


class TypedStorage(UntypedStorage):
    """The memory of a tensor and of all its views, in elements.

    Attributes:
        device: where it is.

    Example:
        >>> import oneflow as flow
        >>> storage = flow.ones(2, 3)[1].storage()
        >>> storage.size(), storage.element_size(), storage.dtype
        (6, 4, oneflow.float32)
    """

    @property
    def dtype(self) -> DType:
        """The dtype of the elements."""
        return self._memory.value.spec.dtype

    def element_size(self) -> int:
        """Return the number of bytes of an element."""
        return self.dtype.itemsize

    def size(self) -> int:
        """Return the number of elements."""
        return self._memory.value.spec.numel

    def _elements(self) -> np.ndarray:
        return self._tensor().detach().numpy().ravel()


def untyped_storage(self: Tensor) -> UntypedStorage:
    """The memory that the tensor is a view of, in bytes.

    Example:
        >>> import oneflow as flow
        >>> flow.ones(2, 3)[0].untyped_storage().nbytes()
        24
    """
    return UntypedStorage(self)


def storage(self: Tensor) -> TypedStorage:
    """The memory that the tensor is a view of, in elements.

    Example:
        >>> import oneflow as flow
        >>> flow.ones(2, 3)[0].storage().size()
        6
    """
    return TypedStorage(self)


def data_ptr(self: Tensor) -> int:
    """The address of the first element, for reading; reads the tensor, and a write to it moves it.

    Example:
        >>> import oneflow as flow
        >>> x = flow.ones(4)
        >>> x[1:].data_ptr() - x.data_ptr()
        4
    """
    return UntypedStorage(self).data_ptr() + storage_offset_of(self) * self.dtype.itemsize


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


def _is_view(self: Tensor) -> bool:
    """Return True if the tensor was made as a view of another one, its `_base`."""
    return base_of(self) is not None


def output_nr(self: Tensor) -> int:
    """Which of the results of its `grad_fn` the tensor is; 0 if it has none.

    Example:
        >>> import oneflow as flow
        >>> flow.ones(4, requires_grad=True).unbind()[3].output_nr
        3
    """
    value = unwrap(self)
    return 0 if value.node is None else value.output_index


def resize_(self: Tensor, *sizes: Any, memory_format: Any = None) -> Tensor:
    """Give the tensor another shape: the elements from its first one on, in their order in memory.

    Args:
        self: the tensor.
        sizes: the new sizes, as separate numbers or one sequence.
        memory_format: accepted; it changes nothing.

    Returns:
        The tensor itself. If there are less elements in its memory, it gets memory of its own, with
        zeros at the end.

    Raises:
        RuntimeError: it requires a gradient, or a size is negative.

    Example:
        >>> import oneflow as flow
        >>> flow.arange(6).resize_(2, 2)
        tensor([[0, 1],
                [2, 3]], dtype=oneflow.int64)
    """
    if self.requires_grad:
        raise RuntimeError("cannot resize variables that require grad")
    shape = new_shape(sizes)
    if shape == tuple(self.shape):
        return self
    available, count = available_elements(self), math.prod(shape)
    if count <= available:
        return self._replace_with_view(elements_from(self, shape))
    missing = zeros(count - available, dtype=self.dtype, device=self.device)
    self.data = cat([elements_from(self, (available,)), missing]).reshape(shape)
    return self


def resize_as_(self: Tensor, the_template: Tensor, memory_format: Any = None) -> Tensor:
    """`resize_` to the shape of another tensor.

    Example:
        >>> import oneflow as flow
        >>> flow.arange(6).resize_as_(flow.ones(3))
        tensor([0, 1, 2], dtype=oneflow.int64)
    """
    return resize_(self, tuple(the_template.shape))


register_public("resize_as_", resize_as_)
attach("const_data_ptr", data_ptr)
attach("_base", property(_base))
attach("_is_view", _is_view)
attach("output_nr", property(output_nr))
for _method in (untyped_storage, storage, data_ptr, is_set_to, resize_, resize_as_):
    attach(_method.__name__, _method)
