"""Values that flow through an imported model: tensors, and what stays on the host.

A value is a `Tensor`; a NumPy array, the host value: a shape, an index, a constant, a string, or an
element type that tensors lack; a list, which is a sequence; or None, an absent optional. Arithmetic
on shapes stays on the host, so that it is concrete where `nn.Graph` records.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx
from onnx import helper

import oneflow as flow

Value = Any

# Types of which a Python number says every value.
_NUMBERS = [np.dtype(name) for name in ("float32", "float64", "int32", "int64")]

# More elements than this in a value made from few (a fill, a range) is a mistake or an attack.
MOST_ELEMENTS = 2**28
# The host computes shapes and texts element by element, and at most this many.
_MOST_ON_HOST = 2**24

_DTYPES: dict[int, flow.dtype] = {
    onnx.TensorProto.BOOL: flow.bool,
    onnx.TensorProto.UINT8: flow.uint8,
    onnx.TensorProto.UINT16: flow.uint16,
    onnx.TensorProto.UINT32: flow.uint32,
    onnx.TensorProto.UINT64: flow.uint64,
    onnx.TensorProto.INT8: flow.int8,
    onnx.TensorProto.INT16: flow.int16,
    onnx.TensorProto.INT32: flow.int32,
    onnx.TensorProto.INT64: flow.int64,
    onnx.TensorProto.FLOAT16: flow.float16,
    onnx.TensorProto.BFLOAT16: flow.bfloat16,
    onnx.TensorProto.FLOAT: flow.float32,
    onnx.TensorProto.DOUBLE: flow.float64,
    onnx.TensorProto.COMPLEX64: flow.complex64,
    onnx.TensorProto.COMPLEX128: flow.complex128,
}
_ELEMENT_TYPES = {dtype: element_type for element_type, dtype in _DTYPES.items()}
_NUMPY_TYPES = {helper.tensor_dtype_to_np_dtype(number): number for number in _DTYPES}


def dtype_of(element_type: int) -> flow.dtype:
    """Return the dtype of tensors for an ONNX element type."""
    if element_type not in _DTYPES:
        name = onnx.TensorProto.DataType.Name(element_type)
        raise NotImplementedError(f"tensors cannot hold ONNX's element type {name}")
    return _DTYPES[element_type]


def element_type_of(value: Value) -> int:
    """Return the ONNX element type of a tensor or a host value."""
    if isinstance(value, flow.Tensor):
        return _ELEMENT_TYPES[value.dtype]
    if value.dtype.kind in "OUS":
        return onnx.TensorProto.STRING
    return helper.np_dtype_to_tensor_dtype(value.dtype)


def fits_tensor(array: np.ndarray) -> bool:
    """Return True if a tensor can hold the elements of `array`."""
    return array.dtype in _NUMPY_TYPES


def as_tensor(value: Value, like: flow.Tensor | None = None) -> flow.Tensor:
    """Return a tensor of `value`, on the device or placement of `like`."""
    if isinstance(value, flow.Tensor):
        return value
    array = np.asarray(value)
    if not fits_tensor(array):
        raise NotImplementedError(f"tensors cannot hold elements of type {array.dtype}")
    place: dict[str, Any] = {}
    if like is not None and like.is_global:
        place = {"placement": like.placement, "sbp": [flow.sbp.broadcast] * len(like.sbp)}
    elif like is not None:
        place = {"device": like.device}
    if array.ndim == 0 and array.dtype in _NUMBERS:
        # In a graph a number is part of the program; a tensor is an argument of every call.
        return flow.full((), array.item(), dtype=_DTYPES[element_type_of(array)], **place)
    return flow.tensor(np.ascontiguousarray(array).reshape(array.shape), **place)


def has_shape(value: Value) -> bool:
    """Return True for a tensor or an array, and not for a sequence or an absent optional."""
    return isinstance(value, flow.Tensor | np.ndarray)


def zeros(shape: Sequence[int], like: Value) -> Value:
    """Return zeros of a shape, a tensor or an array as another value is."""
    if isinstance(like, np.ndarray):
        return np.zeros(shape, like.dtype)
    return as_tensor(np.zeros(shape, like.dtype.numpy), like)


def as_host(value: Value) -> Any:
    """Return `value` with the tensors in it as NumPy arrays."""
    if isinstance(value, flow.Tensor):
        return value.detach().numpy()
    if isinstance(value, list):
        return [as_host(element) for element in value]
    return value


def integers(value: Value) -> list[int]:
    """Return the elements of an integer value as a list."""
    return [int(element) for element in np.ravel(as_host(value))]


def integer(value: Value) -> int:
    """Return the only element of an integer value."""
    return int(number(value))


def number(value: Value) -> Any:
    """Return the only element of a value as a Python number."""
    array = np.asarray(as_host(value))
    if array.size != 1:
        raise ValueError(f"expected one element, got the shape {list(array.shape)}")
    return array.reshape(-1)[0].item()


def check_size(shape: Sequence[int], most: int = MOST_ELEMENTS) -> None:
    """Refuse a `shape` of more than `most` elements, or with negative sizes."""
    count = 1
    for size in shape:
        if size < 0:
            raise ValueError(f"a value has the shape {list(shape)}; sizes must not be negative")
        count *= int(size)
    if count > most:
        raise ValueError(
            f"a value of the shape {list(shape)} has {count} elements; at most {most} are"
            " made from fewer"
        )


def check_host_operands(operands: Sequence[Any]) -> None:
    """Refuse operands from which an operator on the host could make too much.

    It may join them, or broadcast them; a few nodes that double their operand make any size.
    """
    arrays = [operand for operand in operands if isinstance(operand, np.ndarray)]
    check_size([sum(array.size for array in arrays)], _MOST_ON_HOST)
    try:
        shape = np.broadcast_shapes(*[array.shape for array in arrays])
    except ValueError:
        shape = ()
    check_size(shape, _MOST_ON_HOST)
    texts = [array for array in arrays if array.dtype.kind in "OSU" and array.size]
    longest = sum(max(len(str(text_element)) for text_element in text.flat) for text in texts)
    check_size([longest * math.prod(shape)], _MOST_ON_HOST)


def normalize_axis(axis: int, rank: int) -> int:
    """Return `axis` counted from the front."""
    if not -rank <= axis < max(rank, 1):
        raise ValueError(f"`axis` is {axis}; it must be in [{-rank}, {rank - 1}]")
    return axis % rank if rank else 0


def as_result(value: Value) -> Any:
    """Return an output as a tensor where it can be one."""
    if isinstance(value, list):
        return [as_result(element) for element in value]
    if isinstance(value, np.ndarray) and fits_tensor(value):
        return as_tensor(value)
    return value
