"""Random numbers of further distributions, made from the words of `oneflow.primitives.random`."""

from __future__ import annotations

import math

import jax.numpy as jnp
from jax import lax

from oneflow.base.dtype import DType
from oneflow.primitives.random import (
    _computing_dtype,
    _unit,
    _unit_positive,
    random_primitive,
    words,
)


def _multinomial(weights, seed, stream, *, count: int, replacement: bool):
    kind = jnp.promote_types(weights.dtype, jnp.float32)
    weights = weights.astype(kind)
    if replacement:
        drawn = words(seed, stream, (*weights.shape[:-1], count))
        edges = jnp.cumsum(weights, axis=-1)
        # Compared with the number of edges at or below it, a point never falls on a weight of 0.
        points = _unit(drawn[0], drawn[1], kind) * edges[..., -1:]
        found = jnp.sum(points[..., None] >= edges[..., None, :], axis=-1)
        last = jnp.sum(edges < edges[..., -1:], axis=-1)[..., None]
        return jnp.minimum(found, last).astype(jnp.int64)
    # The winners of a race whose runners arrive after exponential times of rates `weights`.
    drawn = words(seed, stream, weights.shape)
    arrival = -jnp.log(_unit_positive(drawn[0], drawn[1], kind)) / weights
    index = lax.broadcasted_iota(jnp.int64, weights.shape, weights.ndim - 1)
    order = lax.sort((arrival, index), num_keys=1, dimension=weights.ndim - 1)[1]
    return order[..., :count]


def _multinomial_check(weights, seed, stream, *, count, replacement):
    """The value tells what is wrong: 1 a bad weight, 2 a sum of 0, 3 fewer weights than draws."""
    bad = ~jnp.all((weights >= 0) & (weights < jnp.inf))
    positive = jnp.sum(weights > 0, axis=-1)
    empty, few = jnp.any(positive == 0), jnp.any(positive < (1 if replacement else count))
    what = jnp.where(bad, 1, jnp.where(empty, 2, 3)).astype(jnp.int64)
    return bad | empty | few, what


_MULTINOMIAL_ERRORS = {
    1: "probability tensor contains either `inf`, `nan` or element < 0",
    2: "invalid multinomial distribution (sum of probabilities <= 0)",
    3: "invalid multinomial distribution (with replacement=False, not enough non-negative category "
    "to sample)",
}

random_multinomial = random_primitive("random_multinomial", _multinomial, differentiable=False)
random_multinomial.checked(
    _multinomial_check,
    lambda value, attributes, in_specs: RuntimeError(_MULTINOMIAL_ERRORS[value]),
)


def _cauchy(seed, stream, median, sigma, *, shape: tuple[int, ...], dtype: DType):
    kind = _computing_dtype(dtype)
    drawn = words(seed, stream, shape)
    angle = (_unit(drawn[0], drawn[1], kind) - 0.5) * jnp.asarray(math.pi, kind)
    return (median.astype(kind) + sigma.astype(kind) * jnp.tan(angle)).astype(dtype.numpy)


random_cauchy = random_primitive("random_cauchy", _cauchy, "median", "sigma", differentiable=False)


def _geometric(seed, stream, p, *, shape: tuple[int, ...], dtype: DType):
    kind = _computing_dtype(dtype)
    drawn = words(seed, stream, shape)
    trials = jnp.log(_unit_positive(drawn[0], drawn[1], kind)) / jnp.log1p(-p).astype(kind)
    return jnp.maximum(jnp.ceil(trials), 1).astype(dtype.numpy)


random_geometric = random_primitive("random_geometric", _geometric, "p", differentiable=False)


def _truncated_normal(seed, stream, mean, std, low, high, *, shape: tuple[int, ...], dtype: DType):
    kind = _computing_dtype(dtype)
    drawn = words(seed, stream, shape)
    first, last = (lax.erf((end - mean) / (std * math.sqrt(2))).astype(kind) for end in (low, high))
    level = first + _unit(drawn[0], drawn[1], kind) * (last - first)
    result = mean.astype(kind) + std.astype(kind) * math.sqrt(2) * lax.erf_inv(level)
    return jnp.clip(result, low.astype(kind), high.astype(kind)).astype(dtype.numpy)


# By inversion: the mass between `low` and `high` is spread over the unit interval.
random_truncated_normal = random_primitive(
    "random_truncated_normal",
    _truncated_normal,
    *("mean", "std", "low", "high"),
    differentiable=False,
)
