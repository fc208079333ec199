"""Norms over several arrays at once, and limiting arrays by them."""

from __future__ import annotations

import math
from typing import Any

import jax.numpy as jnp

from oneflow.primitives.registry import primitive


def _total_norm(*arrays: Any, order: float) -> Any:
    """The norm of all arrays as one vector; half precision adds up in float32."""
    flat = [_magnitudes(array) for array in arrays]
    if math.isinf(order):
        pick = jnp.max if order > 0 else jnp.min
        return pick(jnp.stack([pick(each) for each in flat if each.size]))
    if order == 0:
        # As PyTorch counts: how many arrays are not zero everywhere.
        return sum(jnp.any(each != 0).astype(each.dtype) for each in flat)
    if order == 2:
        return jnp.sqrt(sum(jnp.sum(each * each) for each in flat))
    return sum(jnp.sum(each**order) for each in flat) ** (1 / order)


def _magnitudes(array: Any) -> Any:
    sizes = jnp.abs(array).ravel()
    return sizes.astype(jnp.promote_types(sizes.dtype, jnp.float32))


def _clip_norm(limit: Any, *arrays: Any, order: float) -> tuple:
    norm = _total_norm(*arrays, order=order)
    scale = jnp.minimum(limit / (norm + 1e-6), 1.0).astype(norm.dtype)
    return (norm, *[(array * scale).astype(array.dtype) for array in arrays])


total_norm = primitive("total_norm", _total_norm, differentiable=False)
clip_norm = primitive("clip_norm", _clip_norm, scalar="float64", differentiable=False)
clip_value = primitive(
    "clip_value",
    lambda x, limit: jnp.clip(x, -limit, limit),
    elementwise=True,
    differentiable=False,
)
