"""Norms over several arrays at once, and limiting arrays by them."""

from __future__ import annotations

import math
from typing import Any

import jax.numpy as jnp

from oneflow.base.dtype import DType, float32, float64, real_dtype
from oneflow.primitives.operators.elementwise import (
    abs_,
    add,
    cast,
    clamp_max,
    div,
    mul,
    sqrt,
    square,
)
from oneflow.primitives.operators.power import pow_
from oneflow.primitives.operators.reduce import any_true, sum_
from oneflow.primitives.registry import primitive
from oneflow.primitives.traits import Decomposition


def _total_norm(*arrays: Any, order: float) -> Any:
    """The norm of all arrays as one vector; half precision adds up in float32."""
    flat = [_abs_values(array) for array in arrays]
    if math.isinf(order):
        pick = jnp.max if order > 0 else jnp.min
        return pick(jnp.stack([pick(array) for array in flat if array.size]))
    if order == 0:
        # The count of PyTorch: how many arrays are not zero everywhere.
        return sum(jnp.any(array != 0).astype(array.dtype) for array in flat)
    if order == 2:
        return jnp.sqrt(sum(jnp.sum(array * array) for array in flat))
    return sum(jnp.sum(array**order) for array in flat) ** (1 / order)


def _abs_values(array: Any) -> Any:
    sizes = jnp.abs(array).ravel()
    return sizes.astype(jnp.promote_types(sizes.dtype, jnp.float32))


def _clip_norm(limit: Any, *arrays: Any, order: float) -> tuple:
    norm = _total_norm(*arrays, order=order)
    scale = jnp.minimum(limit / (norm + 1e-6), 1.0).astype(norm.dtype)
    return (norm, *[(array * scale).astype(array.dtype) for array in arrays])


def _is_of_sums(attributes: Any) -> bool:
    return not math.isinf(attributes["order"])


def _total_norm_of_sums(*arrays: Any, order: float) -> Any:
    double = any(real_dtype(array.spec.dtype) is float64 for array in arrays)
    total = None
    for array in arrays:
        share = _power_sum(array, order, float64 if double else float32)
        total = share if total is None else add(total, share)
    if order == 0:
        return total
    return sqrt(total) if order == 2 else pow_(total, 1 / order)


def _power_sum(array: Any, order: float, dtype: DType) -> Any:
    """The sum over elements of their sizes to the power of `order`."""
    dims = tuple(range(array.spec.ndim))
    if order == 0:
        return cast(any_true(array, dims=dims), dtype=dtype)
    sizes = cast(abs_(array), dtype=dtype)
    return sum_(square(sizes) if order == 2 else pow_(sizes, order), dims=dims)


def _clip_norm_of_sums(limit: Any, *arrays: Any, order: float) -> tuple:
    norm = total_norm(*arrays, order=order)
    scale = clamp_max(div(limit, add(norm, 1e-6)), 1.0)
    return (norm, *[_scaled(array, scale) for array in arrays])


def _scaled(array: Any, scale: Any) -> Any:
    dtype, wide = array.spec.dtype, scale.spec.dtype
    if dtype is wide:
        return mul(array, scale)
    if dtype.is_complex:
        return mul(array, cast(scale, dtype=dtype))
    return cast(mul(cast(array, dtype=wide), scale), dtype=dtype)


total_norm = primitive(
    "total_norm",
    _total_norm,
    differentiable=False,
    decomposition=Decomposition(_total_norm_of_sums, _is_of_sums),
)
clip_norm = primitive(
    "clip_norm",
    _clip_norm,
    scalar="float64",
    differentiable=False,
    decomposition=Decomposition(_clip_norm_of_sums, _is_of_sums),
)
clip_value = primitive(
    "clip_value",
    lambda x, limit: jnp.clip(x, -limit, limit),
    elementwise=True,
    differentiable=False,
)
