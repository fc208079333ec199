"""Tensors from data that other libraries or Python hold."""

from __future__ import annotations

from typing import Any

import numpy as np

from oneflow.base.device import CPU, Device
from oneflow.base.dtype import DType, get_default_dtype
from oneflow.base.placement import Placement, parse_device
from oneflow.base.pytorch_warnings import warn_in_place_of_pytorch
from oneflow.base.sbp import SbpLike
from oneflow.functional.creation.options import (
    as_dtype,
    checked_dtype,
    choose_device,
    with_grad,
)
from oneflow.functional.creation.storages import contents_of
from oneflow.functional.registry import function
from oneflow.runtime.eager import read_array
from oneflow.tensor.call import wrap
from oneflow.tensor.methods import attach
from oneflow.tensor.tensor import Tensor
from oneflow.tensor.transfer import import_array, share_numpy, value_from_dlpack
from oneflow.tensor.views import unwrap


@function(method=False)
def tensor(
    data: Any,
    *,
    dtype: DType | None = None,
    device: Device | str | None = None,
    placement: Placement | None = None,
    sbp: SbpLike | None = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """A new tensor with a copy of `data`.

    Args:
        data: number, nested sequence, NumPy array, tensor, or the storage of one.
        dtype: default: that of an array or tensor; else bool, int64 or the default float or complex
            type.
        device: where it lives, default CPU (a tensor's own device).
        placement: makes a global tensor there.
        sbp: SBP of a global tensor.
        requires_grad: ask for its gradient.
        pin_memory: accepted; XLA manages transfer memory itself.

    Raises:
        TypeError: contents that are not numbers.
        ValueError: ragged nesting.

    Example:
        >>> import oneflow as flow
        >>> flow.tensor([[1, 2], [3, 4]])
        tensor([[1, 2],
                [3, 4]], dtype=oneflow.int64)
    """
    data = contents_of(data, _maybe_dtype(dtype))
    if isinstance(data, Tensor):
        result = data.detach().to(
            choose_device(device, placement, sbp, data.device),
            checked_dtype(dtype, data.dtype),
            copy=True,
        )
    else:
        result = import_array(data, _maybe_dtype(dtype), choose_device(device, placement, sbp))
    return with_grad(result, requires_grad)


def _maybe_dtype(dtype: Any) -> DType | None:
    return None if dtype is None else as_dtype(dtype)


@function(method=False)
def as_tensor(data: Any, dtype: DType | None = None, device: Device | str | None = None) -> Tensor:
    """`data` as a tensor: a tensor of that dtype and device is returned itself, with its history.

    A NumPy array of that dtype shares its memory with the result, as of `from_numpy`.

    Example:
        >>> import oneflow as flow
        >>> x = flow.ones(2)
        >>> flow.as_tensor(x) is x
        True
    """
    data = contents_of(data, _maybe_dtype(dtype))
    if isinstance(data, Tensor):
        return data.to(parse_device(device, data.device), checked_dtype(dtype, data.dtype))
    return _as_tensor(data, _maybe_dtype(dtype), parse_device(device))


def _as_tensor(data: Any, dtype: DType | None, device: Any) -> Tensor:
    """Numbers, lists or an array as a tensor, in the memory of an array where that can be."""
    is_array = isinstance(data, np.ndarray) and (dtype is None or dtype.numpy == data.dtype)
    if is_array and device == CPU:
        return share_numpy(data)
    return import_array(data, dtype, device)


@function(method=False, keyword_aliases={"data": "obj"})
def asarray(
    obj: Any,
    dtype: DType | None = None,
    device: Device | str | None = None,
    copy: bool | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """`obj` as a tensor.

    Args:
        obj: a tensor, a number, nested sequences of them, another library's array, the capsule
            that its ``__dlpack__`` gives, or a buffer of bytes.
        dtype: default that of `obj`; of Python's numbers the default dtypes, of a buffer the
            default float type.
        device: default that of a tensor, or the CPU.
        copy: True for memory of its own, False to refuse what needs that, None for either.
        requires_grad: ask for its gradient; a tensor's own history is left out then.

    Raises:
        ValueError: `copy` is False, and `obj` must be copied.

    Example:
        >>> import oneflow as flow
        >>> flow.asarray([1, 2], copy=True)
        tensor([1, 2], dtype=oneflow.int64)
    """
    if type(obj).__name__ == "PyCapsule":
        source = from_dlpack(obj)
    elif _is_buffer(obj):
        source = frombuffer(obj, dtype or get_default_dtype())
    else:
        source = obj
    result = as_tensor(source, dtype, device)
    is_memory = result is obj or _is_host_memory(result)
    if copy is False and not is_memory:
        raise ValueError(
            f"asarray(): {type(obj).__name__} must be copied to be a tensor of that dtype on that "
            "device, but `copy` is False; give None or True"
        )
    if copy and is_memory:
        result = result.clone()
    return with_grad(result.detach(), True) if requires_grad else result


def _warn_of_copy(kind: str) -> None:
    """Warn a program of PyTorch, whose tensors share memory even if that is for reading only."""
    warn_in_place_of_pytorch(
        f"The given {kind} is not writable, so the tensor is a copy of it: what is written to one "
        f"is not seen by the other. Make the {kind} writable, or copy it, before."
    )


def _is_buffer(obj: Any) -> bool:
    """Return whether an object is bytes to be read as numbers, and no array of numbers."""
    if isinstance(obj, np.ndarray | np.generic | Tensor) or hasattr(obj, "__array__"):
        return False
    try:
        memoryview(obj)
    except TypeError:
        return False
    return True


def _is_host_memory(tensor: Tensor) -> bool:
    """Return whether a tensor shares the memory of an array."""
    return tensor._family is not None and tensor._family.storage.host is not None


@function(method=False, keyword_aliases={"ndarray": "obj"})
def from_numpy(obj: np.ndarray) -> Tensor:
    """A tensor in the memory of a NumPy array: each sees what is written to the other.

    As long as somebody else has the array, the tensor looks at it whenever it is read.

    Raises:
        TypeError: it is not an array, or its element type has no tensor dtype.

    Example:
        >>> import numpy as np
        >>> import oneflow as flow
        >>> flow.from_numpy(np.array([1.5, 2.5]))
        tensor([1.5000, 2.5000], dtype=oneflow.float64)
    """
    if not isinstance(obj, np.ndarray):
        raise TypeError(f"from_numpy(): expected np.ndarray (got {type(obj).__name__})")
    if not obj.flags.writeable:
        _warn_of_copy("NumPy array")
    return share_numpy(obj)


@function(method=False)
def frombuffer(
    buffer: Any, dtype: DType, count: int = -1, offset: int = 0, requires_grad: bool = False
) -> Tensor:
    r"""A vector in the memory of a buffer, whose bytes are read as `dtype`.

    It is a copy if the buffer cannot be written to.

    Raises:
        ValueError: it is no buffer, or empty, too short, or not whole elements long; or `count`
            is 0.

    Example:
        >>> import oneflow as flow
        >>> flow.frombuffer(b"\x01\x02", dtype=flow.uint8)
        tensor([1, 2], dtype=oneflow.uint8)
    """
    try:
        size = memoryview(buffer).nbytes
    except TypeError:
        raise ValueError(
            f"frombuffer(): {type(buffer).__name__} does not implement Python's buffer protocol; "
            "`oneflow.tensor` takes lists and arrays"
        ) from None
    if not size or not count:
        raise ValueError(
            f"frombuffer(): both buffer length ({size}) and count ({count}) must not be 0"
        )
    if not 0 <= offset < size:
        raise ValueError(
            f"frombuffer(): `offset` ({offset} bytes) must be non-negative and no greater than "
            f"buffer length ({size} bytes) minus 1"
        )
    if count < 0 and (size - offset) % dtype.itemsize:
        raise ValueError(
            f"frombuffer(): the bytes after `offset` are not a multiple of the {dtype.itemsize} "
            f"bytes of {dtype}; give `count`"
        )
    array = np.frombuffer(buffer, dtype.numpy, count, offset)
    if not array.flags.writeable:
        _warn_of_copy("buffer")
    return with_grad(share_numpy(array), requires_grad)


@function(method=False, keyword_aliases={"ext_tensor": "obj"})
def from_dlpack(
    obj: Any, *, device: Device | str | None = None, copy: bool | None = None
) -> Tensor:
    """A tensor with a copy of what another library's array holds; one of `oneflow` is shared.

    Args:
        obj: object with `__dlpack__`, such as a NumPy array or a PyTorch tensor, or the capsule
            that it gives.
        device: default that of `obj`.
        copy: True for memory of its own, False to refuse what needs that, None for either.

    Raises:
        BufferError: the array cannot be given away as it is, such as a conjugate or negative view
            of PyTorch, or `copy` is False and it must be copied.

    Example:
        >>> import numpy as np
        >>> import oneflow as flow
        >>> flow.from_dlpack(np.array([1.0]))
        tensor([1.], dtype=oneflow.float64)
    """
    if isinstance(obj, Tensor):
        try:
            return asarray(obj.detach(), None, device, copy)
        except ValueError as error:
            raise BufferError(str(error)) from None
    if copy is False:
        raise BufferError("from_dlpack(): other libraries' arrays are copied, but `copy` is False")
    # PyTorch exports the memory of a negative view, which holds the numbers with the other sign.
    is_negative_view = getattr(obj, "is_neg", None)
    if is_negative_view is not None and is_negative_view():
        raise BufferError(
            "`obj` is a negative view, whose memory holds the numbers with the other sign; give "
            "`obj.resolve_neg()`"
        )
    result = wrap(value_from_dlpack(obj))
    return result if device is None else result.to(device)


@function(method="__dlpack__")
def to_dlpack(
    tensor: Tensor,
    *,
    stream: Any = None,
    max_version: tuple[int, int] | None = None,
    dl_device: tuple[int, int] | None = None,
    copy: bool | None = None,
) -> Any:
    """The values as a DLPack capsule, for other libraries' `from_dlpack`.

    Args:
        tensor: what to give away.
        stream: the stream of the other library, on which it waits for the values.
        max_version: the highest version of the protocol that the other library knows.
        dl_device: the device's type and number by the protocol, default the tensor's own.
        copy: True for memory of its own, False to refuse what needs that, None for either.

    Example:
        >>> import oneflow as flow
        >>> type(flow.to_dlpack(flow.tensor([1, 2]))).__name__
        'PyCapsule'
    """
    # Without a version it is a capsule of those before versions were written into it.
    version = max_version if max_version is not None and max_version >= (1, 0) else None
    return read_array(unwrap(tensor)).__dlpack__(
        stream=stream, max_version=version, dl_device=dl_device, copy=copy
    )


attach("__dlpack_device__", lambda self: read_array(unwrap(self)).__dlpack_device__())
