"""Arithmetic as it is written: one rounding per operation.

XLA's algebraic simplifier takes numbers for real ones where operations follow each other. It makes
``x / y`` of a broadcast or constant `y` a product with ``1 / y``, ``(x / y) / z`` a division by
``y * z``, and ``(x + 1e8) - 1e8``, ``log(exp(x))`` and ``sqrt(x * x)`` just `x` or ``|x|``. Results
are then off by a rounding, after which `floor` is off by one, or finite where they overflow. No
option turns that off, so operands and results are hidden from it.

On the CPU that costs nothing: what hides them is gone before operations are fused. On GPUs it would
stay until after that and keep operations apart, so there results are as exact as XLA makes them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
from jax import lax
from jax.interpreters import ad, batching, mlir

# The class of JAX's primitives. `jax.extend`, which names it, imports Pallas too: a tenth of the
# time that importing this package takes.
_hidden: Any = type(lax.add_p)("hidden")
_hidden.def_impl(lambda x: x)
_hidden.def_abstract_eval(lambda x: x)
ad.deflinear2(_hidden, lambda g, _: [g])
batching.defvectorized(_hidden)
mlir.register_lowering(_hidden, lambda _, x: [x])
mlir.register_lowering(
    _hidden, mlir.lower_fun(lax.optimization_barrier, multiple_results=False), platform="cpu"
)


def hidden(x: Any) -> Any:
    """`x`, hidden from XLA's algebraic simplifier on the CPU."""
    return _hidden.bind(x) if jnp.issubdtype(x.dtype, jnp.inexact) else x


def quotient(x: Any, y: Any) -> Any:
    """``x / y``, rounded once; a number takes the array's type."""
    dtype, shape = jnp.result_type(x, y), jnp.broadcast_shapes(jnp.shape(x), jnp.shape(y))
    numerator, denominator = jnp.asarray(x, dtype), jnp.broadcast_to(jnp.asarray(y, dtype), shape)
    if jnp.issubdtype(dtype, jnp.inexact) and numerator.ndim == len(shape):
        return lax.div(hidden(numerator), hidden(denominator))
    return hidden(numerator) / hidden(denominator)


def round_once(impl: Callable) -> Callable:
    """`impl` whose result is rounded once: half precision is computed in single precision."""

    def wrapped(*operands: Any) -> Any:
        half = next((operand.dtype for operand in operands if is_half(operand.dtype)), None)
        if half is None:
            return hidden(impl(*operands))
        result = impl(
            *[
                operand.astype(jnp.float32) if is_half(operand.dtype) else operand
                for operand in operands
            ]
        )
        return hidden(result.astype(half) if result.dtype == jnp.float32 else result)

    return wrapped


def is_half(dtype: Any) -> bool:
    """Return True for floats of 16 bits."""
    return dtype.itemsize == 2 and jnp.issubdtype(dtype, jnp.floating)


def truncated(x: Any, dtype: Any) -> Any:
    """Floats as signed integers; NaN and what does not fit become the smallest integer.

    NumPy and PyTorch give the same on x86.
    """
    x = x.astype(jnp.float32) if is_half(x.dtype) else x
    limits = jnp.iinfo(dtype)
    # The conversion itself replaces too small numbers by the smallest.
    return jnp.where(x < 2.0 ** (limits.bits - 1), x.astype(dtype), limits.min)
