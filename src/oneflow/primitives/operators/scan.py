"""Cumulative operations along one dimension."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import jax
import jax.numpy as jnp
from jax import lax

from oneflow.primitives.operators.lax_functions import index_dtype
from oneflow.primitives.operators.running import (
    running_argmax,
    running_argmin,
    running_logaddexp,
    running_product,
    running_sum,
)
from oneflow.primitives.operators.special import complex_logaddexp
from oneflow.primitives.registry import Primitive, primitive
from oneflow.primitives.sharding.axes import free_dims
from oneflow.primitives.traits import Precision

_free = free_dims("dim")


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


def _canonical_logarithms(x):
    """Complex logarithms where that of 0 has phase 0, and NaN a phase that is NaN."""
    without_phase = jnp.where(jnp.real(x) == -jnp.inf, jnp.asarray(-jnp.inf, x.dtype), x)
    return jnp.where(jnp.isnan(x), jnp.asarray(complex(jnp.nan, jnp.nan), x.dtype), without_phase)


def _logcumsumexp(x, *, dim: int):
    if not x.ndim:
        return x
    if jnp.iscomplexobj(x):
        return lax.associative_scan(complex_logaddexp, _canonical_logarithms(x), axis=dim)
    return _running_logsumexp(x, dim)


@partial(jax.custom_jvp, nondiff_argnums=(1,))
def _running_logsumexp(x, dim: int):
    return lax.cumlogsumexp(x, axis=dim)


@_running_logsumexp.defjvp
def _running_logsumexp_jvp(dim: int, primals, tangents):
    """Slopes of infinite sums: NaN for infinite summands, and 0 for others.

    JAX's own rule gives them numbers.
    """
    (x,), (t,) = primals, tangents
    is_infinite = x == jnp.inf
    finite, t_finite = (jnp.where(is_infinite, 0, array) for array in (x, t))
    _, slope = jax.jvp(partial(lax.cumlogsumexp, axis=dim), (finite,), (t_finite,))
    slope_of_infinite = lax.cumsum(t * jnp.where(is_infinite, jnp.nan, 0).astype(t.dtype), axis=dim)
    total = _running_logsumexp(x, dim)
    return total, jnp.where(total == jnp.inf, slope_of_infinite, slope)


logcumsumexp = primitive(
    "logcumsumexp", _logcumsumexp, axes=_free, precision=Precision.FULL_OFF_CPU
)


@logcumsumexp.lowering("cpu")
def _logcumsumexp_on_cpu(x, *, dim: int):
    if jnp.iscomplexobj(x):
        return _logcumsumexp(x, dim=dim)
    return running_logaddexp(x, dim)


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
        values = jnp.take_along_axis(x, index, axis=dim, mode="promise_in_bounds")
        return values, index.astype(jnp.int64)

    op = primitive(name, partial(impl, positions), axes=_free, real_only=True)
    op.lowering("cpu", differentiate=True)(partial(impl, running_position))
    return op


cummax = _cumulative_extreme("cummax", lambda b, a: (b > a) & ~jnp.isnan(a), running_argmax)
cummin = _cumulative_extreme("cummin", lambda b, a: (b < a) & ~jnp.isnan(a), running_argmin)
