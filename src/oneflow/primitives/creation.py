"""Primitives that make tensors from nothing."""

from __future__ import annotations

import jax.numpy as jnp
from jax import lax

from oneflow.base.dtype import DType
from oneflow.primitives.registry import primitive


def _zeros(*, shape: tuple[int, ...], dtype: DType):
    return jnp.zeros(shape, dtype.numpy)


def _ones(*, shape: tuple[int, ...], dtype: DType):
    return jnp.ones(shape, dtype.numpy)


def _full(value, *, shape: tuple[int, ...], dtype: DType):
    return jnp.broadcast_to(value, shape).astype(dtype.numpy)


def _iota(*, shape: tuple[int, ...], dim: int, dtype: DType):
    return lax.broadcasted_iota(dtype.numpy, shape, dim)


zeros = primitive("zeros", _zeros, differentiable=False)
ones = primitive("ones", _ones, differentiable=False)
# The number is a run-time input: a new value compiles nothing.
full_integer = primitive("full_integer", _full, differentiable=False, scalar="int64")
full_float = primitive("full_float", _full, differentiable=False, scalar="float64")
iota = primitive("iota", _iota, differentiable=False)
