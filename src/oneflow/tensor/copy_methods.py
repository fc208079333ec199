"""Copying and pickling tensors with the `copy` and `pickle` modules."""

from __future__ import annotations

import copy
from multiprocessing.reduction import ForkingPickler
from pickle import HIGHEST_PROTOCOL
from typing import Any, SupportsIndex

import numpy as np

from oneflow.base.device import Device
from oneflow.base.dtype import DType
from oneflow.base.placement import DeviceOrSharding
from oneflow.differentiation.grad_mode import no_grad
from oneflow.primitives.operators.creation import zeros
from oneflow.program.value import ValueOfClass
from oneflow.tensor.call import wrap
from oneflow.tensor.copied_memory import (
    Part,
    as_part,
    copy_memory,
    is_shared,
    part_of,
    views_to,
)
from oneflow.tensor.methods import attach
from oneflow.tensor.tensor import Tensor
from oneflow.tensor.transfer import device_or_sharding, import_array
from oneflow.tensor.views import alias_storage, unwrap


def deep_copy(self: Tensor, memo: dict[Any, Any]) -> Tensor:
    """Return a leaf with a copy of the values; a leaf's copy has its gradient and `requires_grad`.

    Copies of tensors that share memory share memory with each other.
    """
    cached = memo.get(id(self))
    if cached is not None:
        return cached
    if isinstance(self._value, ValueOfClass):
        return _copy_of_class(self, memo)
    result = memo[id(self)] = Tensor.__new__(Tensor)
    copy_memory(result, self, memo)
    if self.is_leaf:
        result.requires_grad_(self.requires_grad)
        if self.grad is not None:
            result._grad = deep_copy(self.grad, memo)
    vars(result).update(copy.deepcopy(vars(self), memo))
    return _of_class_of(result, self)


def _copy_of_class(self: Tensor, memo: dict[Any, Any]) -> Tensor:
    """A copy of a tensor whose class computes its operators: of its clone, and what is in it.

    Raises:
        RuntimeError: `clone` gives a tensor of another class.
    """
    with no_grad():
        result: Any = self.clone()
    if type(result) is not type(self):
        raise RuntimeError(
            f"deepcopy: `clone` of {type(self).__name__} returned a {type(result).__name__}; its "
            "`__torch_dispatch__` must return a tensor of the class"
        )
    memo[id(self)] = result
    vars(result).update(copy.deepcopy(vars(self), memo))
    if self.is_leaf:
        result.requires_grad_(self.requires_grad)
        if self.grad is not None:
            result._grad = copy.deepcopy(self.grad, memo)
    return result


def _of_class_of(result: Tensor, original: Tensor) -> Tensor:
    """Give a copy the class of its original."""
    if type(original) is not Tensor:
        object.__setattr__(result, "__class__", type(original))
    return result


def shallow_copy(self: Tensor) -> Tensor:
    """Return another leaf on the same memory."""
    result = alias_storage(wrap(unwrap(self).alias()), self, uncounted=False)
    vars(result).update(vars(self))
    return _of_class_of(result.requires_grad_(self.requires_grad), self)


def rebuild_as(kind: type[Tensor], rebuild_values: Any, *arguments: Any) -> Tensor:
    """Rebuild a tensor of a subclass while unpickling."""
    result = rebuild_values(*arguments)
    object.__setattr__(result, "__class__", kind)
    return result


def rebuild(
    array: np.ndarray, dtype: DType, device: DeviceOrSharding, requires_grad: bool
) -> Tensor:
    """Rebuild a tensor while unpickling."""
    return import_array(array, dtype, device).requires_grad_(requires_grad)


def rebuild_without_values(shape: tuple[int, ...], dtype: DType, requires_grad: bool) -> Tensor:
    """Rebuild a tensor on the device ``meta`` while unpickling."""
    return wrap(zeros(shape=shape, dtype=dtype, device=Device("meta"))).requires_grad_(
        requires_grad
    )


def rebuild_part(root: Tensor, part: Part, requires_grad: bool) -> Tensor:
    """Rebuild a tensor that shares memory with others while unpickling."""
    view_calls = views_to(part, unwrap(root))
    return as_part(Tensor.__new__(Tensor), root, view_calls).requires_grad_(requires_grad)


def reduce(self: Tensor, protocol: SupportsIndex) -> tuple[Any, ...]:
    """Reduce a tensor for pickling to values, dtype, device or sharding and `requires_grad`.

    Attributes that users have set on it go with it.

    The pickle of a global tensor has all values, so that it is complete in itself. Ranks take part
    as in reading it, and hold their parts again when all of them unpickle it.
    """
    spec = self._value.spec
    if isinstance(self._value, ValueOfClass):
        place = tuple(self.stride()), self.storage_offset(), spec.device
        arguments = type(self), spec.dtype, spec.shape, *place, self.requires_grad
        return rebuild_wrapper, arguments, dict(vars(self))
    reduced = _reduce_values(self)
    if type(self) is Tensor:
        return reduced
    rebuild_values, arguments, *state = reduced
    return rebuild_as, (type(self), rebuild_values, *arguments), *state


def rebuild_wrapper(
    kind: Any,
    dtype: DType,
    shape: tuple[int, ...],
    strides: tuple[int, ...],
    offset: int,
    device: Any,
    requires_grad: bool,
) -> Tensor:
    """Rebuild a tensor whose class computes its operators while unpickling."""
    return kind._make_wrapper_subclass(
        kind, shape, strides, offset, dtype=dtype, device=device, requires_grad=requires_grad
    )


def _reduce_values(self: Tensor) -> tuple[Any, ...]:
    spec = unwrap(self).spec
    device, attributes = device_or_sharding(spec), dict(vars(self))
    state = (attributes,) if attributes else ()
    if isinstance(device, Device) and device.type == "meta":
        arguments = tuple(spec.shape), spec.dtype, self.requires_grad
        return rebuild_without_values, arguments, *state
    return rebuild, (self.numpy(), self.dtype, device, self.requires_grad), *state


def reduce_for_process(tensor: Tensor) -> tuple[Any, ...]:
    """Reduce a tensor that is sent to another process.

    A tensor that may share memory is sent with the memory, once for all that are sent together.
    """
    if not is_shared(tensor):
        return reduce(tensor, HIGHEST_PROTOCOL)
    return rebuild_part, (tensor._family.storage, part_of(tensor), tensor.requires_grad)


ForkingPickler.register(Tensor, reduce_for_process)
attach("__deepcopy__", deep_copy)
attach("__copy__", shallow_copy)
attach("__reduce_ex__", reduce)
