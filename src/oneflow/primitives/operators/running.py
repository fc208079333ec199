"""Sums, products, extremes and logarithms of sums so far along an axis, as equations of a trace.

JAX's own equations are a tree of partial results for XLA's CPU compiler, which passes over memory a
dozen times; one element after the other is a pass over it, but takes a step of Python for each in a
program that is new. So these are equations of one step: NumPy has a rule for them, and XLA gets the
loop. 512 x 512 numbers take 0.1 to 0.25 ms, and 1.3 to 1.4 by JAX's; with positions of extremes 0.3
to 0.7, and 0.9 to 1.8. On CPUs it is the loop of `running_cpu`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.interpreters import batching

from oneflow.base.x64 import in_x64
from oneflow.primitives.operators import loops
from oneflow.primitives.operators.cpu_kernel import register
from oneflow.primitives.operators.lax_functions import index_dtype
from oneflow.primitives.operators.rounding import is_half
from oneflow.primitives.operators.running_cpu import can_scan, scan_blocks

# Results that grow side by side from which on a loop is the quickest form: a step of it is then a
# vector of them.
_MIN_WIDTH = 16
# Elements up to which a loop is short, however few results grow side by side.
_SHORT_LOOP = 128
# The dtypes of totals where they are wider than the elements, as in PyTorch.
_SUM_DTYPES = {
    "float16": np.float32,
    "bfloat16": np.float32,
    "float32": np.float64,
    "complex64": np.complex128,
}

# Numbers that change no element they are combined with; to add -0.0 keeps even the sign of a zero.
_INITIAL_VALUES: dict[Any, float] = {
    jnp.add: -0.0,
    jnp.multiply: 1,
    jnp.maximum: -np.inf,
    jnp.logaddexp: -np.inf,
}


def total_dtype(dtype: Any) -> np.dtype:
    """The dtype of totals, as a million of numbers are added up one after the other."""
    return np.dtype(_SUM_DTYPES.get(np.dtype(dtype).name, dtype))


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

    return loops.scan(step, _initial_total(combine, x[0], x.dtype), x, reverse=reverse)[1]


def _initial_total(combine: Callable, element: jax.Array, dtype: Any) -> jax.Array:
    """The total of no elements of a dtype, for each of some."""
    has_wide_total = combine in (jnp.add, jnp.multiply)
    dtype = total_dtype(dtype) if has_wide_total else jnp.promote_types(dtype, jnp.float32)
    return jnp.full_like(element, _INITIAL_VALUES[combine], dtype=dtype)


@in_x64
def _running_on_cpu(x: jax.Array, *, combine: Callable, axis: int, reverse: bool) -> jax.Array:
    """The same as `_running`."""
    if not can_scan(x, axis):
        return _running(x, combine=combine, axis=axis, reverse=reverse)

    def step(total: jax.Array, element: jax.Array, _: jax.Array) -> tuple[jax.Array, jax.Array]:
        total = combine(total, element.astype(total.dtype))
        return total, total

    start = partial(_initial_total, combine, dtype=x.dtype)
    return scan_blocks(step, start, x, axis, x.dtype, reverse=reverse)


@in_x64
def _positions(x: jax.Array, *, compare: Callable, axis: int) -> jax.Array:
    """The position of the extreme so far: the last of equal ones; a NaN beats all numbers."""
    length = x.shape[axis]
    rows, positions = jnp.moveaxis(x, axis, 0), jnp.arange(length, dtype=index_dtype(length))

    def later(best: Any, element: Any) -> Any:
        take = compare(element[0], best[0]) | jnp.isnan(element[0])
        return tuple(jnp.where(take, new, old) for old, new in zip(best, element, strict=True))

    def step(best: Any, element: Any) -> Any:
        best = later(best, element)
        return best, best[1]

    if x.size // length < _MIN_WIDTH and length > _SHORT_LOOP:
        wide = lax.broadcast_in_dim(positions, rows.shape, (0,))
        last = lax.associative_scan(later, (rows, wide))[1]
    else:
        first = rows[0], jnp.zeros_like(rows[0], positions.dtype)
        last = loops.scan(step, first, (rows, positions))[1]
    return jnp.moveaxis(last, 0, axis)


@in_x64
def _positions_on_cpu(x: jax.Array, *, compare: Callable, axis: int) -> jax.Array:
    """The same as `_positions`."""
    if not can_scan(x, axis):
        return _positions(x, compare=compare, axis=axis)

    def step(best: Any, element: jax.Array, position: jax.Array) -> tuple[Any, jax.Array]:
        take = compare(element, best[0]) | jnp.isnan(element)
        best = jnp.where(take, element, best[0]), jnp.where(take, position, best[1])
        return best, best[1]

    def start(first: jax.Array) -> Any:
        return first, jnp.zeros_like(first, jnp.int64)

    return scan_blocks(step, start, x, axis, index_dtype(x.shape[axis]))


def _equation(
    name: str, function: Callable, on_cpu: Callable, dtype_of: Callable, **defaults: Any
) -> Any:
    """The function of an equation with one operand and a result of its shape.

    Args:
        name: the name of the equation.
        function: computes it along an axis.
        on_cpu: the same, for XLA's CPU compiler.
        dtype_of: the dtype of the result, by operand and axis.
        defaults: further parameters with their defaults.
    """
    equation: Any = type(lax.add_p)(name)
    equation.def_abstract_eval(
        lambda x, *, axis, **parameters: x.update(dtype=np.dtype(dtype_of(x, axis)))
    )
    register(equation, function, on_cpu, ("axis", *defaults))

    def batched(operands: Any, dims: Any, *, axis: int, **parameters: Any) -> tuple[Any, int]:
        (x,), (dim,) = operands, dims
        return equation.bind(jnp.moveaxis(x, dim, 0), axis=axis + 1, **parameters), 0

    batching.primitive_batchers[equation] = batched

    def call(x: jax.Array, dim: int, **parameters: Any) -> jax.Array:
        return equation.bind(x, axis=dim, **{**defaults, **parameters}) if x.ndim else x

    return call


def _fold(name: str, combine: Callable) -> Callable:
    """The function of an equation that combines elements by a function of two."""
    function, on_cpu = partial(_running, combine=combine), partial(_running_on_cpu, combine=combine)
    return _equation(name, function, on_cpu, lambda x, axis: x.dtype, reverse=False)


def _place(name: str, compare: Callable) -> Callable:
    """The function of an equation that finds the positions of extremes."""
    function = partial(_positions, compare=compare)
    on_cpu = partial(_positions_on_cpu, compare=compare)
    return _equation(name, function, on_cpu, lambda x, axis: index_dtype(x.shape[axis]))


# Functions of an array and a dimension. The first ones can go from the end, with `reverse`; the
# largest and logarithms of sums are those of floats, and places are those of arrays with elements.
running_sum = _fold("running_sum", jnp.add)
running_product = _fold("running_product", jnp.multiply)
running_max = _fold("running_max", jnp.maximum)
running_logaddexp = _fold("running_logaddexp", jnp.logaddexp)
running_argmax = _place("running_argmax", lax.ge)
running_argmin = _place("running_argmin", lax.le)
