"""Primitives that steer the compiler and leave values alone."""

from __future__ import annotations

import jax.numpy as jnp
from jax import lax

from oneflow.primitives.operation import Operation
from oneflow.primitives.registry import primitive
from oneflow.primitives.sharding.axes import Axes, independent_names
from oneflow.primitives.traits import Kind


def _barrier_axes(operation: Operation) -> Axes:
    names = independent_names(operation.in_specs[1:])
    return Axes(((), *names), names, sums=False)


# Nothing computed from the results starts before all operands are there, and none of it is shared
# with the same computation elsewhere: it is really done again. `keep` is a number that is not 0.
barrier = primitive(
    "barrier",
    lambda keep, *xs: tuple(lax.optimization_barrier(xs)),
    axes=_barrier_axes,
    scalar={"keep": "int64"},
    kind=Kind.BARRIER,
    linear=("*xs",),
)
barrier.gradient(
    lambda g, needs_input_grad: [
        None,
        *[grad if want else None for grad, want in zip(g, needs_input_grad[1:], strict=True)],
    ]
)


@barrier.lowering("cpu")
def _barrier_on_cpu(keep, *xs):
    """XLA:CPU drops its own barriers early; a choice that depends on an input it must keep."""
    parts = [x.reshape(-1)[0].real.astype(jnp.float32) for x in xs if x.size]
    tie = sum(parts[1:], parts[0]) if parts else jnp.zeros((), jnp.float32)
    return tuple(jnp.where(keep != 0, x, tie.astype(x.dtype)) for x in xs)
