"""Tensors as they come with requests: checked before memory is taken for them."""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from oneflow.base.dtype import DType, bfloat16, bool_
from oneflow.serving.datatypes import datatype_of
from oneflow.serving.errors import ErrorKind, RequestError, invalid

# Lists in lists of the numbers of a tensor.
_MAX_NESTING = 32


@dataclass(frozen=True)
class Limits:
    """Bounds on what one request may ask for.

    Attributes:
        request_bytes: the length of a request's body, decompressed.
        json_bytes: the size of the JSON in it, which takes many times its length while it is read.
        rank: the number of dimensions of a tensor.
        elements: the number of elements of a tensor.
        read_seconds: the time in which a client has to send a request.
    """

    request_bytes: int = 64 * 2**20
    json_bytes: int = 8 * 2**20
    rank: int = 16
    elements: int = 2**26
    read_seconds: float = 30.0


def check_shape(name: str, shape: Any, limits: Limits) -> tuple[int, ...]:
    """Return the shape of a tensor of a request.

    Raises:
        RequestError: it is no list of sizes, or over a limit.
    """
    if not isinstance(shape, Sequence) or isinstance(shape, str | bytes):
        raise invalid(f"`shape` of input `{name}` must be a list of sizes, got {shape!r}")
    if len(shape) > limits.rank:
        raise _too_large(f"input `{name}` has {len(shape)} dimensions, {limits.rank} are allowed")
    if not all(type(size) is int and 0 <= size < 2**63 for size in shape):
        raise invalid(f"`shape` of input `{name}` must be a list of sizes, got {list(shape)!r}")
    # Zeros count as ones: NumPy multiplies the others nevertheless.
    elements = math.prod([size or 1 for size in shape])
    if elements > limits.elements:
        raise _too_large(f"input `{name}` has {elements} elements, {limits.elements} are allowed")
    return tuple(shape)


def _too_large(message: str) -> RequestError:
    return RequestError(ErrorKind.TOO_LARGE, message)


def from_bytes(name: str, dtype: DType, shape: tuple[int, ...], content: Any) -> np.ndarray:
    """Return an array on the memory of little-endian bytes.

    Raises:
        RequestError: there are too few or too many of them.
    """
    expected = math.prod(shape) * dtype.itemsize
    if len(content) != expected:
        raise invalid(
            f"input `{name}` has {len(content)} bytes of data, its shape {list(shape)} and "
            f"datatype {datatype_of(dtype)} need {expected}"
        )
    array = np.frombuffer(content, dtype.numpy if expected else np.uint8)
    if dtype is bool_ and expected:
        array = np.frombuffer(content, np.uint8) != 0
    return array.view(dtype.numpy).reshape(shape)


def from_values(name: str, dtype: DType, shape: tuple[int, ...], values: Any) -> np.ndarray:
    """Return an array of numbers in a list, flat or nested as the shape is.

    Raises:
        RequestError: they are not as many numbers as the shape needs, or do not fit the type.
    """
    if not isinstance(values, Sequence) or isinstance(values, str | bytes):
        raise invalid(f"`data` of input `{name}` must be a list of numbers")
    flat = _flat(name, values, math.prod(shape))
    if len(flat) != math.prod(shape):
        raise invalid(
            f"input `{name}` has {len(flat)} values, its shape {list(shape)} needs "
            f"{math.prod(shape)}"
        )
    kinds = (bool,) if dtype is bool_ else (int,) if not dtype.is_floating_point else (int, float)
    wrong = [value for value in flat if type(value) not in kinds]
    if wrong:
        raise invalid(
            f"input `{name}` has datatype {datatype_of(dtype)}, and {wrong[0]!r} is none of it"
        )
    try:
        # NumPy rounds to half precision at once; too large ones are infinite, as anywhere else.
        with np.errstate(over="ignore"):
            wide = np.array(flat, np.float64 if dtype.is_floating_point else dtype.numpy)
            return wide.astype(dtype.numpy).reshape(shape)
    except OverflowError as error:
        raise invalid(f"input `{name}`: {error}") from None


def _flat(name: str, values: Sequence[Any], limit: int) -> list[Any]:
    """Return nested lists as one list, which has not many more than `limit` values."""
    flat: list[Any] = []
    stack = [iter(values)]
    while stack:
        for value in stack[-1]:
            if isinstance(value, list):
                if len(stack) == _MAX_NESTING:
                    raise invalid(f"`data` of input `{name}` is nested too deep")
                stack.append(iter(value))
                break
            flat.append(value)
            if len(flat) > limit:
                return flat
        else:
            stack.pop()
    return flat


def to_bytes(array: np.ndarray) -> bytes:
    """Return the elements of an array as little-endian bytes, in the order of its indices.

    Each text follows its length.
    """
    if array.dtype == np.object_:
        return b"".join([struct.pack("<I", len(text)) + text for text in array.ravel()])
    return array.tobytes()


def to_values(name: str, array: np.ndarray) -> list[Any]:
    """Return the elements of an array as numbers or texts of JSON, in the order of its indices.

    Raises:
        RequestError: JSON has none of this kind.
    """
    if array.dtype == np.object_:
        return [text.decode() for text in array.ravel()]
    if array.dtype in (bfloat16.numpy, np.float16):
        array = array.astype(np.float32)
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        raise RequestError(
            ErrorKind.UNSUPPORTED,
            f"output `{name}` has NaN or infinite values, which JSON cannot express; ask for "
            "binary data (`binary_data_output`)",
        )
    return array.ravel().tolist()
