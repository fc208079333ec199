"""Copying and pickling tensors with the `copy` and `pickle` modules."""

from __future__ import annotations

from typing import Any, SupportsIndex

import numpy as np

from oneflow.base.dtype import DType
from oneflow.base.placement import DeviceOrSharding
from oneflow.primitives.operators.shape import clone
from oneflow.tensor.call import wrap
from oneflow.tensor.methods import attach
from oneflow.tensor.tensor import Tensor
from oneflow.tensor.transfer import device_or_sharding, import_array
from oneflow.tensor.views import alias_storage, unwrap


def deep_copy(self: Tensor, memo: dict[int, Any]) -> Tensor:
    """A leaf with a copy of the values; that of a leaf has its gradient and `requires_grad` too."""
    known = memo.get(id(self))
    if known is not None:
        return known
    result = memo[id(self)] = wrap(clone(unwrap(self).alias()))
    if self.is_leaf:
        result.requires_grad_(self.requires_grad)
        if self.grad is not None:
            result._grad = deep_copy(self.grad, memo)
    return result


def shallow_copy(self: Tensor) -> Tensor:
    """Another leaf on the same memory."""
    result = alias_storage(wrap(unwrap(self).alias()), self, quiet=False)
    return result.requires_grad_(self.requires_grad)


def rebuild(
    array: np.ndarray, dtype: DType, device: DeviceOrSharding, requires_grad: bool
) -> Tensor:
    """Rebuild a tensor while unpickling."""
    return import_array(array, dtype, device).requires_grad_(requires_grad)


def reduce(self: Tensor, protocol: SupportsIndex) -> tuple[Any, ...]:
    """Reduce a tensor for pickling to values, dtype, device or sharding and `requires_grad`.

    Of a global tensor all values are pickled, so that the pickle is complete in itself. Ranks take
    part as in reading it, and hold their parts again when all of them unpickle it.
    """
    device = device_or_sharding(unwrap(self).spec)
    return rebuild, (self.numpy(), self.dtype, device, self.requires_grad)


attach("__deepcopy__", deep_copy)
attach("__copy__", shallow_copy)
attach("__reduce_ex__", reduce)
