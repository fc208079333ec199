"""Names that PyTorch has and `oneflow` has not, or means otherwise, at PyTorch's paths.

A name of ``torch.x.y`` is looked for in ``x/y`` of this folder first, then in ``oneflow.x.y``.
Libraries import much of PyTorch's compiler without using it: its names here say that nothing is
compiled or traced, which is so, and what cannot act raises an error that says what can.
"""

import functools
from typing import Any

from oneflow import (
    Tensor,
    allclose as _allclose,
    isclose as _isclose,
    randint_like as _randint_like,
    tensor,
)
from oneflow.base.device import Device
from oneflow.base.dtype import (
    DType,
    complex32 as complex32,
    float8_e4m3fn as float8_e4m3fn,
    float8_e4m3fnuz as float8_e4m3fnuz,
    float8_e5m2 as float8_e5m2,
    float8_e5m2fnuz as float8_e5m2fnuz,
    float8_e8m0fnu as float8_e8m0fnu,
)
from oneflow.base.layout import Layout
from oneflow.cuda import Stream as Stream
from oneflow.mock_torch.missing import MissingTracing
from oneflow.mock_torch.pytorch.compiler import compile as compile
from oneflow.mock_torch.pytorch.torch_version import __version__ as __version__
from oneflow.tensor.subclasses import call_torch_function, has_override

DeviceObjType = Device
chalf = complex32

# Programs ask tensors whether they are stored so.
sparse_bsr, sparse_bsc, jagged = Layout.sparse_bsr, Layout.sparse_bsc, Layout.jagged


def _assert(condition: Any, message: str) -> Any:
    """Raise an AssertionError unless a condition holds; a symbolic one is recorded."""
    if has_override(type(condition)):
        return call_torch_function(_assert, (type(condition),), (condition, message), {})
    if not condition:
        raise AssertionError(message)
    return None


def _assert_async(condition: Any, message: str = "") -> None:
    """Raise an AssertionError unless a condition holds; it is read at once."""
    _assert(condition, message)


def _shape_as_tensor(self: Tensor) -> Tensor:
    """Return the sizes of a tensor as a tensor of integers."""
    return tensor(self.shape)


@functools.wraps(_randint_like)
def randint_like(input: Tensor, *args: Any, dtype: DType | None = None, **kwargs: Any) -> Tensor:
    """`oneflow.randint_like` of the dtype of `input`."""
    return _randint_like(input, *args, dtype=dtype or input.dtype, **kwargs)


@functools.wraps(_isclose)
def isclose(
    input: Tensor, other: Tensor, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False
) -> Tensor:
    """`oneflow.isclose` with the relative tolerance first."""
    return _isclose(input, other, atol=atol, rtol=rtol, equal_nan=equal_nan)


@functools.wraps(_allclose)
def allclose(
    input: Tensor, other: Tensor, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False
) -> bool:
    """`oneflow.allclose` with the relative tolerance first."""
    return _allclose(input, other, atol=atol, rtol=rtol, equal_nan=equal_nan)


class ScriptObject(MissingTracing):
    """The type of objects of C++ classes that TorchScript knows, which do not exist here."""


class SymInt(MissingTracing):
    """The type of sizes that are not numbers; sizes are numbers here."""


class SymFloat(MissingTracing):
    """The type of numbers that are not known; numbers are known here."""


class SymBool(MissingTracing):
    """The type of truth values that are not known; they are known here."""
