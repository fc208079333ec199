"""`materialize`: the same values, computed once and stored.

XLA:CPU fuses a value that several operations read into each of them, so that each computes it anew,
with all that it was computed from. That is a waste if one reader needs it in memory anyway (a
convolution, a matrix product): the others may as well read it. `optimization_barrier` orders values
instead, and `row_major` says how an array lies in memory.
"""

from __future__ import annotations

import jax
from jax import lax
from jax.experimental.layout import Layout, with_layout_constraint
from jax.experimental.xla_metadata import set_xla_metadata

from oneflow.primitives.operation import Operation
from oneflow.primitives.registry import primitive
from oneflow.primitives.sharding.axes import Axes, independent_names
from oneflow.primitives.traits import Kind

materialize = primitive("materialize", lambda x: x, elementwise=True, linear=("x",))
materialize.gradient(x=lambda g: g)


@jax.jit
def _call(*xs):
    return xs


def _separate_call(*xs):
    # Nothing fuses across the boundary of a call. One that returns its arguments copies nothing.
    with set_xla_metadata(inlineable="false"):
        return _call(*xs)


@materialize.lowering("cpu")
def materialize_array(x):
    """`x` computed once and stored, in the lowering of another primitive for the CPU."""
    return _separate_call(x)[0]


def row_major(x):
    """`x` with its last dimension densest in memory, as programs take and return arrays."""
    return with_layout_constraint(x, Layout(tuple(range(x.ndim)))) if x.ndim > 1 else x


def _barrier_axes(operation: Operation) -> Axes:
    names = independent_names(operation.in_specs)
    return Axes(names, names, sums=False)


# The same values; nothing that reads one of them runs before all of them are computed. Each lies as
# it did, whatever the others do.
optimization_barrier = primitive(
    "optimization_barrier",
    lambda *xs: lax.optimization_barrier(xs),
    differentiable=False,
    axes=_barrier_axes,
    linear=("*xs",),
    kind=Kind.ORDERING,
)
optimization_barrier.lowering("cpu")(_separate_call)
