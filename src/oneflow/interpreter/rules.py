"""The table of rules: for each of JAX's primitives a NumPy function that computes what XLA does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from oneflow.base.function_table import FunctionTable

# Takes an equation of a jaxpr and returns a function of arrays, which returns an array, or a
# sequence of arrays for a primitive with several results.
Rule = Callable[[Any], Callable[..., Any]]

# The shape, which may have symbolic sizes, and the dtype of an operand or result.
ArrayType = tuple[tuple[Any, ...], np.dtype]

RULES: FunctionTable[Rule] = FunctionTable("a rule for JAX's primitive")
rule = RULES.register


class UnsupportedEquation(Exception):
    """Raised by rules for equations that NumPy does not compute as XLA does."""


def register_functions(functions: dict[str, Callable]) -> None:
    """Register functions of arrays that need nothing of the equation."""
    for name, function in functions.items():
        rule(name)(lambda _, function=function: function)


def shape_of(operand: ArrayType) -> tuple[int, ...]:
    """The shape of an operand or result of an equation."""
    return operand[0]


def dtype_of(operand: ArrayType) -> np.dtype:
    """The dtype of an operand or result of an equation."""
    return operand[1]


def is_half(dtype: np.dtype) -> bool:
    """Return True for floats of 16 bits."""
    return dtype.itemsize == 2 and is_float(dtype)


def is_float(dtype: np.dtype) -> bool:
    """Return True for real floating point numbers, `bfloat16` included."""
    return dtype.kind == "f" or dtype.name == "bfloat16"


def is_integer(dtype: np.dtype) -> bool:
    """Return True for integers; `bool` is none."""
    return dtype.kind in "iu"
