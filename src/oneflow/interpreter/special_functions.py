"""Rules of special functions, which SciPy computes.

Importing SciPy takes longer than most programs compute with it, so that waits until it is needed.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np

from oneflow.interpreter.rules import dtype_of, is_half, rule

# SciPy's names.
_FUNCTIONS = {
    "erf": "erf",
    "erfc": "erfc",
    "erf_inv": "erfinv",
    "lgamma": "gammaln",
    "digamma": "psi",
    "bessel_i0e": "i0e",
    "bessel_i1e": "i1e",
    "igamma": "gammainc",
    "igammac": "gammaincc",
}
# Where XLA's results are others: a function of the operand that finds it, and the result.
_EXCEPTIONS: dict[str, tuple[Callable[[Any], Any], float]] = {
    "lgamma": (np.isinf, np.inf),
    "digamma": (lambda x: x == 0, np.nan),
}


@rule(*_FUNCTIONS)
def _special_function(equation: Any) -> Callable:
    name, dtype = equation.primitive.name, dtype_of(equation.outvars[0])
    function = getattr(importlib.import_module("scipy.special"), _FUNCTIONS[name])
    wide = np.dtype(np.float32) if is_half(dtype) else dtype
    is_exception, value = _EXCEPTIONS.get(name, (None, 0.0))

    def compute(*operands: Any) -> Any:
        operands = tuple(each.astype(wide, copy=False) for each in operands)
        result = function(*operands)
        if is_exception is not None:
            result = np.where(is_exception(operands[0]), wide.type(value), result)
        return result.astype(dtype)

    return compute
