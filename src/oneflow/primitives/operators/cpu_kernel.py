"""Functions with loops of many short turns, which XLA's CPU compiler makes one kernel of.

XLA runs the steps of a loop as kernels of their own, which it starts one by one in every turn: 0.1
to 0.3 µs for each. A call with the attribute below, which XLA itself gives to loops over very small
arrays, is one function of machine code with all loops in it: 2 to 5 ns for a turn. Rules for such a
loop:

- It runs on one thread.
- What a turn writes in place nothing else in that turn may read, unless it reads what has been
  written: XLA would copy the whole array in each turn.
- Products of matrices, sorts and scatters do not belong in it.
- Nor do arrays of bfloat16 that a turn writes: XLA would convert the whole array in each turn.
- XLA may not split it over devices: the communication that it adds cannot be part of it.

A version of XLA that does not know the attribute runs the call as any other.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
from jax.experimental.xla_metadata import set_xla_metadata
from jax.interpreters import mlir

_with_jit = jax.disable_jit(False)
_ATTRIBUTES = {"inlineable": "false", "xla_cpu_small_call": "true"}


def in_one_kernel(function: Callable, *operands: jax.Array) -> jax.Array:
    """Call a function in such a way that XLA's CPU compiler makes one kernel of it.

    Args:
        function: a function of arrays; returns an array, which is the result of a loop.
        operands: its arrays.

    Raises:
        ValueError: the result comes from something else, which XLA may split over threads; then it
            makes a function of other arguments than the kernel calls.
    """
    kernel = _with_jit(jax.jit(function))
    jaxpr = _with_jit(jax.make_jaxpr(function))(*operands).jaxpr
    last = next(equation for equation in jaxpr.eqns if jaxpr.outvars[0] in equation.outvars)
    if last.primitive.name not in ("scan", "while"):
        raise ValueError(
            f"the result of one kernel must be that of a loop, not of {last.primitive}"
        )
    result: Any = set_xla_metadata(kernel(*operands), **_ATTRIBUTES)
    return result


def register(
    equation: Any, function: Callable, on_cpu: Callable, static_argnames: tuple[str, ...] = ()
) -> None:
    """Register how an equation runs and what XLA gets for it.

    Args:
        equation: an equation with one result.
        function: computes it.
        on_cpu: the same with `in_one_kernel`, for XLA's CPU compiler.
        static_argnames: the parameters of the equation.
    """
    # JAX compiles the equation even where it compiles no functions, or it would be bound for ever.
    equation.def_impl(_with_jit(jax.jit(equation.bind, static_argnames=static_argnames)))
    rule = mlir.lower_fun(function, multiple_results=False)
    kernel_rule = mlir.lower_fun(on_cpu, multiple_results=False)

    def cpu_rule(ctx: Any, *operands: Any, **parameters: Any) -> Any:
        may_be_split = _may_be_split(ctx.module_context.axis_context)
        return (rule if may_be_split else kernel_rule)(ctx, *operands, **parameters)

    mlir.register_lowering(equation, rule)
    mlir.register_lowering(equation, cpu_rule, platform="cpu")


def _may_be_split(axis_context: Any) -> bool:
    """Return whether XLA may split arrays over devices: not where all axes of a mesh are manual."""
    if hasattr(axis_context, "manual_axes"):
        return set(axis_context.manual_axes) != set(axis_context.mesh.axis_names)
    return getattr(axis_context, "num_devices", 1) != 1
