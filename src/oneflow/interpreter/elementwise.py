"""Rules of elementwise primitives."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from oneflow.interpreter.rules import (
    UnsupportedEquation,
    dtype_of,
    is_float,
    is_half,
    is_integer,
    register_functions,
    rule,
    shape_of,
)


def _rsqrt(x: Any) -> Any:
    root = np.sqrt(x)
    if not np.iscomplexobj(root):
        return np.reciprocal(root)
    # NumPy's complex quotient by 0 is NaN.
    return np.where(root == 0, root.dtype.type(complex(np.inf, np.nan)), 1 / root)


def _log1p(x: Any) -> Any:
    """NumPy's, except for complex numbers: a NaN part makes both NaN, and -0 stays -0.

    PyTorch and XLA have the same values.
    """
    value: Any = np.asarray(np.log1p(x))
    if not np.iscomplexobj(value):
        return value
    is_real = (x.imag == 0) & (x.real > -1)
    value.real = np.where(is_real, np.log1p(x.real), value.real)
    return np.where(np.isnan(x), value.dtype.type(complex(np.nan, np.nan)), value)


register_functions(
    {
        "neg": np.negative,
        "add": np.add,
        "add_any": np.add,
        "sub": np.subtract,
        "mul": np.multiply,
        "max": np.maximum,
        "min": np.minimum,
        "eq": np.equal,
        "ne": np.not_equal,
        "lt": np.less,
        "le": np.less_equal,
        "gt": np.greater,
        "ge": np.greater_equal,
        "and": np.bitwise_and,
        "or": np.bitwise_or,
        "xor": np.bitwise_xor,
        "not": np.invert,
        # NumPy, too, gives 0 or the sign for shifts by the width or more.
        "shift_left": np.left_shift,
        "abs": np.abs,
        "floor": np.floor,
        "ceil": np.ceil,
        "is_finite": np.isfinite,
        "sqrt": np.sqrt,
        "square": np.square,
        # Releases of JAX after 0.10 differentiate tanh, asin and the like with it.
        "one_minus_square": lambda x: (1 + x) * (1 - x),
        "nextafter": np.nextafter,
        "real": np.real,
        "imag": np.imag,
        "conj": np.conjugate,
        "rsqrt": _rsqrt,
        "clamp": lambda low, x, high: np.minimum(np.maximum(low, x), high),
    }
)


_TRANSCENDENTAL = {
    "exp": np.exp,
    "exp2": np.exp2,
    "log": np.log,
    "log2": np.log2,
    "expm1": np.expm1,
    "log1p": _log1p,
    "sin": np.sin,
    "cos": np.cos,
    "tan": np.tan,
    "asin": np.arcsin,
    "acos": np.arccos,
    "atan": np.arctan,
    "sinh": np.sinh,
    "cosh": np.cosh,
    "tanh": np.tanh,
    "asinh": np.arcsinh,
    "acosh": np.arccosh,
    "atanh": np.arctanh,
    "atan2": np.arctan2,
    "cbrt": np.cbrt,
}


@rule(*_TRANSCENDENTAL)
def _transcendental(equation: Any) -> Callable:
    return _in_double(_TRANSCENDENTAL[equation.primitive.name], dtype_of(equation.outvars[0]))


def _in_double(function: Callable, dtype: np.dtype) -> Callable:
    """The function in double precision, if `dtype` is single.

    NumPy's vectorised functions of single precision are off by up to 4 units in the last place.
    """
    if dtype != np.float32:
        return function
    return lambda *operands: function(*[x.astype(np.float64) for x in operands]).astype(dtype)


@rule("logistic")
def _logistic(equation: Any) -> Callable:
    dtype = dtype_of(equation.outvars[0])
    one = np.ones((), np.float64 if dtype == np.float32 else dtype)
    return _in_double(lambda x: one / (one + np.exp(-x)), dtype)


@rule("sign")
def _sign(equation: Any) -> Callable:
    if not is_float(dtype_of(equation.outvars[0])):
        return np.sign
    # XLA keeps the sign of zero.
    return lambda x: np.copysign(np.sign(x), x)


@rule("round")
def _round(equation: Any) -> Callable:
    if int(equation.params["rounding_method"]) == 1:
        return np.rint

    def round_half(x: Any) -> Any:
        truncated = np.trunc(x)
        one = np.copysign(np.ones((), x.dtype), x)
        return np.where(
            np.abs(x - truncated) >= np.asarray(0.5, x.dtype), truncated + one, truncated
        )

    return round_half


@rule("div")
def _div(equation: Any) -> Callable:
    dtype = dtype_of(equation.outvars[0])
    return _truncated_division if is_integer(dtype) else np.divide


def _truncated_division(x: Any, y: Any) -> Any:
    """Quotients rounded to zero; all ones, which is -1, for a divisor of 0."""
    quotient = np.floor_divide(x, y)
    inexact = np.remainder(x, y) != 0
    quotient = np.where(inexact & ((x < 0) != (y < 0)), quotient + quotient.dtype.type(1), quotient)
    return np.where(y == 0, np.invert(np.zeros_like(quotient)), quotient)


@rule("rem")
def _rem(equation: Any) -> Callable:
    if not is_integer(dtype_of(equation.outvars[0])):
        return np.fmod
    # The remainder by 0 is the dividend.
    return lambda x, y: np.where(y == 0, x, np.fmod(x, y))


@rule("lt_to", "le_to")
def _total_order(equation: Any) -> Callable:
    dtype = dtype_of(equation.invars[0])
    compare = np.less if equation.primitive.name == "lt_to" else np.less_equal
    if not is_float(dtype):
        return compare
    bits = np.dtype(f"i{dtype.itemsize}")
    highest = bits.type(np.iinfo(bits).max)

    def position(x: Any) -> Any:
        """An integer; the integers for -NaN, -inf, -0.0, 0.0, inf and NaN are in this order."""
        x = x.view(bits)
        return np.where(x < 0, x ^ highest, x)

    return lambda x, y: compare(position(x), position(y))


@rule("platform_index")
def _platform_index(equation: Any) -> Callable:
    platforms = equation.params["platforms"]
    index = next((n for n, names in enumerate(platforms) if names is None or "cpu" in names), None)
    if index is None:
        raise UnsupportedEquation(f"a choice between {platforms}")
    return lambda: np.int32(index)


@rule("shift_right_logical", "shift_right_arithmetic")
def _shift_right(equation: Any) -> Callable:
    dtype = dtype_of(equation.outvars[0])
    kind = "u" if equation.primitive.name == "shift_right_logical" else "i"
    if dtype.kind == kind:
        return np.right_shift
    bits = np.dtype(f"{kind}{dtype.itemsize}")
    return lambda x, y: np.right_shift(x.view(bits), y.view(bits)).view(dtype)


@rule("population_count")
def _population_count(equation: Any) -> Callable:
    dtype = dtype_of(equation.outvars[0])
    bits = np.dtype(f"u{dtype.itemsize}")
    return lambda x: np.bitwise_count(x.view(bits)).astype(dtype)


@rule("clz")
def _count_leading_zeros(equation: Any) -> Callable:
    dtype = dtype_of(equation.outvars[0])
    if dtype.itemsize > 4:
        raise UnsupportedEquation("leading zeros of 64-bit integers")
    bits = np.dtype(f"u{dtype.itemsize}")
    # The exponent of a double precision number is the length of an integer of up to 32 bits.
    return lambda x: (8 * dtype.itemsize - np.frexp(x.view(bits).astype(np.float64))[1]).astype(
        dtype
    )


@rule("select_n")
def _select_n(equation: Any) -> Callable:
    if len(equation.invars) == 3 and dtype_of(equation.invars[0]).kind == "b":
        return lambda which, on_false, on_true: np.where(which, on_true, on_false)

    def select(which: Any, *cases: Any) -> Any:
        result = cases[-1]
        for number in reversed(range(len(cases) - 1)):
            result = np.where(which == number, cases[number], result)
        return result

    return select


@rule("complex")
def _complex(equation: Any) -> Callable:
    dtype = dtype_of(equation.outvars[0])

    def combine(real: Any, imag: Any) -> Any:
        result = np.empty(np.broadcast_shapes(np.shape(real), np.shape(imag)), dtype)
        result.real, result.imag = real, imag
        return result

    return combine


@rule("integer_pow")
def _integer_pow(equation: Any) -> Callable:
    exponent = equation.params["y"]

    def power(x: Any) -> Any:
        result = _product_of_powers(x, abs(exponent))
        return np.reciprocal(result) if exponent < 0 else result

    return power


def _product_of_powers(x: Any, exponent: int) -> Any:
    """Powers by repeated squaring, which wrap around like products."""
    result = None
    while exponent:
        if exponent & 1:
            result = x if result is None else result * x
        exponent >>= 1
        x = x * x if exponent else x
    return np.ones_like(x) if result is None else result


@rule("pow")
def _pow(equation: Any) -> Callable:
    dtype = dtype_of(equation.outvars[0])
    if is_integer(dtype):
        raise UnsupportedEquation("integer powers of integers")
    if dtype.kind == "c":
        raise UnsupportedEquation("powers of complex numbers")
    return _in_double(lambda x, y: np.power(x, y.astype(x.dtype)), dtype)


@rule("convert_element_type")
def _convert_element_type(equation: Any) -> Callable:
    source, target = dtype_of(equation.invars[0]), dtype_of(equation.outvars[0])
    if source == target:
        return lambda x: x
    if source.kind == "c" and target.kind not in "cb":
        return lambda x: x.real.astype(target)
    if is_float(source) and is_integer(target):
        return lambda x: _float_to_integer(x, target)
    return lambda x: x.astype(target)


def _float_to_integer(x: Any, target: np.dtype) -> Any:
    """Convert floats to integers: NaN becomes 0, and numbers out of range saturate."""
    wide = x.astype(np.float32) if is_half(x.dtype) else x
    limits = np.iinfo(target)
    truncated = np.trunc(wide)
    low, end = wide.dtype.type(limits.min), wide.dtype.type(2.0 ** int(math.log2(limits.max + 1)))
    if np.all((truncated >= low) & (truncated < end)):
        return truncated.astype(target)
    inside = np.where((truncated >= low) & (truncated < end), truncated, wide.dtype.type(0)).astype(
        target
    )
    inside = np.where(truncated >= end, target.type(limits.max), inside)
    return np.where(truncated < low, target.type(limits.min), inside)


@rule("reduce_precision")
def _reduce_precision(equation: Any) -> Callable:
    dtype = dtype_of(equation.outvars[0])
    bits = equation.params["exponent_bits"], equation.params["mantissa_bits"]
    formats = {(8, 7): "bfloat16", (5, 10): "float16", (8, 23): "float32", (11, 52): "float64"}
    if bits not in formats:
        raise UnsupportedEquation(f"rounding to {bits} bits")
    target = _dtype_named(formats[bits])
    if target == dtype:
        return lambda x: x
    return lambda x: x.astype(target).astype(dtype)


def _dtype_named(name: str) -> np.dtype:
    return np.dtype(name)


@rule("bitcast_convert_type")
def _bitcast_convert_type(equation: Any) -> Callable:
    source, target = dtype_of(equation.invars[0]), dtype_of(equation.outvars[0])
    shape = shape_of(equation.outvars[0])
    if source.itemsize == target.itemsize:
        return lambda x: x.view(target)
    return lambda x: np.ascontiguousarray(x).reshape(-1).view(target).reshape(shape)
