"""Normalisation: every kind is `moments` over some dimensions followed by `normalize`.

batch_norm reduces over all but the channels, layer_norm over the last dimensions, group_norm over
parts of the channels. Statistics keep their dimensions with size 1; weight and bias broadcast
against the input. Types narrower than float32 are computed in float32.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import lax

from oneflow.base.dtype import DType, float32
from oneflow.primitives.axes import broadcast_free_dims
from oneflow.primitives.channels_last import ChannelsLast, moved_dims
from oneflow.primitives.elementwise import add, cast, mul, sub
from oneflow.primitives.materialize import READS_MEMORY
from oneflow.primitives.registry import primitive


def _wide(x):
    """`x` in the type that it is computed in."""
    return x.astype(jnp.float32) if x.dtype in (jnp.float16, jnp.bfloat16) else x


def _same_rank(operation) -> ChannelsLast | None:
    """Everything that is not a number has the rank of the activations and moves with them."""
    ndim = operation.in_specs[0].ndim
    moves = tuple(spec.ndim == ndim for spec in operation.in_specs)
    if any(not move and spec.ndim for move, spec in zip(moves, operation.in_specs, strict=True)):
        return None
    dims = moved_dims(operation.attributes["dims"], ndim)
    results = tuple(spec.ndim == ndim for spec in operation.out_specs)
    return ChannelsLast(moves, results, {**operation.attributes, "dims": dims})


_FOLLOWS = {"channels_last": _same_rank}
_FUSES = {**_FOLLOWS, "fuses": True}

# --- mean and variance


def _moments(x, *, dims: tuple[int, ...]):
    """Mean and biased variance over `dims`."""
    x = _wide(x)
    mean = jnp.mean(x, axis=dims, keepdims=True)
    # Not x - mean: that is what the backward pass computes, and XLA would keep it all that time.
    return mean, jnp.mean(lax.square(mean - x), axis=dims, keepdims=True)


moments = primitive(
    "moments", _moments, axes=broadcast_free_dims("dims"), facts=_FOLLOWS | READS_MEMORY
)


def _count(spec, dims) -> int:
    count = 1
    for dim in dims:
        count *= spec.shape[dim]
    return count


def _moments_gradient(g, x, out, x_spec, dims):
    # d mean / dx = 1 / n,  d variance / dx = 2 (x - mean) / n
    share, mean = 1.0 / max(_count(x_spec, dims), 1), out[0]
    x = x if x_spec.dtype is mean.spec.dtype else cast(x, dtype=float32)
    return add(mul(sub(x, mean), mul(g[1], 2.0 * share)), mul(g[0], share))


moments.gradient(x=_moments_gradient)

# --- normalising with given moments, then weight and bias


def _normalize(x, mean, variance, weight, bias, eps, *, dims: tuple[int, ...]):
    """Normalised `x`, given its own moments over `dims`: the gradient in `x` includes theirs."""
    return _normalize_fixed(x, mean, variance, weight, bias, eps)


def _sum_to(x, shape: tuple[int, ...]):
    """`x` summed over the dimensions that `shape` broadcasts along."""
    extra = x.ndim - len(shape)
    wide = (1,) * extra + tuple(shape)
    dims = tuple(d for d, size in enumerate(wide) if size == 1 and x.shape[d] != 1)
    return jnp.sum(x, axis=dims, keepdims=True).reshape(shape)


def _normalize_gradient(dy, x, mean, variance, weight, eps, *, dims: tuple[int, ...]):
    """Gradients in x, weight and bias.

    With g = dy, h = (x - mean) / sqrt(variance + eps) and M the mean over `dims`,
    dx = (w g - M(w g) - h M(w g h)) / sqrt(variance + eps).
    Where the weight does not vary along a reduced dimension, sums over it are shared with the
    weight's gradient.
    """
    dtype, g, x = x.dtype, _wide(dy), _wide(x)
    shape = (1,) * (x.ndim - jnp.ndim(weight)) + tuple(jnp.shape(weight))
    wide = jnp.reshape(weight, shape)
    invstd = lax.rsqrt(variance + eps)
    shared = tuple(dim for dim in dims if shape[dim] == 1)
    centred = x - mean
    g_sum = jnp.sum(g, axis=shared, keepdims=True) if shared else g
    gh_sum = (jnp.sum(g * centred, axis=shared, keepdims=True) if shared else g * centred) * invstd
    count = _count(x, dims)
    g_mean = jnp.sum(wide * g_sum, axis=dims, keepdims=True) / count
    gh_mean = jnp.sum(wide * gh_sum, axis=dims, keepdims=True) / count
    dx = (wide * g - g_mean - centred * (gh_mean * invstd)) * invstd
    return (
        dx.astype(dtype),
        _sum_to(gh_sum, jnp.shape(weight)),
        _sum_to(g_sum, jnp.shape(weight)),
    )


normalize = primitive(
    "normalize",
    _normalize,
    axes=broadcast_free_dims("dims"),
    facts=_FUSES,
    linear=("weight bias", "x mean bias"),
)
normalize_gradient = primitive(
    "normalize_gradient",
    _normalize_gradient,
    axes=broadcast_free_dims("dims"),
    facts=_FUSES | READS_MEMORY,
    linear=("dy",),
)


def _normalize_rule(g, x, mean, variance, weight, eps, dims, wanted):
    dx, dweight, dbias = normalize_gradient(g, x, mean, variance, weight, eps, dims=dims)
    return [
        dx if wanted[0] else None,
        None,
        None,
        dweight if wanted[3] else None,
        dbias if wanted[4] else None,
        None,
    ]


normalize.gradient(_normalize_rule)


def _second_gradient(dx, dweight, dbias, dy, x, weight, eps, *, dims: tuple[int, ...]):
    """Gradients of `normalize_gradient` in dy, x and weight.

    Its moments are functions of x here.
    """

    def first(dy, x, weight):
        return _normalize_gradient(dy, x, *_moments(x, dims=dims), weight, eps, dims=dims)

    weight = jnp.asarray(weight, _wide(x).dtype)
    return jax.vjp(first, dy, x, weight)[1]((dx, dweight, dbias))


normalize_second_gradient = primitive(
    "normalize_second_gradient",
    _second_gradient,
    axes=broadcast_free_dims("dims"),
    linear=("dx dweight dbias",),
)


def _normalize_gradient_rule(g, dy, x, weight, eps, dims, wanted):
    ddy, dx, dweight = normalize_second_gradient(*g, dy, x, weight, eps, dims=dims)
    grads = [ddy, dx, None, None, dweight, None]
    return [grad if want else None for grad, want in zip(grads, wanted, strict=True)]


normalize_gradient.gradient(_normalize_gradient_rule)

# --- the same with statistics that do not depend on x


def _normalize_fixed(x, mean, variance, weight, bias, eps):
    scale = lax.rsqrt(variance + eps) * weight
    return ((_wide(x) - mean) * scale + bias).astype(x.dtype)


normalize_fixed = primitive(
    "normalize_fixed", _normalize_fixed, elementwise=True, linear=("weight bias", "x mean bias")
)

# --- running statistics: (1 - momentum) * running + momentum * factor * batch, one instruction


def _running_average(running, batch, factor, momentum):
    return running + momentum * (factor * batch.astype(running.dtype) - running)


running_average = primitive(
    "running_average",
    _running_average,
    elementwise=True,
    differentiable=False,
    linear=("running batch", "running factor"),
)


def machine_epsilon(dtype: DType) -> float:
    """The distance from 1 to the next number."""
    return float(jnp.finfo(dtype.numpy).eps)
