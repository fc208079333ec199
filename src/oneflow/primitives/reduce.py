"""Reductions. `dims` are counted from the front and sorted; `keepdim` keeps them with size 1."""

from __future__ import annotations

import jax.numpy as jnp
from jax import lax

from oneflow.base.dtype import DType
from oneflow.primitives.axes import reduced_axes
from oneflow.primitives.elementwise import _conjugate, cast, div, eq, mul, where, zeros_like
from oneflow.primitives.registry import primitive
from oneflow.primitives.shape import broadcast_to, reshape


def _kept_shape(shape: tuple[int, ...], dims: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(1 if dim in dims else size for dim, size in enumerate(shape))


def expand_reduced(g, spec, dims, keepdim):
    """Undo a reduction's change of shape: every reduced element sees its result's gradient."""
    if not keepdim and g.spec.shape != _kept_shape(spec.shape, dims):
        g = reshape(g, shape=_kept_shape(spec.shape, dims))
    return broadcast_to(g, shape=spec.shape)


def _sum(x, *, dims: tuple[int, ...], keepdim: bool = False, dtype: DType | None = None):
    out = dtype.numpy if dtype is not None else x.dtype
    return jnp.sum(x, axis=dims, keepdims=keepdim, dtype=out)


sum_ = primitive("sum", _sum, axes=reduced_axes(summed=True))
sum_.gradient(x=lambda g, x_spec, dims, keepdim: expand_reduced(g, x_spec, dims, keepdim))


def _mean(x, *, dims: tuple[int, ...], keepdim: bool = False):
    return jnp.mean(x, axis=dims, keepdims=keepdim)


def _count(spec, dims):
    count = 1
    for dim in dims:
        count *= spec.shape[dim]
    return count


mean = primitive("mean", _mean, axes=reduced_axes(summed=False))
mean.gradient(
    x=lambda g, x_spec, dims, keepdim: expand_reduced(
        div(g, _count(x_spec, dims)), x_spec, dims, keepdim
    )
)


def _sum_to(x, *, shape: tuple[int, ...]):
    extra = x.ndim - len(shape)
    dims = tuple(range(extra)) + tuple(
        extra + dim for dim, size in enumerate(shape) if size == 1 and x.shape[extra + dim] != 1
    )
    return jnp.sum(x, axis=dims, keepdims=True).reshape(shape) if dims else x.reshape(shape)


# The gradient of broadcasting.
sum_to = primitive("sum_to", _sum_to)
sum_to.gradient(x=lambda g, x_spec: broadcast_to(g, shape=x_spec.shape))


def _extreme_gradient(g, x, out, x_spec, dims, keepdim):
    """All elements equal to the extreme share its gradient."""
    hits = eq(x, expand_reduced(out, x_spec, dims, keepdim))
    share = sum_(cast(hits, dtype=x_spec.dtype), dims=dims, keepdim=True)
    spread = div(expand_reduced(g, x_spec, dims, keepdim), broadcast_to(share, shape=x_spec.shape))
    return where(hits, spread, zeros_like(spread))


amax = primitive(
    "amax",
    lambda x, *, dims, keepdim=False: jnp.max(x, axis=dims, keepdims=keepdim),
    axes=reduced_axes(summed=False),
)
amax.gradient(x=_extreme_gradient)
amin = primitive(
    "amin",
    lambda x, *, dims, keepdim=False: jnp.min(x, axis=dims, keepdims=keepdim),
    axes=reduced_axes(summed=False),
)
amin.gradient(x=_extreme_gradient)
prod = primitive(
    "prod",
    lambda x, *, dims, keepdim=False: jnp.prod(x, axis=dims, keepdims=keepdim),
    axes=reduced_axes(summed=False),
)
all_true = primitive(
    "all",
    lambda x, *, dims=None, keepdim=False: jnp.all(x != 0, axis=dims, keepdims=keepdim),
    differentiable=False,
)
any_true = primitive(
    "any",
    lambda x, *, dims=None, keepdim=False: jnp.any(x != 0, axis=dims, keepdims=keepdim),
    differentiable=False,
)


def _first_index(better):
    """Index of the first extreme along `dim`; a NaN counts as the extreme, as in PyTorch."""

    def impl(x, *, dim: int, keepdim: bool = False):
        return better(x, axis=dim, keepdims=keepdim).astype(jnp.int64)

    return impl


argmax = primitive("argmax", _first_index(jnp.argmax), differentiable=False)
argmin = primitive("argmin", _first_index(jnp.argmin), differentiable=False)


# --- one element of each slice along a dimension, and back; `index` has that dimension with size 1


def _pick_along(x, index, *, dim: int):
    return jnp.take_along_axis(x, index, axis=dim, mode="clip") if x.ndim else x


def _spread_along(values, index, *, dim: int, size: int):
    """Zeros of size `size` along `dim`, with `values` at `index`."""
    if not values.ndim:
        return values
    shape = (*values.shape[:dim], size, *values.shape[dim + 1 :])
    here = lax.broadcasted_iota(jnp.int64, shape, dim) == index
    return jnp.where(here, values, jnp.zeros((), values.dtype))


pick_along = primitive("pick_along", _pick_along)
pick_along.gradient(
    x=lambda g, index, x_spec, dim: spread_along(
        g, index, dim=dim, size=x_spec.shape[dim] if x_spec.ndim else 1
    ),
    index=None,
)
spread_along = primitive("spread_along", _spread_along)
spread_along.gradient(values=lambda g, index, dim: pick_along(g, index, dim=dim), index=None)


def spread_picked(g, out, x_spec, dim, keepdim):
    """Gradient of a reduction whose outputs are ``(values, indices)`` of picked elements."""
    values, index = g[0], out[1]
    if not keepdim and x_spec.ndim:
        shape = _kept_shape(x_spec.shape, (dim,))
        values, index = reshape(values, shape=shape), reshape(index, shape=shape)
    return spread_along(values, index, dim=dim, size=x_spec.shape[dim] if x_spec.ndim else 1)


def _best_along(best, best_index):
    """Best element and its first index along `dim`; a NaN counts as best."""

    def impl(x, *, dim: int, keepdim: bool = False):
        if not x.ndim:
            return x, jnp.zeros((), jnp.int64)
        index = best_index(x, axis=dim, keepdims=keepdim).astype(jnp.int64)
        return best(x, axis=dim, keepdims=keepdim), index

    return impl


max_along = primitive("max_along", _best_along(jnp.max, jnp.argmax))
max_along.gradient(x=spread_picked)
min_along = primitive("min_along", _best_along(jnp.min, jnp.argmin))
min_along.gradient(x=spread_picked)


def _logsumexp(x, *, dims: tuple[int, ...], keepdim: bool = False):
    top = lax.stop_gradient(jnp.max(x, axis=dims, keepdims=True, initial=-jnp.inf))
    top = jnp.where(jnp.isfinite(top), top, jnp.zeros_like(top))
    result = jnp.log(jnp.sum(jnp.exp(x - top), axis=dims, keepdims=True)) + top
    return (
        result if keepdim else result.reshape([s for d, s in enumerate(x.shape) if d not in dims])
    )


logsumexp = primitive("logsumexp", _logsumexp, axes=reduced_axes(summed=False))


def _logsumexp_gradient(g, x, out, x_spec, dims, keepdim):
    weights = exp_difference(x, expand_reduced(out, x_spec, dims, keepdim))
    return mul(expand_reduced(g, x_spec, dims, keepdim), _conjugate(weights))


logsumexp.gradient(x=_logsumexp_gradient)


exp_difference = primitive("exp_difference", lambda x, y: jnp.exp(x - y), elementwise=True)
exp_difference.gradient(x=lambda g, out: mul(g, out), y=lambda g, out: mul(mul(g, out), -1.0))
