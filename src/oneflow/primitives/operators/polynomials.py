"""Orthogonal polynomials, by their three-term recurrences.

Sources are the recurrences of https://dlmf.nist.gov/18.9. Degrees are numbers: each element of an
operand has its own. An attribute says which derivative is meant, so that a polynomial's gradient is
the polynomial itself.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from oneflow.primitives.operators import loops
from oneflow.primitives.operators.elementwise import mul
from oneflow.primitives.operators.rounding import round_once
from oneflow.primitives.registry import Primitive, primitive

# Degrees are counted in floats; above this they would skip some.
_MAX_DEGREE = 2.0**24

# The polynomial of degree 1; and that of degree k + 1 of x, k and those of degrees k and k - 1.
First = Callable[[Any], Any]
Next = Callable[[Any, Any, Any, Any], Any]


def _by_scan(first: First, next_degree: Next, degree: Any, x: Any) -> Any:
    """Return the polynomials of `degree` (cut to integers) at `x`, 0 below degree 0.

    They are not a number where the degree is none.
    """
    valid = jnp.abs(degree) < _MAX_DEGREE
    n = jnp.where(valid, jnp.trunc(degree), 0)

    def has_more(state: tuple) -> Any:
        k, current, _ = state
        return jnp.any((k < n) & ~jnp.isnan(current))

    def body(state: tuple) -> tuple:
        k, current, before = state
        more = k < n
        raised = next_degree(x, k, current, before)
        return k + 1, jnp.where(more, raised, current), jnp.where(more, current, before)

    one = jnp.ones_like(x)
    _, value, _ = loops.while_loop(has_more, body, (one.dtype.type(1), first(x), one))
    value = jnp.where(n < 1, jnp.where(n < 0, 0, one), value)
    return jnp.where(valid, value, jnp.nan)


def _polynomial(name: str, first: First, next_degree: Next) -> Primitive:
    """Define the polynomials with a recurrence."""

    def derived(x: Any, degree: Any, *, derivative: int = 0) -> Any:
        def polynomial(x: Any, degree: Any) -> Any:
            x, degree = jnp.broadcast_arrays(x, degree)
            value = functools.partial(_by_scan, first, next_degree, degree)
            for _ in range(derivative):
                value = _slope(value)
            return value(x)

        return round_once(polynomial)(x, degree)

    op = primitive(name, derived, elementwise=True)
    return op.gradient(
        x=lambda g, x, degree, derivative: mul(g, op(x, degree, derivative=derivative + 1)),
        degree=None,
    )


def _slope(value: Callable) -> Callable:
    return lambda x: jax.jvp(value, (x,), (jnp.ones_like(x),))[1]


def _chebyshev(x: Any, k: Any, current: Any, before: Any) -> Any:
    return 2 * x * current - before


chebyshev_t = _polynomial("chebyshev_polynomial_t", lambda x: x, _chebyshev)
chebyshev_u = _polynomial("chebyshev_polynomial_u", lambda x: 2 * x, _chebyshev)
chebyshev_v = _polynomial("chebyshev_polynomial_v", lambda x: 2 * x - 1, _chebyshev)
chebyshev_w = _polynomial("chebyshev_polynomial_w", lambda x: 2 * x + 1, _chebyshev)
hermite_h = _polynomial(
    "hermite_polynomial_h",
    lambda x: 2 * x,
    lambda x, k, current, before: 2 * (x * current - k * before),
)
hermite_he = _polynomial(
    "hermite_polynomial_he",
    lambda x: x,
    lambda x, k, current, before: x * current - k * before,
)
laguerre = _polynomial(
    "laguerre_polynomial_l",
    lambda x: 1 - x,
    lambda x, k, current, before: ((2 * k + 1 - x) * current - k * before) / (k + 1),
)
legendre = _polynomial(
    "legendre_polynomial_p",
    lambda x: x,
    lambda x, k, current, before: ((2 * k + 1) * x * current - k * before) / (k + 1),
)
