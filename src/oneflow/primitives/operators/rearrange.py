"""Moving and masking elements by position: cyclic shifts and triangles."""

from __future__ import annotations

import jax.numpy as jnp

from oneflow.primitives.operators.lax_functions import index_dtype
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


@roll.lowering("cpu")
def _roll_on_cpu(x, *shifts, dims: tuple[int, ...]):
    """One pass that reads the elements where they come from: 1.6 ms for a window of Swin.

    XLA joins two copies for each dimension, which takes 8 ms. Single elements that are moved within
    rows, or within flat memory, are better off that way.
    """
    if not x.size or not dims or set(dims) == {x.ndim - 1}:
        return _roll(x, *shifts, dims=dims)
    first, last = min(dims), max(dims)
    sizes = x.shape[first : last + 1]
    dtype = index_dtype(*sizes)
    sources = jnp.zeros((), dtype)
    for dim, size in enumerate(sizes, first):
        shift = sum(by for by, which in zip(shifts, dims, strict=True) if which == dim)
        source = (jnp.arange(size) - shift) % size
        sources = sources[..., None] * size + source.astype(dtype)
    flat = x.reshape(*x.shape[:first], -1, *x.shape[last + 1 :])
    return jnp.take(flat, sources.reshape(-1), axis=first, mode="clip").reshape(x.shape)


def _below(x, diagonal, shard: ShardIndex | None):
    """A mask over the last two dimensions: the column is at most the row plus `diagonal`."""
    if shard is not None:
        shard = ShardIndex(shard.global_shape[-2:], shard.offsets[-2:])
    sizes = x.shape[-2:] if shard is None else shard.global_shape
    dtype = index_dtype(sum(sizes))
    rows, columns = (global_index(dim, x.shape[-2:], shard, dtype) for dim in (0, 1))
    return columns - rows <= jnp.clip(diagonal, -sizes[0], sizes[1]).astype(dtype)


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
