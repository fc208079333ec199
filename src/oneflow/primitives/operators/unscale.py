"""`unscale`: all gradients of a scaled loss, divided by the scale, and whether some are not finite.

Recording one instruction for each gradient, and more for the check, costs time on the host.
"""

from __future__ import annotations

import functools
from typing import Any

import jax.numpy as jnp

from oneflow.base.dtype import float32
from oneflow.primitives.operators.elementwise import cast, div, isfinite, logical_not, logical_or
from oneflow.primitives.operators.reduce import all_true
from oneflow.primitives.registry import primitive
from oneflow.primitives.traits import Decomposition


def _unscale(scale: Any, *gradients: Any) -> tuple:
    """Half precision is divided in float32: the scale may be too large for it."""
    unscaled = []
    for gradient in gradients:
        dtype = jnp.promote_types(gradient.dtype, jnp.float32)
        unscaled.append((gradient.astype(dtype) / scale.astype(dtype)).astype(gradient.dtype))
    finite = functools.reduce(jnp.logical_and, [jnp.isfinite(array).all() for array in unscaled])
    return (jnp.logical_not(finite), *unscaled)


def _unscale_of_parts(scale: Any, *gradients: Any) -> tuple:
    unscaled, bad = [], []
    for gradient in gradients:
        dtype = gradient.spec.dtype
        wide = float32 if dtype.is_floating_point and dtype.itemsize < 4 else dtype
        quotient = cast(div(cast(gradient, dtype=wide), cast(scale, dtype=wide)), dtype=dtype)
        dims = tuple(range(gradient.spec.ndim))
        bad.append(logical_not(all_true(isfinite(quotient), dims=dims)))
        unscaled.append(quotient)
    return (functools.reduce(logical_or, bad), *unscaled)


unscale = primitive(
    "unscale",
    _unscale,
    differentiable=False,
    decomposition=Decomposition(_unscale_of_parts),
)
