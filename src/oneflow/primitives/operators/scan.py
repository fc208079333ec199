"""Cumulative operations along one dimension."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import jax.numpy as jnp
from jax import lax

from oneflow.primitives.operators import loops
from oneflow.primitives.operators.lax_functions import index_dtype
from oneflow.primitives.operators.running import (
    running_argmax,
    running_argmin,
    running_product,
    running_sum,
)
from oneflow.primitives.operators.special import complex_logaddexp
from oneflow.primitives.registry import Primitive, primitive
from oneflow.primitives.sharding.axes import free_dims
from oneflow.primitives.traits import Precision

_free = free_dims("dim")
# Elements that are added up one after the other, and sums that grow side by side: a program that is
# new takes each step in Python, and a step of few sums is slower than the tree.
_MAX_STEPS, _MIN_SUMS = 1024, 64


def _cumsum(x, *, dim: int, reverse: bool = False):
    return lax.cumsum(x, axis=dim, reverse=reverse) if x.ndim else x


cumsum = primitive("cumsum", _cumsum, axes=_free, linear=("x",), precision=Precision.FULL_OFF_CPU)
cumsum.gradient(x=lambda g, dim, reverse: cumsum(g, dim=dim, reverse=not reverse))


@cumsum.lowering("cpu")
def _cumsum_on_cpu(x, *, dim: int, reverse: bool = False):
    return running_sum(x, dim, reverse=reverse)


cumprod = primitive(
    "cumprod",
    lambda x, *, dim: lax.cumprod(x, axis=dim) if x.ndim else x,
    axes=_free,
    precision=Precision.FULL_OFF_CPU,
)


@cumprod.lowering("cpu")
def _cumprod_on_cpu(x, *, dim: int):
    return running_product(x, dim)


def _logcumsumexp(x, *, dim: int):
    if not x.ndim:
        return x
    if jnp.iscomplexobj(x):
        return lax.associative_scan(complex_logaddexp, x, axis=dim)
    return lax.cumlogsumexp(x, axis=dim)


logcumsumexp = primitive(
    "logcumsumexp", _logcumsumexp, axes=_free, precision=Precision.FULL_OFF_CPU
)


@logcumsumexp.lowering("cpu")
def _logcumsumexp_on_cpu(x, *, dim: int):
    """One element after the other: 1.4 ms for 512 x 512 numbers, 86 as a tree of partial sums."""
    steps = x.shape[dim] if x.ndim else 0
    if jnp.iscomplexobj(x) or not 0 < steps <= min(_MAX_STEPS, x.size // _MIN_SUMS):
        return _logcumsumexp(x, dim=dim)

    def add(total, element):
        total = jnp.logaddexp(total, element)
        return total, total

    wide = jnp.moveaxis(x, dim, 0).astype(jnp.promote_types(x.dtype, jnp.float32))
    _, rest = loops.scan(add, wide[0], wide[1:])
    totals = jnp.concatenate([wide[:1], rest])
    return jnp.moveaxis(totals, 0, dim).astype(x.dtype)


def _cumulative_extreme(name: str, better: Callable, running_position: Callable) -> Primitive:
    """The extreme so far and its index: the last of equal ones; a NaN beats all numbers."""

    def combine(left, right):
        (a, i), (b, j) = left, right
        later = better(b, a) | (b == a) | jnp.isnan(b)
        return jnp.where(later, b, a), jnp.where(later, j, i)

    def positions(x, dim: int):
        position = lax.broadcasted_iota(index_dtype(x.shape[dim]), x.shape, dim)
        return lax.associative_scan(combine, (x, position), axis=dim)[1]

    def impl(find: Callable, x, *, dim: int):
        if not x.ndim:
            return x, jnp.zeros((), jnp.int64)
        if not x.size:
            return x, jnp.zeros(x.shape, jnp.int64)
        index = find(lax.stop_gradient(x), dim)
        return jnp.take_along_axis(x, index, axis=dim), index.astype(jnp.int64)

    op = primitive(name, partial(impl, positions), axes=_free, real_only=True)
    op.lowering("cpu")(partial(impl, running_position))
    return op


cummax = _cumulative_extreme("cummax", lambda b, a: (b > a) & ~jnp.isnan(a), running_argmax)
cummin = _cumulative_extreme("cummin", lambda b, a: (b < a) & ~jnp.isnan(a), running_argmin)
