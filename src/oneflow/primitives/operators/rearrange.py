"""Moving and masking elements by position: cyclic shifts and triangles."""

from __future__ import annotations

import jax.numpy as jnp

from oneflow.primitives.registry import primitive
from oneflow.primitives.shard_index import ShardIndex, global_index
from oneflow.primitives.sharding.axes import elementwise_axes, free_dims
from oneflow.primitives.traits import Positional


def _roll(x, *shifts, dims: tuple[int, ...]):
    return jnp.roll(x, shifts, dims)


roll = primitive("roll", _roll, scalar="int64", axes=free_dims("dims"), linear=("x",))
roll.gradient(
    lambda g, shifts, dims: [
        roll(g, *[-shift for shift in shifts], dims=dims),
        *[None] * len(shifts),
    ]
)


def _below(x, diagonal, shard: ShardIndex | None):
    """A mask over the last two dimensions: the column is at most the row plus `diagonal`."""
    if shard is not None:
        shard = ShardIndex(shard.global_shape[-2:], shard.offsets[-2:])
    rows, columns = (global_index(dim, x.shape[-2:], shard, jnp.int64) for dim in (0, 1))
    return columns - rows <= diagonal


def _tril(x, diagonal, *, shard: ShardIndex | None = None):
    return jnp.where(_below(x, diagonal, shard), x, jnp.zeros((), x.dtype))


def _triu(x, diagonal, *, shard: ShardIndex | None = None):
    return jnp.where(_below(x, diagonal - 1, shard), jnp.zeros((), x.dtype), x)


_TRIANGLE = {
    "scalar": "int64",
    "axes": elementwise_axes,
    "positional": Positional(),
    "linear": ("x",),
}
tril = primitive("tril", _tril, **_TRIANGLE)
triu = primitive("triu", _triu, **_TRIANGLE)
tril.gradient(x=lambda g, diagonal: tril(g, diagonal), diagonal=None)
triu.gradient(x=lambda g, diagonal: triu(g, diagonal), diagonal=None)
