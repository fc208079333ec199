"""Python's operators on tensors: ``x + y``, ``x += y``, ``2 ** x``, ``x == y``.

They do what the functions of the same meaning do, on the shortest path, and take NumPy's arrays. In
PyTorch's place these are taken where PyTorch takes them, in ``tensor + array``, ``tensor == array``
and ``array / tensor``: its functions, and operators of arrays, refuse the other.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from oneflow.base.program_name import PYTORCH, program_name
from oneflow.base.traceback import hide_internal_frames
from oneflow.functional.elementwise.arithmetic import binary, multiply, power, subtract
from oneflow.functional.elementwise.division import divide, divide_rounding
from oneflow.functional.elementwise.logic import bitwise, bitwise_not
from oneflow.functional.elementwise.unary import abs_, neg, positive
from oneflow.functional.linalg.matmul import matmul
from oneflow.primitives.operators import division, elementwise as p, integers
from oneflow.primitives.registry import Primitive
from oneflow.tensor.element_views import compare_elements
from oneflow.tensor.methods import attach, before_write, write_result
from oneflow.tensor.operands import of_array
from oneflow.tensor.tensor import Tensor
from oneflow.tensor.transfer import import_array

_OPERANDS = (Tensor, bool, int, float, complex, np.generic)
Binary = Callable[[Any, Any], Tensor]
# Any, so that operators have the type of their results.
_NOT_IMPLEMENTED: Any = NotImplemented


def _of_array(value: Any, tensor: Tensor, is_unsupported: bool = False) -> Any:
    """Return NumPy's arrays as operands beside a tensor, and NotImplemented for other values."""
    if not isinstance(value, np.ndarray) or (is_unsupported and program_name() == PYTORCH):
        return NotImplemented
    return of_array(value, tensor)


def _attach_operator(name: str, compute: Binary, inplace: bool = True) -> None:
    """Attach ``__name__``, ``__rname__`` and ``__iname__``."""
    is_quotient = name == "truediv"

    def forward(self: Tensor, value: Any) -> Tensor:
        try:
            if isinstance(value, _OPERANDS):
                return compute(self, value)
            other = _of_array(value, self)
            return _NOT_IMPLEMENTED if other is NotImplemented else compute(self, other)
        except Exception as error:
            hide_internal_frames(error)
            raise

    def reverse(self: Tensor, value: Any) -> Tensor:
        try:
            if isinstance(value, _OPERANDS):
                return compute(value, self)
            other = _of_array(value, self, is_unsupported=not is_quotient)
            return _NOT_IMPLEMENTED if other is NotImplemented else compute(other, self)
        except Exception as error:
            hide_internal_frames(error)
            raise

    attach(f"__{name}__", forward)
    attach(f"__r{name}__", reverse)
    if inplace:
        attach(f"__i{name}__", _in_place(name, compute))


def _in_place(name: str, compute: Binary) -> Binary:
    def in_place(self: Tensor, value: Any) -> Tensor:
        try:
            other = value if isinstance(value, _OPERANDS) else _of_array(value, self)
            if other is NotImplemented:
                return _NOT_IMPLEMENTED
            return write_result(self, compute(before_write(self), other), f"{name}_")
        except Exception as error:
            hide_internal_frames(error)
            raise

    return in_place


def _attach_comparison(name: str, compute: Binary) -> None:
    """Attach ``__name__``."""
    is_of_order = name not in ("eq", "ne")

    def compare(self: Tensor, value: Any) -> Tensor:
        try:
            if self._seen < 0 or (isinstance(value, Tensor) and value._seen < 0):
                result = compare_elements(name, self, value)
                if result is not None:
                    return result
            if isinstance(value, _OPERANDS):
                return compute(self, value)
            other = _of_array(value, self, is_unsupported=is_of_order)
            return _NOT_IMPLEMENTED if other is NotImplemented else compute(self, other)
        except Exception as error:
            hide_internal_frames(error)
            raise

    attach(f"__{name}__", compare)


def _wrap_of_numpy(
    self: Tensor, array: np.ndarray, context: Any = None, return_scalar: bool = False
) -> Any:
    """Return the result of a NumPy function of tensors: in PyTorch's place a tensor.

    As there, truth values are numbers.
    """
    if program_name() != PYTORCH:
        return array[()] if return_scalar else array
    if self.requires_grad:
        raise RuntimeError(
            "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead."
        )
    return import_array(array.astype(np.uint8) if array.dtype == np.bool_ else array)


def _invert(self: Tensor) -> Tensor:
    try:
        return bitwise_not(self)
    except NotImplementedError as error:
        raise TypeError(str(error)) from None


def _with(compute: Callable[[Primitive, Any, Any], Tensor], primitive: Primitive) -> Binary:
    # A function of Python's own is called faster than a `partial`.
    return lambda x, y: compute(primitive, x, y)


for _name, _compute in (
    ("add", _with(binary, p.add)),
    ("sub", subtract),
    ("mul", multiply),
    ("truediv", divide),
    ("floordiv", _with(divide_rounding, division.floor_divide)),
    ("mod", _with(divide_rounding, division.remainder)),
    ("pow", power),
    ("and", _with(bitwise, integers.bitwise_and)),
    ("or", _with(bitwise, integers.bitwise_or)),
    ("xor", _with(bitwise, integers.bitwise_xor)),
    ("lshift", _with(bitwise, integers.shift_left)),
    ("rshift", _with(bitwise, integers.shift_right)),
):
    _attach_operator(_name, _compute)
_attach_operator("matmul", matmul, inplace=False)

for _name, _primitive in (
    ("eq", p.eq),
    ("ne", p.ne),
    ("lt", p.lt),
    ("le", p.le),
    ("gt", p.gt),
    ("ge", p.ge),
):
    _attach_comparison(_name, _with(binary, _primitive))

attach("__array_wrap__", _wrap_of_numpy)
attach("__neg__", neg)
attach("__abs__", abs_)
attach("__invert__", _invert)
attach("__pos__", positive)
