"""Softmax and log-softmax along one dimension.

Both keep their result for the backward pass, not their input.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp

from oneflow.primitives.axes import free_dims
from oneflow.primitives.registry import primitive

softmax = primitive(
    "softmax", lambda x, *, dim: jax.nn.softmax(x, axis=dim), axes=free_dims("dim")
)
log_softmax = primitive(
    "log_softmax", lambda x, *, dim: jax.nn.log_softmax(x, axis=dim), axes=free_dims("dim")
)


def _softmax_backward(g, out, *, dim: int):
    return out * (g - jnp.sum(g * out, axis=dim, keepdims=True))


def _log_softmax_backward(g, out, *, dim: int):
    return g - jnp.exp(out) * jnp.sum(g, axis=dim, keepdims=True)


softmax_backward = primitive("softmax_backward", _softmax_backward, axes=free_dims("dim"))
softmax.gradient(x=lambda g, out, dim: softmax_backward(g, out, dim=dim))
log_softmax_backward = primitive("log_softmax_backward", _log_softmax_backward, axes=free_dims("dim"))
log_softmax.gradient(x=lambda g, out, dim: log_softmax_backward(g, out, dim=dim))
