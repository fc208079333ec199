"""Random numbers of further distributions, made from the words of `operators.random`."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from oneflow.base.dtype import DType
from oneflow.primitives.operators import loops, sort_cpu
from oneflow.primitives.operators.creation import zeros
from oneflow.primitives.operators.elementwise import elementwise, mul
from oneflow.primitives.operators.materialize import materialize_array
from oneflow.primitives.operators.random import (
    _compute_dtype,
    _unit,
    _unit_positive,
    more_random_bits,
    random_bits,
    random_primitive,
    shardable_random_primitive,
)
from oneflow.primitives.operators.running import running_max, running_sum
from oneflow.primitives.shard_index import ShardIndex
from oneflow.primitives.sharding.axes import elementwise_axes, leading_axes
from oneflow.primitives.traits import Positional


def _count_at_most(edges, points):
    """Count the growing `edges` that are at or below each point, along the last dimension."""
    size = edges.shape[-1]
    counts = jnp.zeros(points.shape, jnp.int64)
    for bit in reversed(range(size.bit_length())):
        larger = counts + 2**bit
        index = jnp.minimum(larger, size) - 1
        edge = jnp.take_along_axis(edges, index, axis=-1, mode="promise_in_bounds")
        counts = jnp.where((larger <= size) & (edge <= points), larger, counts)
    return counts


class _Lowering(NamedTuple):
    """Functions of numbers and a dimension, and one of numbers.

    Attributes:
        argsort: the order.
        sums: the sums so far.
        largest: the largest so far.
        stored: the numbers, for several readers; else XLA draws anew for each on CPUs.
    """

    argsort: Callable
    sums: Callable
    largest: Callable
    stored: Callable


def _multinomial(
    lowering: _Lowering,
    weights,
    seed,
    stream,
    *,
    count: int,
    replacement: bool,
    shard: ShardIndex | None = None,
):
    """Draw positions by their weights."""
    kind = jnp.promote_types(weights.dtype, jnp.float32)
    weights = weights.astype(kind)
    if replacement:
        bits = random_bits(seed, stream, (*weights.shape[:-1], count), shard)
        # XLA's sums may fall by a rounding error, and rise where a weight is 0.
        sums = jnp.where(weights > 0, lowering.sums(weights, weights.ndim - 1), 0)
        edges = lowering.largest(sums, sums.ndim - 1)
        # Compared with the number of edges at or below it, a point never falls on a weight of 0.
        points = lowering.stored(_unit(bits[0], bits[1], kind) * edges[..., -1:])
        positions = _count_at_most(edges, points)
        last = jnp.sum(edges < edges[..., -1:], axis=-1)[..., None]
        return jnp.minimum(positions, last).astype(jnp.int64)
    # The winners of a race whose runners arrive after exponential times of rates `weights`.
    if shard is not None:
        shard = shard._replace(global_shape=(*shard.global_shape[:-1], weights.shape[-1]))
    bits = random_bits(seed, stream, weights.shape, shard)
    sort_keys = -jnp.log(_unit_positive(bits[0], bits[1], kind)) / weights
    if count == 1:
        first = jnp.argmin(jnp.where(jnp.isnan(sort_keys), jnp.inf, sort_keys), axis=-1)
        return first[..., None].astype(jnp.int64)
    return lowering.argsort(sort_keys, sort_keys.ndim - 1)[..., :count]


def _exact_sums(x, dim: int):
    """Sums so far in double precision, rounded once.

    So they are the same in whatever order they are added up: that depends on the number of rows,
    of which a rank of a global tensor has a part, and on whether the program is compiled.
    """
    return running_sum(x.astype(jnp.float64), dim).astype(x.dtype)


def _multinomial_check(weights, seed, stream, *, count, replacement):
    """The value names the fault: 1 a bad weight, 2 a sum of 0, 3 fewer weights than draws."""
    bad = ~jnp.all((weights >= 0) & (weights < jnp.inf))
    positive = jnp.sum(weights > 0, axis=-1)
    empty, is_small = jnp.any(positive == 0), jnp.any(positive < (1 if replacement else count))
    what = jnp.where(bad, 1, jnp.where(empty, 2, 3)).astype(jnp.int64)
    return bad | empty | is_small, what


_MULTINOMIAL_ERRORS = {
    1: "probability tensor contains either `inf`, `nan` or element < 0",
    2: "invalid multinomial distribution (sum of probabilities <= 0)",
    3: "invalid multinomial distribution (with replacement=False, not enough non-negative category "
    "to sample)",
}

random_multinomial = random_primitive(
    "random_multinomial",
    partial(_multinomial, _Lowering(jnp.argsort, lax.cumsum, lax.cummax, lambda points: points)),
    axes=leading_axes(1),
    positional=Positional(),
    differentiable=False,
)
random_multinomial.lowering("cpu")(
    partial(
        _multinomial,
        _Lowering(sort_cpu.argsort, _exact_sums, running_max, materialize_array),
    )
)
random_multinomial.checked(
    _multinomial_check,
    lambda value, attributes, in_specs: RuntimeError(_MULTINOMIAL_ERRORS[value]),
)


def _cauchy(
    seed,
    stream,
    median,
    sigma,
    *,
    shape: tuple[int, ...],
    dtype: DType,
    shard: ShardIndex | None = None,
):
    kind = _compute_dtype(dtype)
    bits = random_bits(seed, stream, shape, shard)
    angle = (_unit(bits[0], bits[1], kind) - 0.5) * jnp.asarray(math.pi, kind)
    return (median.astype(kind) + sigma.astype(kind) * jnp.tan(angle)).astype(dtype.numpy)


random_cauchy = shardable_random_primitive(
    "random_cauchy", _cauchy, "median", "sigma", differentiable=False
)


def _geometric(
    seed, stream, p, *, shape: tuple[int, ...], dtype: DType, shard: ShardIndex | None = None
):
    kind = _compute_dtype(dtype)
    bits = random_bits(seed, stream, shape, shard)
    total_count = jnp.log(_unit_positive(bits[0], bits[1], kind)) / jnp.log1p(-p).astype(kind)
    return jnp.maximum(jnp.ceil(total_count), 1).astype(dtype.numpy)


random_geometric = shardable_random_primitive(
    "random_geometric", _geometric, "p", differentiable=False
)


def _truncated_normal(
    seed,
    stream,
    mean,
    std,
    low,
    high,
    *,
    shape: tuple[int, ...],
    dtype: DType,
    shard: ShardIndex | None = None,
):
    kind = _compute_dtype(dtype)
    bits = random_bits(seed, stream, shape, shard)
    first, last = (lax.erf((end - mean) / (std * math.sqrt(2))).astype(kind) for end in (low, high))
    level = first + _unit(bits[0], bits[1], kind) * (last - first)
    result = mean.astype(kind) + std.astype(kind) * math.sqrt(2) * lax.erf_inv(level)
    return jnp.clip(result, low.astype(kind), high.astype(kind)).astype(dtype.numpy)


# Inversion: the mass between `low` and `high` is spread over the unit interval.
random_truncated_normal = shardable_random_primitive(
    "random_truncated_normal",
    _truncated_normal,
    "mean",
    "std",
    "low",
    "high",
    differentiable=False,
)


# --- counts: Poisson and binomial

# Below this mean a count is found by adding up probabilities, above it by rejection.
_SMALL_MEAN = 10.0
# No count of a mean below `_SMALL_MEAN` is as large as this.
_MAX_COUNT = 150


def _search(level: jax.Array, first: jax.Array, ratio: Callable, is_active: jax.Array) -> jax.Array:
    """The smallest count whose cumulated probability reaches `level`, where `is_active`; else 0.

    ``ratio(k)`` is the probability of `k` divided by that of ``k - 1``, `first` that of 0.
    """

    def is_running(state):
        return jnp.any(state[3]) & (state[0] < _MAX_COUNT)

    def body(state):
        number, probability, total, active, count = state
        number = number + 1
        probability = probability * ratio(number)
        count = jnp.where(active, number, count)
        total = total + probability
        return number, probability, total, active & (level > total), count

    start = (
        jnp.zeros((), np.float64),
        first,
        first,
        is_active & (level > first),
        jnp.zeros_like(level),
    )
    return loops.while_loop(is_running, body, start)[4]


def _sample_until_accepted(
    draw: Callable, make_proposal: Callable, is_active: jax.Array
) -> jax.Array:
    """The first accepted proposal at each element, where `is_active`; else 0.

    ``draw(attempt)`` gives random words; ``make_proposal(u, v)`` takes uniform numbers in
    [-1/2, 1/2) and (0, 1] and returns a count and whether it is accepted.
    """

    def is_running(state):
        return jnp.any(state[1])

    def body(state):
        attempt, active, count = state
        bits = draw(attempt)
        proposal, accepted = make_proposal(
            _unit(bits[0], bits[1], np.dtype(np.float64)) - 0.5,
            _unit_positive(bits[2], bits[3], np.dtype(np.float64)),
        )
        count = jnp.where(active & accepted, proposal, count)
        return attempt + 1, active & ~accepted, count

    start = (jnp.zeros((), jnp.int64), is_active, jnp.zeros(is_active.shape, np.float64))
    return loops.while_loop(is_running, body, start)[2]


# Hoermann: "The transformed rejection method for generating Poisson random variables" (1993).
def _sample_large_poisson(draw, rate, is_active):
    root = jnp.sqrt(rate)
    b = 0.931 + 2.53 * root
    a = -0.059 + 0.02483 * b
    log_inverse_alpha = jnp.log(1.1239 + 1.1328 / (b - 3.4))
    accept_bound = 0.9277 - 3.6224 / (b - 2)
    log_rate = jnp.log(rate)

    def make_proposal(u, v):
        edge = 0.5 - jnp.abs(u)
        count = jnp.floor((2 * a / edge + b) * u + rate + 0.43)
        ratio = jnp.log(v) + log_inverse_alpha - jnp.log(a / edge**2 + b)
        is_accepted = ratio <= count * log_rate - rate - lax.lgamma(count + 1)
        possible = (count >= 0) & ((edge >= 0.013) | (v <= edge))
        return count, ((edge >= 0.07) & (v <= accept_bound)) | (possible & is_accepted)

    return _sample_until_accepted(draw, make_proposal, is_active)


def _poisson(rate, seed, stream, *, shard: ShardIndex | None = None):
    def draw(attempt):
        return more_random_bits(seed, stream, rate.shape, attempt, shard)

    mean = rate.astype(np.float64)
    is_small, many = mean < _SMALL_MEAN, (mean >= _SMALL_MEAN) & (mean < jnp.inf)
    bits = random_bits(seed, stream, rate.shape, shard)
    level = _unit(bits[0], bits[1], np.dtype(np.float64))
    small = jnp.where(is_small, mean, 0.0)
    small_counts = _search(level, jnp.exp(-small), lambda k: small / k, is_small)
    large_counts = _sample_large_poisson(draw, jnp.where(many, mean, _SMALL_MEAN), many)
    result = jnp.where(many, large_counts, jnp.where(is_small, small_counts, mean))
    return result.astype(rate.dtype)


# The numbers of events in a unit of time in which `rate` events are expected.
random_poisson = random_primitive(
    "random_poisson", _poisson, axes=elementwise_axes, positional=Positional(by_element=True)
)
random_poisson.gradient(
    rate=lambda rate_spec: zeros(
        shape=rate_spec.shape, dtype=rate_spec.dtype, device=rate_spec.device
    )
)
random_poisson.checked(
    lambda rate, seed, stream: (~jnp.all(rate >= 0), jnp.zeros((), jnp.int64)),
    lambda value, attributes, in_specs: RuntimeError(
        "invalid Poisson rate, expected rate to be non-negative"
    ),
)


# Marsaglia and Tsang: "A simple method for generating gamma variables" (2000).
def _gamma(concentration, seed, stream, *, shard: ShardIndex | None = None):
    def draw(attempt):
        # The first words are for the power below.
        return more_random_bits(seed, stream, concentration.shape, attempt + 1, shard)

    alpha = concentration.astype(np.float64)
    possible = (alpha > 0) & (alpha < jnp.inf)
    # Below 1 a number of the next larger distribution is multiplied by a power of a uniform one.
    is_small = alpha < 1
    d = jnp.where(possible, jnp.where(is_small, alpha + 1, alpha), 1.0) - 1 / 3
    c = 1 / jnp.sqrt(9 * d)

    def make_proposal(u, v):
        normal = math.sqrt(2) * lax.erf_inv(2 * u)
        cube = (1 + c * normal) ** 3
        positive = jnp.where(cube > 0, cube, 1.0)
        bound = normal * normal / 2 + d * (1 - positive + jnp.log(positive))
        return d * positive, (cube > 0) & (jnp.log(v) < bound)

    bits = draw(jnp.full((), -1, np.int64))
    uniform = _unit_positive(bits[0], bits[1], np.dtype(np.float64))
    power = jnp.where(is_small, uniform ** (1 / jnp.where(possible, alpha, 1.0)), 1.0)
    sample = _sample_until_accepted(draw, make_proposal, possible) * power
    # Zero is no number of this distribution, not even of the limits at 0 and at infinity.
    tiny = float(jnp.finfo(concentration.dtype).tiny)
    limit = jnp.where(alpha == 0, tiny, jnp.where(alpha == jnp.inf, jnp.inf, jnp.nan))
    return jnp.where(possible, jnp.maximum(sample, tiny), limit).astype(concentration.dtype)


# Numbers of the gamma distribution with rate 1. Their gradient is that of the quantile of a
# probability that stays the same: Figurnov et al., "Implicit reparameterization gradients" (2018).
random_gamma = random_primitive(
    "random_gamma", _gamma, axes=elementwise_axes, positional=Positional(by_element=True)
)
_gamma_slope = elementwise(
    "gamma_slope",
    lax.random_gamma_grad,
    "concentration out",
    real_only=True,
    differentiable=False,
)
random_gamma.gradient(
    concentration=lambda g, concentration, out: mul(g, _gamma_slope(concentration, out))
)


# Hoermann: "The generation of binomial random variates" (1993), for p at most 1/2.
def _sample_large_binomial(draw, total_count, p, is_active):
    root = jnp.sqrt(total_count * p * (1 - p))
    b = 1.15 + 2.53 * root
    a = -0.0873 + 0.0248 * b + 0.01 * p
    accept_bound = 0.92 - 4.2 / b
    alpha = (2.83 + 5.1 / b) * root
    logit = jnp.log(p) - jnp.log1p(-p)
    mode = jnp.floor((total_count + 1) * p)
    peak = lax.lgamma(mode + 1) + lax.lgamma(total_count - mode + 1)

    def make_proposal(u, v):
        edge = 0.5 - jnp.abs(u)
        count = jnp.floor((2 * a / edge + b) * u + total_count * p + 0.5)
        possible = (count >= 0) & (count <= total_count)
        inside = jnp.where(possible, count, mode)
        ratio = jnp.log(v * alpha / (a / edge**2 + b))
        log_binomial = peak - lax.lgamma(inside + 1) - lax.lgamma(total_count - inside + 1)
        is_accepted = ratio <= log_binomial + (inside - mode) * logit
        return count, possible & (((edge >= 0.07) & (v <= accept_bound)) | is_accepted)

    return _sample_until_accepted(draw, make_proposal, is_active)


def _binomial(count, prob, seed, stream, *, shard: ShardIndex | None = None):
    def draw(attempt):
        return more_random_bits(seed, stream, count.shape, attempt, shard)

    total_count, p = count.astype(np.float64), prob.astype(np.float64)
    min_p = jnp.minimum(p, 1 - p)  # count failures if those are fewer
    random = (total_count > 0) & (total_count < jnp.inf) & (p > 0) & (p < 1)
    is_small = random & (total_count * min_p < _SMALL_MEAN)
    many = random & ~is_small
    bits = random_bits(seed, stream, count.shape, shard)
    level = _unit(bits[0], bits[1], np.dtype(np.float64))
    n, q = jnp.where(is_small, total_count, 0.0), jnp.where(is_small, min_p, 0.0)
    small_counts = _search(
        level,
        jnp.exp(n * jnp.log1p(-q)),
        lambda k: jnp.maximum(n - k + 1, 0) / k * (q / (1 - q)),
        is_small,
    )
    large_counts = _sample_large_binomial(
        draw, jnp.where(many, total_count, 4 * _SMALL_MEAN), jnp.where(many, min_p, 0.5), many
    )
    counts = jnp.where(many, large_counts, small_counts)
    counts = jnp.where(p > 0.5, total_count - counts, counts)
    fixed = jnp.where((total_count > 0) & (p > 0), total_count, 0.0)
    fixed = jnp.where(jnp.isnan(total_count) | jnp.isnan(p), jnp.nan, fixed)
    return jnp.where(random, counts, fixed).astype(count.dtype)


# The number of successes in `count` trials that succeed with probability `prob`.
random_binomial = random_primitive(
    "random_binomial",
    _binomial,
    axes=elementwise_axes,
    positional=Positional(by_element=True),
    differentiable=False,
)


# Best and Fisher: "Efficient simulation of the von Mises distribution" (1979).
def _von_mises(concentration, seed, stream, *, shard: ShardIndex | None = None):
    def draw(attempt):
        return more_random_bits(seed, stream, concentration.shape, attempt, shard)

    wide_concentration = concentration.astype(np.float64)
    possible = (wide_concentration > 0) & (wide_concentration < jnp.inf)
    kappa = jnp.where(possible, wide_concentration, 1.0)
    tau = 1 + jnp.sqrt(1 + 4 * kappa**2)
    rho = (tau - jnp.sqrt(2 * tau)) / (2 * kappa)
    # The quotient of a small concentration cancels, and a series is exact.
    r = jnp.where(kappa < 1e-5, 1 / kappa + kappa, (1 + rho**2) / (2 * rho))

    def make_proposal(u, v):
        # Its sign and its size are independent: one uniform number serves for both.
        z = jnp.cos(2 * math.pi * u)
        cosine = (1 + r * z) / (r + z)
        c = kappa * (r - cosine)
        angle = jnp.sign(u) * jnp.arccos(jnp.clip(cosine, -1, 1))
        return angle, jnp.log(c / v) + 1 - c >= 0

    angles = _sample_until_accepted(draw, make_proposal, possible)
    return jnp.where(possible, angles, jnp.nan).astype(concentration.dtype)


# Angles of the von Mises distribution about 0.
random_von_mises = random_primitive(
    "random_von_mises",
    _von_mises,
    axes=elementwise_axes,
    positional=Positional(),
    differentiable=False,
)
