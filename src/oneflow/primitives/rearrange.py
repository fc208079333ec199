"""Moving and masking elements by position: cyclic shifts and triangles."""

from __future__ import annotations

import jax.numpy as jnp
from jax import lax

from oneflow.primitives.axes import free_dims, leading_axes
from oneflow.primitives.registry import primitive


def _roll(x, *shifts, dims: tuple[int, ...]):
    return jnp.roll(x, shifts, dims)


roll = primitive("roll", _roll, scalar="int64", axes=free_dims("dims"), linear=("x",))
roll.gradient(
    lambda g, shifts, dims: [
        roll(g, *[-shift for shift in shifts], dims=dims),
        *[None] * len(shifts),
    ]
)


def _below(x, diagonal):
    """Where the column is at most the row plus `diagonal`, for the last two dimensions."""
    rows = lax.broadcasted_iota(jnp.int64, x.shape[-2:], 0)
    columns = lax.broadcasted_iota(jnp.int64, x.shape[-2:], 1)
    return columns - rows <= diagonal


def _tril(x, diagonal):
    return jnp.where(_below(x, diagonal), x, jnp.zeros((), x.dtype))


def _triu(x, diagonal):
    return jnp.where(_below(x, diagonal - 1), jnp.zeros((), x.dtype), x)


tril = primitive("tril", _tril, scalar="int64", axes=leading_axes(2), linear=("x",))
triu = primitive("triu", _triu, scalar="int64", axes=leading_axes(2), linear=("x",))
tril.gradient(x=lambda g, diagonal: tril(g, diagonal), diagonal=None)
triu.gradient(x=lambda g, diagonal: triu(g, diagonal), diagonal=None)
