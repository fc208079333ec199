"""Groups of data types."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

_FLOATS = (torch.float32, torch.float64)
_COMPLEX = (torch.complex64, torch.complex128)
_INTEGERS = (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)
_HALVES = (torch.float16, torch.bfloat16)


def _group(*members: Any) -> Callable:
    """A function that gives data types, with further ones if it is given some."""
    return lambda *further: members + further


floating_types = floating_types_and = _group(*_FLOATS)
floating_and_complex_types = floating_and_complex_types_and = _group(*_FLOATS, *_COMPLEX)
complex_types = complex_types_and = _group(*_COMPLEX)
integral_types = integral_types_and = _group(*_INTEGERS)
all_types = all_types_and = _group(*_FLOATS, *_INTEGERS)
all_types_and_complex = all_types_and_complex_and = _group(*_FLOATS, *_INTEGERS, *_COMPLEX)


def floating_types_and_half() -> tuple:
    """Floats, and float16."""
    return (*_FLOATS, torch.float16)


def get_all_fp_dtypes(include_half: bool = True, include_bfloat16: bool = True) -> list:
    """Floats, with those of half precision unless they are left out."""
    halves = zip(_HALVES, (include_half, include_bfloat16), strict=True)
    return [*_FLOATS, *(dtype for dtype, included in halves if included)]


def get_all_math_dtypes(device: str) -> list:
    """The types that operators of arithmetic take."""
    return [*_INTEGERS, *_FLOATS, *_COMPLEX]


torch_to_numpy_dtype_dict = {
    dtype: torch.empty(0, dtype=dtype).numpy().dtype.type
    for dtype in (torch.bool, *_INTEGERS, torch.float16, *_FLOATS, *_COMPLEX)
}
torch_to_numpy_dtype_dict[torch.bfloat16] = np.float32
numpy_to_torch_dtype_dict = {
    np.dtype(kind): dtype
    for dtype, kind in torch_to_numpy_dtype_dict.items()
    if dtype != torch.bfloat16
}
numpy_to_torch_dtype_dict |= {key.type: dtype for key, dtype in numpy_to_torch_dtype_dict.items()}


def get_all_dtypes(include_half: bool = True, include_bfloat16: bool = True, **_: Any) -> list:
    """All types."""
    halves = [torch.float16] * include_half + [torch.bfloat16] * include_bfloat16
    return [torch.bool, *_INTEGERS, *_FLOATS, *_COMPLEX, *halves]
