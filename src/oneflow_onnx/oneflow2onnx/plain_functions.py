"""Functions of numbers that the primitives and JAX's primitives have by the same names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from oneflow_onnx.oneflow2onnx.builder import OnnxBuilder
from oneflow_onnx.oneflow2onnx.error_functions import erf, erfc
from oneflow_onnx.oneflow2onnx.reference import Ref

BOOL = np.dtype(bool)


def one_operator(name: str, **options: Any) -> Callable[..., Ref]:
    """Return the function of a builder and operands that is one ONNX operator."""

    def write(b: OnnxBuilder, *operands: Ref) -> Ref:
        return b.op(name, *operands, **options)

    return write


def on_operands(function: Callable[..., Ref]) -> Callable[[OnnxBuilder, Any], Ref]:
    """Return the lowering that calls `function` with a builder and the operands of a call."""

    def lower(b: OnnxBuilder, call: Any) -> Ref:
        return function(b, *call.operands)

    return lower


def square(b: OnnxBuilder, x: Ref) -> Ref:
    """The square of each element."""
    return b.op("Mul", x, x)


def rsqrt(b: OnnxBuilder, x: Ref) -> Ref:
    """The reciprocal of the square root."""
    return b.op("Reciprocal", b.op("Sqrt", x))


def not_equal(b: OnnxBuilder, x: Ref, y: Ref) -> Ref:
    """True where two elements differ."""
    return b.op("Not", b.op("Equal", x, y, dtype=BOOL))


def is_finite(b: OnnxBuilder, x: Ref) -> Ref:
    """False where a float is infinite or NaN."""
    return b.op("Not", b.op("Or", *[b.op(name, x, dtype=BOOL) for name in ("IsNaN", "IsInf")]))


_OPERATORS = {
    "sub": "Sub",
    "neg": "Neg",
    "abs": "Abs",
    "sqrt": "Sqrt",
    "exp": "Exp",
    "log": "Log",
    "sin": "Sin",
    "cos": "Cos",
    "tan": "Tan",
    "asin": "Asin",
    "acos": "Acos",
    "atan": "Atan",
    "sinh": "Sinh",
    "cosh": "Cosh",
    "asinh": "Asinh",
    "acosh": "Acosh",
    "atanh": "Atanh",
    "tanh": "Tanh",
    "floor": "Floor",
    "ceil": "Ceil",
}
PLAIN_FUNCTIONS: dict[str, Callable[..., Ref]] = {
    **{name: one_operator(operator) for name, operator in _OPERATORS.items()},
    "eq": one_operator("Equal", dtype=BOOL),
    "lt": one_operator("Less", dtype=BOOL),
    "gt": one_operator("Greater", dtype=BOOL),
    "ne": not_equal,
    "square": square,
    "rsqrt": rsqrt,
    "erf": erf,
    "erfc": erfc,
}
