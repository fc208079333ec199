"""Tensors between Triton's Python processes and NumPy, by DLPack.

Triton's own conversion, `as_numpy` and the constructor of its tensors, is built for NumPy 1 up to
release 24.10 at least: with NumPy 2 it gives wrong values, and sends nothing, without an error.
"""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from oneflow.functional.creation.from_data import from_dlpack, from_numpy, to_dlpack
from oneflow.serving.errors import invalid
from oneflow.serving.model_graph import TensorSignature

# The name by which the owner of a capsule sees that somebody has taken its tensor. It keeps only
# the address of the bytes.
_TAKEN = b"used_dltensor"
_set_name = ctypes.pythonapi.PyCapsule_SetName
_set_name.argtypes = [ctypes.py_object, ctypes.c_char_p]
_set_name.restype = ctypes.c_int


def read_tensor(triton: Any, request: Any, tensor: TensorSignature) -> np.ndarray:
    """Return a copy of an input of a request, whose memory ends with it.

    Args:
        triton: the module of Triton's Python processes.
        request: the request.
        tensor: the input.

    Raises:
        RequestError: the request does not have it.
    """
    input_tensor = triton.get_input_tensor_by_name(request, tensor.name)
    if input_tensor is None:
        raise invalid(f"input `{tensor.name}` is missing")
    if 0 in input_tensor.shape():
        return np.empty(input_tensor.shape(), tensor.dtype.numpy)
    return from_dlpack(input_tensor).numpy()


def write_tensor(triton: Any, name: str, array: np.ndarray) -> Any:
    """Return an output as a tensor of Triton.

    Args:
        triton: the module of Triton's Python processes.
        name: the name of the output.
        array: its values.
    """
    if not array.size:
        return triton.Tensor(name, array)  # there is nothing in it to be read wrongly
    dlpack = to_dlpack(from_numpy(np.ascontiguousarray(array)))
    tensor = triton.Tensor.from_dlpack(name, dlpack)
    # Triton gives the capsule a name that is not DLPack's, and its owner would complain.
    _set_name(dlpack, _TAKEN)
    return tensor
