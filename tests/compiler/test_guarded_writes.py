"""Updates that a failed check prevents: of what writes some elements, only these are chosen."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from oneflow.compiler.guarded_writes import unless
from oneflow.primitives.operators.rounding import hidden
from oneflow.primitives.trace import sub_jaxprs

pytestmark = pytest.mark.usefixtures("jax_x64")

SHAPE = (50, 4)


def scatter(x: Any, row: Any) -> Any:
    return x.at[jnp.asarray([3])].set(row[None], mode="drop")


def add_to_row(x: Any, row: Any) -> Any:
    return x.at[jnp.asarray([3])].add(row[None], mode="drop")


def slice_update(x: Any, row: Any) -> Any:
    return lax.dynamic_update_slice(x, row[None], (3, 0))


def with_own_gradient(function: Callable) -> Callable:
    wrapped = jax.custom_vjp(function)
    wrapped.defvjp(lambda *operands: (function(*operands), None), lambda _, g: (g, g[0]))
    return wrapped


def with_own_tangent(function: Callable) -> Callable:
    wrapped = jax.custom_jvp(function)
    wrapped.defjvp(lambda operands, tangents: (function(*operands), tangents[0]))
    return wrapped


def on_another_shape(before: Callable, after: Callable) -> Callable[[Callable], Callable]:
    """Return the wrapper of a function that computes on `x` in another shape."""
    return lambda function: lambda x, row: after(function(before(x), row))


def squeezed(x: Any) -> Any:
    return lax.squeeze(x.reshape(1, *SHAPE), (0,))


WRAPPERS = {
    "nothing": lambda function: function,
    "jit": jax.jit,
    "checkpoint": jax.checkpoint,
    "custom_jvp": with_own_tangent,
    "custom_vjp": with_own_gradient,
    "jit in custom_jvp": lambda function: with_own_tangent(jax.jit(function)),
    "hidden": on_another_shape(hidden, hidden),
    "optimization_barrier": on_another_shape(lax.optimization_barrier, lax.optimization_barrier),
    "reshape": on_another_shape(lambda x: x.reshape(50, 2, 2).reshape(SHAPE), hidden),
    "squeeze": on_another_shape(squeezed, squeezed),
}


def equations(jaxpr: Any) -> Iterator[Any]:
    """The equations of a jaxpr and of those within."""
    for equation in jaxpr.eqns:
        yield equation
        for inner in sub_jaxprs(equation):
            yield from equations(inner)


@pytest.mark.parametrize("write", [scatter, add_to_row, slice_update])
@pytest.mark.parametrize("wrapper", WRAPPERS.values(), ids=WRAPPERS)
def test_only_what_is_written_is_chosen(wrapper: Callable, write: Callable) -> None:
    x = np.arange(200.0).reshape(SHAPE)
    row = np.full(4, -1.0)
    function = wrapper(write)

    def update(failed: Any, x: Any, row: Any) -> Any:
        return unless(failed, function, (x, row), {0: x})[0]

    np.testing.assert_array_equal(update(jnp.asarray(True), x, row), x)
    np.testing.assert_array_equal(update(jnp.asarray(False), x, row), write(jnp.asarray(x), row))
    traced = jax.make_jaxpr(update)(False, x, row)
    chosen = [
        equation for equation in equations(traced.jaxpr) if equation.primitive.name == "select_n"
    ]
    assert chosen
    assert max(equation.outvars[0].aval.size for equation in chosen) <= row.size
