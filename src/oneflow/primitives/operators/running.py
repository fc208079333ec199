"""Sums and products so far along an axis, as equations of a trace.

JAX's own equations are a tree of partial results for XLA's CPU compiler, which passes over memory a
dozen times; one element after the other is a pass over it, but takes a step of Python for each in a
program that is new. So these are equations of one step: NumPy has a rule for them, and XLA gets the
loop. 512 x 512 numbers take 0.1 to 0.25 ms, and 1.3 to 1.4 by JAX's.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.interpreters import batching, mlir

from oneflow.base.x64 import in_x64
from oneflow.primitives.operators import loops
from oneflow.primitives.operators.rounding import is_half

# Results that grow side by side from which on a loop is the quickest form: a step of it is then a
# vector of them.
_MIN_WIDTH = 16
# Elements up to which a loop is short, however few results grow side by side.
_SHORT_LOOP = 128
# The dtypes of totals where they are wider than the elements, as in PyTorch.
_TOTALS = {
    "float16": np.float32,
    "bfloat16": np.float32,
    "float32": np.float64,
    "complex64": np.complex128,
}


def total_dtype(dtype: Any) -> np.dtype:
    """The dtype of totals, of which a million are added up one after the other."""
    return np.dtype(_TOTALS.get(np.dtype(dtype).name, dtype))


@in_x64
def _running(x: jax.Array, *, combine: Callable, axis: int, reverse: bool) -> jax.Array:
    """The results so far."""
    length = x.shape[axis]
    if length <= 1:
        return x
    if x.size // length < _MIN_WIDTH and length > _SHORT_LOOP:
        wide = x.astype(jnp.float32) if is_half(x.dtype) else x
        return lax.associative_scan(combine, wide, reverse=reverse, axis=axis).astype(x.dtype)
    results = _one_by_one(combine, jnp.moveaxis(x, axis, 0), reverse)
    return jnp.moveaxis(results, 0, axis)


def _one_by_one(combine: Callable, x: jax.Array, reverse: bool) -> jax.Array:
    """The results so far along the first axis, each the total rounded once."""

    def step(total: jax.Array, element: jax.Array) -> tuple[jax.Array, jax.Array]:
        total = combine(total, element.astype(total.dtype))
        return total, total.astype(x.dtype)

    # To add -0.0 changes nothing, not even the sign of a zero.
    identity = -0.0 if combine is jnp.add else 1
    start = jnp.full_like(x[0], identity, dtype=total_dtype(x.dtype))
    return loops.scan(step, start, x, reverse=reverse)[1]


def _equation(name: str, combine: Callable) -> Any:
    """An equation with one operand and a result like it."""
    function = partial(_running, combine=combine)
    equation: Any = type(lax.add_p)(name)
    equation.def_abstract_eval(lambda x, *, axis, reverse: x)
    equation.def_impl(jax.jit(function, static_argnames=("axis", "reverse")))
    mlir.register_lowering(equation, mlir.lower_fun(function, multiple_results=False))

    def batched(operands: Any, dims: Any, *, axis: int, reverse: bool) -> tuple[Any, int]:
        (x,), (dim,) = operands, dims
        return equation.bind(jnp.moveaxis(x, dim, 0), axis=axis + 1, reverse=reverse), 0

    batching.primitive_batchers[equation] = batched
    return equation


def _bound(equation: Any, x: jax.Array, dim: int, reverse: bool = False) -> jax.Array:
    """The equation of an array, along a dimension; an array without dimensions as it is."""
    return equation.bind(x, axis=dim, reverse=reverse) if x.ndim else x


# Functions of an array, a dimension and `reverse`.
running_sum = partial(_bound, _equation("running_sum", jnp.add))
running_product = partial(_bound, _equation("running_product", jnp.multiply))
