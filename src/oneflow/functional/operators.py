"""Python's operators on tensors: ``x + y``, ``x += y``, ``2 ** x``, ``x == y``.

They do what the functions of the same meaning do, on the shortest path.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from oneflow.base.traceback import hide_internal_frames
from oneflow.functional.elementwise.arithmetic import binary, multiply, power, subtract
from oneflow.functional.elementwise.division import divide, divide_rounding
from oneflow.functional.elementwise.logic import bitwise, bitwise_not
from oneflow.functional.elementwise.unary import abs_, neg, positive
from oneflow.functional.linalg.matmul import matmul
from oneflow.primitives.operators import division, elementwise as p, integers
from oneflow.primitives.registry import Primitive
from oneflow.tensor.methods import attach, before_write, write_result
from oneflow.tensor.tensor import Tensor

_OPERANDS = (Tensor, bool, int, float, complex, np.generic, np.ndarray)
Binary = Callable[[Any, Any], Tensor]
# Any, so that operators have the type of their results.
_NOT_IMPLEMENTED: Any = NotImplemented


def _attach_operator(name: str, compute: Binary, inplace: bool = True) -> None:
    """Attach ``__name__``, ``__rname__`` and ``__iname__``."""

    def forward(self: Tensor, value: Any) -> Tensor:
        try:
            return compute(self, value) if isinstance(value, _OPERANDS) else _NOT_IMPLEMENTED
        except Exception as error:
            hide_internal_frames(error)
            raise

    def reverse(self: Tensor, value: Any) -> Tensor:
        try:
            return compute(value, self) if isinstance(value, _OPERANDS) else _NOT_IMPLEMENTED
        except Exception as error:
            hide_internal_frames(error)
            raise

    def in_place(self: Tensor, value: Any) -> Tensor:
        if not isinstance(value, _OPERANDS):
            return _NOT_IMPLEMENTED
        try:
            return write_result(self, compute(before_write(self), value), f"{name}_")
        except Exception as error:
            hide_internal_frames(error)
            raise

    attach(f"__{name}__", forward)
    attach(f"__r{name}__", reverse)
    if inplace:
        attach(f"__i{name}__", in_place)


def _attach_comparison(name: str, compute: Binary) -> None:
    """Attach ``__name__``."""

    def compare(self: Tensor, value: Any) -> Tensor:
        try:
            return compute(self, value) if isinstance(value, _OPERANDS) else _NOT_IMPLEMENTED
        except Exception as error:
            hide_internal_frames(error)
            raise

    attach(f"__{name}__", compare)


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

attach("__neg__", neg)
attach("__abs__", abs_)
attach("__invert__", _invert)
attach("__pos__", positive)
