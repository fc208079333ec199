"""Softmax and log-softmax along one dimension.

Both keep their result for the backward pass, not their input.
"""

from __future__ import annotations

import jax.numpy as jnp
from jax import lax

from oneflow.primitives.operators.lax_functions import as_type, keepdim_max, keepdim_sum, wide
from oneflow.primitives.registry import primitive
from oneflow.primitives.shard_index import ShardIndex, global_index
from oneflow.primitives.sharding.axes import elementwise_axes, free_dims
from oneflow.primitives.traits import Positional, Precision


def _shifted(x, dim: int):
    x = wide(x)
    return lax.sub(x, keepdim_max(x, dim))


def _softmax(x, *, dim: int):
    powers = lax.exp(_shifted(x, dim))
    return as_type(lax.div(powers, keepdim_sum(powers, (dim,))), x.dtype)


def _log_softmax(x, *, dim: int):
    shifted = _shifted(x, dim)
    total = keepdim_sum(lax.exp(shifted), (dim,))
    return as_type(lax.sub(shifted, lax.log(total)), x.dtype)


softmax = primitive("softmax", _softmax, axes=free_dims("dim"), precision=Precision.FULL_OFF_CPU)
log_softmax = primitive(
    "log_softmax", _log_softmax, axes=free_dims("dim"), precision=Precision.FULL_OFF_CPU
)


def _softmax_backward(g, out, *, dim: int):
    weights, grad = wide(out), wide(g)
    total = keepdim_sum(lax.mul(grad, weights), (dim,))
    return as_type(lax.mul(weights, lax.sub(grad, total)), out.dtype)


def _log_softmax_backward(g, out, *, dim: int):
    grad = wide(g)
    share = lax.mul(lax.exp(wide(out)), keepdim_sum(grad, (dim,)))
    return as_type(lax.sub(grad, share), out.dtype)


softmax_backward = primitive(
    "softmax_backward", _softmax_backward, axes=free_dims("dim"), linear=("g",)
)
# Programs drop out parts of attention weights in place, which OneFlow allows.
softmax.gradient(x=lambda g, out, dim: softmax_backward(g, out, dim=dim), writable="out")
log_softmax_backward = primitive(
    "log_softmax_backward", _log_softmax_backward, axes=free_dims("dim"), linear=("g",)
)
log_softmax.gradient(x=lambda g, out, dim: log_softmax_backward(g, out, dim=dim), writable="out")

# Every element's index along `dim`.


def _positions(x, *, dim: int, shard: ShardIndex | None = None):
    return global_index(dim, x.shape, shard, jnp.int64)


positions = primitive(
    "positions", _positions, axes=elementwise_axes, positional=Positional(), differentiable=False
)
