"""Functions with a kink, for implementations whose gradient is derived from them.

PyTorch and JAX have different slopes there: JAX's slope of `abs` at 0 is 1, and of a number that
equals a limit it passes on half of the gradient. These functions have PyTorch's. A law,
`tests/laws/test_kinks.py`, finds the others where a gradient is derived through them.
"""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
from jax import lax


def absolute(x: Any) -> Any:
    """The absolute value, with slope 0 at 0."""
    if jnp.iscomplexobj(x):
        return jnp.abs(x)  # JAX's slope at 0 is 0
    return jnp.where(x == 0, 0, jnp.where(x < 0, -x, x))


def at_least(x: Any, limit: Any) -> Any:
    """``max(x, limit)``; what equals the limit passes on the whole gradient, NaN none.

    A limit of NaN makes NaN of everything.
    """
    return jnp.where(x >= limit, x, jnp.maximum(lax.stop_gradient(x), limit))


def at_most(x: Any, limit: Any) -> Any:
    """``min(x, limit)``; what equals the limit passes on the whole gradient, NaN none.

    A limit of NaN makes NaN of everything.
    """
    return jnp.where(x <= limit, x, jnp.minimum(lax.stop_gradient(x), limit))


def above(x: Any, limit: Any) -> Any:
    """``max(x, limit)``; what equals the limit passes on no gradient, and NaN counts as the limit.

    It is what C's ``x > limit ? x : limit`` gives in PyTorch's kernels.
    """
    return jnp.where(x > limit, x, limit)


def below(x: Any, limit: Any) -> Any:
    """``min(x, limit)``; what equals the limit passes on no gradient."""
    return jnp.where(x >= limit, limit, x)
