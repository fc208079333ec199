"""Copying and pickling tensors with the `copy` and `pickle` modules."""

from __future__ import annotations

from typing import Any, SupportsIndex

import numpy as np

from oneflow.base.device import Device
from oneflow.base.dtype import DType
from oneflow.base.placement import Layout
from oneflow.primitives.operators.shape import clone
from oneflow.tensor.call import wrap
from oneflow.tensor.methods import attach
from oneflow.tensor.tensor import Tensor
from oneflow.tensor.transfer import import_array, place_of
from oneflow.tensor.views import detached_twin


def deep_copy(self: Tensor, memo: dict[int, Any]) -> Tensor:
    """A leaf with a copy of the values, the gradient and `requires_grad`.

    Raises:
        RuntimeError: the tensor was computed from one that requires grad.
    """
    known = memo.get(id(self))
    if known is not None:
        return known
    if not self.is_leaf:
        raise RuntimeError(
            "Only Tensors created explicitly by the user (graph leaves) support the deepcopy "
            "protocol at the moment."
        )
    copied = memo[id(self)] = wrap(clone(self.value.alias()))
    copied.requires_grad_(self.requires_grad)
    if self.grad is not None:
        copied._grad = deep_copy(self.grad, memo)
    return copied


def shallow_copy(self: Tensor) -> Tensor:
    """Another leaf on the same memory."""
    twin = detached_twin(wrap(self.value.alias()), self, silent=False)
    return twin.requires_grad_(self.requires_grad)


def rebuild(array: np.ndarray, dtype: DType, place: Device | Layout, requires_grad: bool) -> Tensor:
    """What unpickling a tensor calls."""
    return import_array(array, dtype, place).requires_grad_(requires_grad)


def reduce(self: Tensor, protocol: SupportsIndex) -> tuple:
    """How a tensor is pickled: its values, dtype, where it is and `requires_grad`.

    Of a global tensor all values are pickled, so that the pickle is complete in itself. Ranks take
    part as in reading it, and hold their parts again when all of them unpickle it.
    """
    place = place_of(self.value.spec)
    return rebuild, (self.numpy(), self.dtype, place, self.requires_grad)


attach("__deepcopy__", deep_copy)
attach("__copy__", shallow_copy)
attach("__reduce_ex__", reduce)
