"""Special functions are exact over their whole range, op by op and compiled.

The references are computed with fifty digits. Near a zero of a function the error counts relative
to a thousandth, since there its operand's rounding is as large.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import mpmath  # PyTorch's package brings it
import numpy as np
import pytest

import oneflow as flow
from tests.oracle import eager_mode

_DIGITS, _LEAST = 50, 1e-3


def _spread(low: float, high: float, count: int = 20) -> np.ndarray:
    """Positive numbers of every order of magnitude."""
    return np.exp(np.linspace(np.log(low), np.log(high), count))


def _both(low: float, high: float, count: int = 20) -> np.ndarray:
    numbers = _spread(low, high, count)
    return np.concatenate([-numbers, numbers])


def _normal(x: Any) -> Any:
    """The distribution function of the normal distribution."""
    return mpmath.erfc(-x / mpmath.sqrt(2)) / 2


def _log_normal(x: Any) -> Any:
    return mpmath.log(_normal(x)) if x < 0 else mpmath.log1p(-_normal(-x))


def _lower_gamma(a: Any, x: Any) -> Any:
    """The regularised incomplete gamma function, by its power series."""
    if x > 1.2 * a + 1:
        return 1 - mpmath.gammainc(a, x, mpmath.inf, regularized=True)
    total, term, n = mpmath.mpf(1), mpmath.mpf(1), 0
    while term > total * mpmath.eps:
        n += 1
        term *= x / (a + n)
        total += term
    return total * mpmath.exp(a * mpmath.log(x) - x - mpmath.loggamma(a + 1))


@dataclass(frozen=True)
class Function:
    """A function, where it is tried and how far off it may be.

    Attributes:
        reference: the function in any precision.
        points: operands, one array each.
        ulp: tolerated units in the last place, of float64 and of float32.
        span: operands that float32 has a result for.
    """

    reference: Callable
    points: tuple[np.ndarray, ...]
    ulp: tuple[float, float]
    span: tuple[float, float] = (-np.inf, np.inf)


_NEAR_ONE = 1 - _spread(1e-15, 0.4)
_ROOTS = np.array([0.9999, 1.0001, 1.4616, 1.9999, 2.0001])
_GAMMA = np.concatenate([_spread(1e-8, 1e30, 30), _ROOTS, -_spread(0.001, 150.3)])
_SHAPES = np.array([1e-10, 1e-3, 0.1, 0.5, 0.94, 1, 3, 17, 25, 200, 1e4])
_RATIOS = np.array([1e-6, 0.1, 0.6, 0.95, 0.999, 1, 1.001, 1.1, 1.6, 3])
_GRID = [array.ravel() for array in np.meshgrid(_SHAPES, _RATIOS)]
# XLA's own give thousands for one half.
_LARGE = np.array([1e7, 1e7]), np.array([1e7, 0.999e7])
_PAIRS = tuple(
    np.concatenate(arrays) for arrays in ((_GRID[0], _LARGE[0]), (_GRID[0] * _GRID[1], _LARGE[1]))
)

FUNCTIONS = {
    "erf": Function(mpmath.erf, (_both(1e-12, 6),), (2, 2)),
    "erfc": Function(mpmath.erfc, (np.concatenate([_both(1e-10, 6), [13.2, 26]]),), (300, 30)),
    "erfinv": Function(
        mpmath.erfinv,
        (np.concatenate([_both(1e-12, 0.5), _NEAR_ONE, -_NEAR_ONE]),),
        (3, 50),
        (-1 + 1e-7, 1 - 1e-7),
    ),
    "lgamma": Function(lambda x: mpmath.log(abs(mpmath.gamma(x))), (_GAMMA,), (5000, 1)),
    "digamma": Function(mpmath.digamma, (_GAMMA,), (3000, 5000)),
    "special.i0": Function(lambda x: mpmath.besseli(0, x), (_both(1e-8, 700),), (5, 5), (-85, 85)),
    "special.i1": Function(lambda x: mpmath.besseli(1, x), (_both(1e-8, 700),), (5, 5), (-85, 85)),
    "special.ndtr": Function(_normal, (np.concatenate([_both(1e-5, 8), [-13, -37]]),), (900, 30)),
    "special.log_ndtr": Function(_log_normal, (_both(1e-5, 30),), (500, 2)),
    "special.ndtri": Function(
        lambda p: -mpmath.sqrt(2) * mpmath.erfinv(1 - 2 * p),
        (np.concatenate([_spread(1e-25, 0.4), _NEAR_ONE]),),
        (5, 5),
        (0, 1 - 1e-7),
    ),
    "special.gammainc": Function(_lower_gamma, _PAIRS, (5000, 2)),
    "special.gammaincc": Function(lambda a, x: 1 - _lower_gamma(a, x), _PAIRS, (5000, 2)),
}


def _references(function: Function, points: list[np.ndarray]) -> list[Any]:
    with mpmath.workdps(_DIGITS):
        rows = zip(*[map(float, point) for point in points], strict=True)
        return [function.reference(*map(mpmath.mpf, row)) for row in rows]


def _units_off(got: float, wanted: Any, info: Any) -> float:
    """The error of a number in units in the last place, 0 for what a dtype cannot hold."""
    if not 1e3 * info.tiny < abs(wanted) < info.max:
        return 0.0
    size = max(abs(wanted), _LEAST * (abs(wanted) > 1e-6))
    return float(abs(got - wanted) / size / float(info.eps)) if np.isfinite(got) else np.inf


@pytest.mark.parametrize("mode", ["cold", pytest.param("compiled", marks=pytest.mark.one_in(2))])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_special_functions_are_exact(name: str, dtype: Any, mode: str) -> None:
    function = FUNCTIONS[name]
    points = [point.astype(dtype) for point in function.points]
    if dtype == np.float32:
        low, high = function.span
        inside = np.all([(low < point) & (point < high) for point in points], axis=0)
        points = [point[inside] for point in points]
    with eager_mode(mode):
        mine = operator.attrgetter(name)(flow)(*map(flow.tensor, points)).numpy()
    expected = _references(function, points)
    limit = function.ulp[dtype == np.float32]
    for row in zip(mine.tolist(), expected, *points, strict=True):
        got, wanted = row[:2]
        assert _units_off(got, wanted, np.finfo(dtype)) <= limit, row
