"""Primitives that steer the compiler and leave values alone."""

from __future__ import annotations

from jax import lax

from oneflow.primitives.registry import primitive


def _barrier(*xs):
    return tuple(lax.optimization_barrier(xs))


# Nothing behind it starts before all operands are there, and nothing is shared across it: what is
# computed again from its results is really computed again.
barrier = primitive("barrier", _barrier)
barrier.gradient(
    lambda g, wanted: [each if want else None for each, want in zip(g, wanted, strict=True)]
)
