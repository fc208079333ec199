"""Rules of special functions: SciPy's, and for a few numbers of single precision Python's.

Importing SciPy takes a fifth of a second, longer than most programs compute with it. In single
precision it therefore waits for an array that is worth it.

`erf` is summed from its Taylor series about the nearest of some hundred places, in double
precision: in single precision that is the C library's result, in an eighth of its time from Python.
"""

from __future__ import annotations

import functools
import importlib
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from oneflow.interpreter.rules import dtype_of, is_half, rule

# Elements up to which SciPy is not imported. Python takes a tenth of a microsecond for each, the
# functions that NumPy computes at once a fiftieth and less.
_MAX_WITHOUT_SCIPY, _MAX_WITHOUT_SCIPY_AT_ONCE = 2**16, 2**22
# Elements that are computed together: they stay in a core's cache.
_BLOCK = 2**14
# Places of the Taylor series of `erf`: up to a number from which on it is 1, so many for each unit.
_LAST_PLACE, _PLACES = 6, 64
_ERF_TERMS = 7
# SciPy's names.
_SCIPY_NAMES = {
    "erf": "erf",
    "erfc": "erfc",
    "erf_inv": "erfinv",
    "lgamma": "gammaln",
    "digamma": "psi",
    "bessel_i0e": "i0e",
    "bessel_i1e": "i1e",
}
# Operands with another result in XLA: a function that finds them, and the result.
_EXCEPTIONS: dict[str, tuple[Callable[[Any], Any], float]] = {
    "lgamma": (np.isinf, np.inf),
    "digamma": (lambda x: (x <= 0) & (x == np.floor(x)), np.nan),
}
# B(2k) / 2k of the Bernoulli numbers B, for k = 1, 2, ...
_DIGAMMA_SERIES = (1 / 12, -1 / 120, 1 / 252, -1 / 240, 1 / 132, -691 / 32760)
# Steps by which an operand of `digamma` is made large enough for six terms of its series.
_DIGAMMA_STEPS = 10


@rule(*_SCIPY_NAMES)
def _special_function(equation: Any) -> Callable:
    name, dtype = equation.primitive.name, dtype_of(equation.outvars[0])
    wide = np.dtype(np.float32) if is_half(dtype) else dtype
    without_scipy = _WITHOUT_SCIPY.get(name)
    limit = _MAX_WITHOUT_SCIPY
    if wide == np.float32 and name in _AT_ONCE:
        without_scipy, limit = _AT_ONCE[name], _MAX_WITHOUT_SCIPY_AT_ONCE
    is_exception, value = _EXCEPTIONS.get(name, (None, 0.0))

    def compute(*operands: Any) -> Any:
        if without_scipy is not None and operands[0].size <= limit:
            result = without_scipy(operands[0].astype(np.float64))
        else:
            special = importlib.import_module("scipy.special")
            function = getattr(special, _SCIPY_NAMES[name])
            result = function(*[operand.astype(wide, copy=False) for operand in operands])
        if is_exception is not None:
            result = np.where(is_exception(operands[0]), wide.type(value), result)
        return result.astype(dtype)

    return compute


def _each(function: Callable[[float], float]) -> Callable[[np.ndarray], np.ndarray]:
    """A function of numbers as one of arrays of double precision."""

    def compute(x: np.ndarray) -> np.ndarray:
        return np.fromiter(map(function, x.ravel().tolist()), x.dtype, x.size).reshape(x.shape)

    return compute


def _lgamma(x: float) -> float:
    """The logarithm of the gamma function's absolute value; infinite at its poles."""
    return math.inf if x <= 0 and x.is_integer() else math.lgamma(x)


@functools.cache
def _erf_series() -> np.ndarray:
    """The coefficients of the Taylor series of `erf` about its places, a row for each power."""
    places = np.arange(_LAST_PLACE * _PLACES + 1) / _PLACES
    slope = 2 / math.sqrt(math.pi) * np.exp(-places * places)
    # The coefficients of its derivative g, since g'(x) = -2 x g(x).
    slopes = [np.zeros_like(slope), slope]
    for power in range(1, _ERF_TERMS - 1):
        slopes.append(-2 * (places * slopes[-1] + slopes[-2]) / power)
    terms = [term / power for power, term in enumerate(slopes[1:], 1)]
    return np.array([_each(math.erf)(places), *terms])


def _erf(x: np.ndarray) -> np.ndarray:
    """The error function, with a relative error of at most 6e-15."""
    size = np.minimum(np.abs(x), _LAST_PLACE)
    numbers = np.rint(size * _PLACES)
    distance = size - numbers / _PLACES
    places = np.where(np.isnan(x), 0, numbers).astype(np.intp)
    *others, result = (terms.take(places) for terms in _erf_series())
    for term in reversed(others):
        result = result * distance + term
    return np.copysign(result, x)


def _in_blocks(function: Callable[[np.ndarray], np.ndarray]) -> Callable[[np.ndarray], np.ndarray]:
    """A function of arrays, computed block by block."""

    def compute(x: np.ndarray) -> np.ndarray:
        if x.size <= _BLOCK:
            return np.asarray(function(x))
        flat, result = x.reshape(-1), np.empty(x.size, x.dtype)
        for start in range(0, x.size, _BLOCK):
            block = slice(start, start + _BLOCK)
            result[block] = function(flat[block])
        return result.reshape(x.shape)

    return compute


def _erf_inv(x: np.ndarray) -> np.ndarray:
    """The inverse of the error function, by Halley's method from Winitzki's estimate.

    The source is S. Winitzki, "A handy approximation for the error function and its inverse", 2008.
    """
    log = np.log1p(-x * x)
    a = 0.147
    b = 2 / (math.pi * a) + log / 2
    y = np.copysign(np.sqrt(np.sqrt(b * b - log / a) - b), x)
    for _ in range(2):  # from 3 digits to 8 and to all
        step = (_erf(y) - x) * (math.sqrt(math.pi) / 2) * np.exp(y * y)
        y = y - step / (1 + y * step)
    return np.where(np.abs(x) == 1, np.copysign(np.inf, x), y)


def _digamma(x: np.ndarray) -> np.ndarray:
    """The logarithmic derivative of the gamma function, by its asymptotic series.

    Negative operands are reflected, ``psi(x) = psi(1 - x) - pi / tan(pi x)``, and all stepped up by
    ``psi(x) = psi(x + 1) - 1 / x``.
    """
    negative = x < 0
    z = np.where(negative, 1 - x, x)
    result = np.where(negative, -math.pi / np.tan(math.pi * (x - np.rint(x))), 0)
    for _ in range(_DIGAMMA_STEPS):
        result = result - 1 / z
        z = z + 1
    series, square = 0.0, 1 / (z * z)
    for term in reversed(_DIGAMMA_SERIES):
        series = (series + term) * square
    return result + np.log(z) - 0.5 / z - series


# Functions of the C library, for double precision too.
_WITHOUT_SCIPY: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "erf": _each(math.erf),
    "erfc": _each(math.erfc),
    "lgamma": _each(_lgamma),
}
# Functions whose results are exact in single precision only.
_AT_ONCE: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "erf": _in_blocks(_erf),
    "erf_inv": _in_blocks(_erf_inv),
    "digamma": _in_blocks(_digamma),
}
