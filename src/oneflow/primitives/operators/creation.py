"""Primitives that make tensors from nothing."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np

from oneflow.base.dtype import Category, DType
from oneflow.primitives.operation import Operation
from oneflow.primitives.operators.lax_functions import index_dtype
from oneflow.primitives.operators.rounding import quotient
from oneflow.primitives.registry import primitive
from oneflow.primitives.shard_index import ShardIndex, global_index
from oneflow.primitives.sharding.axes import Axes, AxisRule, creation_axes, elementwise_axes
from oneflow.primitives.traits import Positional


def _zeros(*, shape: tuple[int, ...], dtype: DType):
    return jnp.zeros(shape, dtype.numpy)


def _ones(*, shape: tuple[int, ...], dtype: DType):
    return jnp.ones(shape, dtype.numpy)


def _full(value, *, shape: tuple[int, ...], dtype: DType):
    return jnp.broadcast_to(value.astype(dtype.numpy), shape)


zeros = primitive("zeros", _zeros, axes=creation_axes, differentiable=False)
ones = primitive("ones", _ones, axes=creation_axes, differentiable=False)
# The number is a run-time input: a new value compiles nothing.
full_integer = primitive(
    "full_integer", _full, axes=creation_axes, differentiable=False, scalar="int64"
)
full_float = primitive(
    "full_float", _full, axes=creation_axes, differentiable=False, scalar="float64"
)


def _line_axes(size: str) -> AxisRule:
    """One dimension, whose size is an attribute of that name, may be made in parts."""

    def rule(operation: Operation) -> Axes:
        return Axes(tuple(() for _ in operation.in_specs), (("d0",),), {size: "d0"})

    return rule


def _range(start, step, *, size: int, dtype: DType, shard: ShardIndex | None = None):
    index = global_index(0, (size,), shard, start.dtype)
    return (start + step * index).astype(dtype.numpy)


range_integer = primitive(
    "range_integer",
    _range,
    axes=_line_axes("size"),
    positional=Positional(),
    differentiable=False,
    scalar="int64",
)
range_float = primitive(
    "range_float",
    _range,
    axes=_line_axes("size"),
    positional=Positional(),
    differentiable=False,
    scalar="float64",
)


def _linspace(start, end, *, steps: int, dtype: DType, shard: ShardIndex | None = None):
    index = global_index(0, (steps,), shard, jnp.int64)
    steps = steps if shard is None else shard.global_shape[0]
    # Elements are counted from both ends, so that both are hit exactly.
    step = quotient(end - start, max(steps - 1, 1))
    numbers = jnp.where(
        index < max(steps // 2, 1), start + step * index, end - step * (steps - 1 - index)
    )
    if dtype.category is Category.INTEGER and dtype.numpy != np.uint64:
        numbers = numbers.astype(jnp.int64)  # negative ones wrap around in unsigned types
    return numbers.astype(dtype.numpy)


linspace = primitive(
    "linspace",
    _linspace,
    axes=_line_axes("steps"),
    positional=Positional(),
    differentiable=False,
    scalar="float64",
)
powers_of = primitive(
    "powers_of",
    lambda x, base, *, dtype: jnp.power(base, x).astype(dtype.numpy),
    axes=elementwise_axes,
    differentiable=False,
)


def _eye(*, shape: tuple[int, int], dtype: DType, shard: ShardIndex | None = None):
    sizes = shape if shard is None else shard.global_shape
    counter = index_dtype(max(sizes))
    rows, columns = (global_index(dim, shape, shard, counter) for dim in (0, 1))
    return (rows == columns).astype(dtype.numpy)


eye = primitive("eye", _eye, axes=creation_axes, positional=Positional(), differentiable=False)
