"""Data from outside: arrays, Python numbers and lists into values; values between devices."""

from __future__ import annotations

from typing import Any

import numpy as np

from oneflow.base.device import CPU, Device
from oneflow.base.dtype import DType, from_numpy_dtype, get_default_dtype
from oneflow.base.spec import spec_of
from oneflow.differentiation.grad_mode import MODE
from oneflow.differentiation.node import Node
from oneflow.program.value import Value
from oneflow.runtime.memory import copy_of_dlpack, put
from oneflow.tensor.call import wrap
from oneflow.tensor.tensor import Tensor


def value_from_numpy(array: np.ndarray, device: Device = CPU) -> Value:
    """A value with a copy of `array` on `device`.

    Raises:
        TypeError: an element type that tensors do not have (text, objects).
    """
    spec = spec_of(tuple(array.shape), from_numpy_dtype(array.dtype), device)
    return Value(spec, put(array, device))


def value_from_dlpack(exporter: Any) -> Value:
    """A value with a copy of the memory behind an object with `__dlpack__`, on its device."""
    array, device = copy_of_dlpack(exporter)
    return Value(spec_of(tuple(array.shape), from_numpy_dtype(array.dtype), device), array)


def numpy_from_data(data: Any, dtype: DType | None) -> np.ndarray:
    """Nested lists, numbers or an array as a NumPy array; Python floats get the default dtype.

    Raises:
        TypeError: text.
        RuntimeError: other contents that are not numbers.
        ValueError: ragged nesting.
    """
    if isinstance(data, np.ndarray | np.generic):
        return np.asarray(data, None if dtype is None else dtype.numpy)
    data = _without_tensors(data)
    array = np.asarray(data)
    if array.dtype.kind == "O":
        raise RuntimeError(f"could not infer the dtype of {data!r}: elements must be numbers")
    if array.dtype.kind in "USV":
        raise TypeError(
            f"could not convert {type(data).__name__} to a tensor: elements must be numbers"
        )
    if dtype is not None:
        return array.astype(dtype.numpy)
    if array.dtype.kind == "f" or array.size == 0:
        return array.astype(get_default_dtype().numpy)
    if array.dtype.kind == "c":
        return array.astype(np.complex64 if get_default_dtype().itemsize <= 4 else np.complex128)
    return array


def _without_tensors(data: Any) -> Any:
    """Tensors inside nested lists replaced by their values."""
    if isinstance(data, Tensor):
        return data.tolist()
    if isinstance(data, list | tuple):
        return [_without_tensors(each) for each in data]
    return data


def import_array(data: Any, dtype: DType | None = None, device: Device = CPU) -> Tensor:
    """A new tensor with a copy of numbers, lists or a NumPy array."""
    return wrap(value_from_numpy(numpy_from_data(data, dtype), device))


Tensor._import = staticmethod(import_array)


class TransferNode(Node):
    """Backward of a move between devices: the gradient moves back."""

    __slots__ = ("_home",)

    def __init__(self, source: Value, target: Value) -> None:
        super().__init__(((source.node, source.output_index),), (target.spec,))
        self._home = source.spec.device

    def apply(self, grads: list) -> list:
        """The gradient on the device that the value came from."""
        return [move(grads[0], self._home)]

    def name(self) -> str:
        """As PyTorch calls it."""
        return "to_backward"


def move(value: Value, device: Device) -> Value:
    """`value` on another device. What computes it is started; nothing waits for it."""
    spec = value.spec
    moved = Value(spec_of(spec.shape, spec.dtype, device), put(value.read(), device))
    if value.node is not None and MODE.enabled:
        moved.node = TransferNode(value, moved)
    return moved
