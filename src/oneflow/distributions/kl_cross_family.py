"""Formulas of the Kullback-Leibler divergence of distributions of two families.

The divergence of `q` from `p` is the mean of ``-q.log_prob(x)`` under `p`, the cross-entropy, less
the entropy of `p`. The logarithms of most densities are made of few functions of ``x``: a formula
for a class `q` serves all classes `p` of which the means of these functions are known.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from oneflow.distributions.bernoulli import Bernoulli
from oneflow.distributions.beta import Beta
from oneflow.distributions.binomial import Binomial
from oneflow.distributions.continuous_bernoulli import ContinuousBernoulli
from oneflow.distributions.distribution import Distribution
from oneflow.distributions.exponential import Exponential
from oneflow.distributions.gamma import Gamma
from oneflow.distributions.gumbel import Gumbel
from oneflow.distributions.kl import register_kl, register_kl_pairs
from oneflow.distributions.laplace import Laplace
from oneflow.distributions.normal import Normal
from oneflow.distributions.pareto import Pareto
from oneflow.distributions.poisson import Poisson
from oneflow.distributions.uniform import Uniform
from oneflow.functional.creation.factory_functions import full_like
from oneflow.functional.elementwise.binary import xlogy
from oneflow.functional.elementwise.clamp import where
from oneflow.tensor.tensor import Tensor


@functools.singledispatch
def _mean_log(p: Any) -> Tensor:
    """The mean of the logarithms of draws."""
    raise NotImplementedError(type(p).__name__)


@_mean_log.register
def _(p: Beta) -> Tensor:
    return p.concentration1.digamma() - (p.concentration1 + p.concentration0).digamma()


@_mean_log.register
def _(p: Exponential) -> Tensor:
    return -np.euler_gamma - p.rate.log()


@_mean_log.register
def _(p: Pareto) -> Tensor:
    return p.scale.log() + 1 / p.alpha


@_mean_log.register
def _(p: Uniform) -> Tensor:
    return (xlogy(p.high, p.high) - xlogy(p.low, p.low)) / (p.high - p.low) - 1


@functools.singledispatch
def _mean_exp(p: Any, factor: Tensor) -> Tensor:
    """The mean of ``exp(factor * x)`` over draws `x`, for negative factors."""
    raise NotImplementedError(type(p).__name__)


@_mean_exp.register
def _(p: Exponential, factor: Tensor) -> Tensor:
    return p.rate / (p.rate - factor)


@_mean_exp.register
def _(p: Gamma, factor: Tensor) -> Tensor:
    return (1 - factor / p.rate) ** -p.concentration


@_mean_exp.register
def _(p: Normal, factor: Tensor) -> Tensor:
    return (p.loc * factor + 0.5 * (p.scale * factor) ** 2).exp()


@_mean_exp.register
def _(p: Uniform, factor: Tensor) -> Tensor:
    return ((p.high * factor).exp() - (p.low * factor).exp()) / ((p.high - p.low) * factor)


_REAL = (Gumbel, Laplace, Normal)
_POSITIVE = (Exponential, Gamma)
_BETWEEN_0_AND_1 = (Beta, ContinuousBernoulli)


@register_kl_pairs((*_REAL, *_POSITIVE, Pareto), _BETWEEN_0_AND_1)
@register_kl_pairs((*_REAL, *_POSITIVE, Pareto), (Uniform,))
@register_kl_pairs(_REAL, (Exponential, Gamma, Pareto))
@register_kl_pairs((*_POSITIVE, *_BETWEEN_0_AND_1), (Pareto,))
@register_kl_pairs((Poisson,), (Bernoulli, Binomial))
def _outside(p: Distribution, q: Distribution) -> Tensor:
    # Some of what `p` draws is impossible under `q`.
    return full_like(p.mean + q.mean, math.inf)


@register_kl_pairs((*_BETWEEN_0_AND_1, *_POSITIVE, Gumbel, Laplace, Pareto, Uniform), (Normal,))
def _to_normal(p: Distribution, q: Normal) -> Tensor:
    square = p.variance + (p.mean - q.loc) ** 2
    size = q.scale.log() + 0.5 * math.log(2 * math.pi)
    return size + 0.5 * square / q.scale**2 - p.entropy()


@register_kl_pairs((*_BETWEEN_0_AND_1, Gamma, Pareto), (Exponential,))
def _to_exponential(p: Distribution, q: Exponential) -> Tensor:
    return q.rate * p.mean - q.rate.log() - p.entropy()


@register_kl(Uniform, Exponential)
def _uniform_to_exponential(p: Uniform, q: Exponential) -> Tensor:
    return where(p.low >= 0, _to_exponential(p, q), math.inf)


@register_kl_pairs((Beta, Exponential, Pareto), (Gamma,))
def _to_gamma(p: Distribution, q: Gamma) -> Tensor:
    k = q.concentration
    size = k.lgamma() - k * q.rate.log()
    return size - (k - 1) * _mean_log(p) + q.rate * p.mean - p.entropy()


@register_kl(Uniform, Gamma)
def _uniform_to_gamma(p: Uniform, q: Gamma) -> Tensor:
    return where(p.low >= 0, _to_gamma(p, q), math.inf)


@register_kl(Uniform, Beta)
def _uniform_to_beta(p: Uniform, q: Beta) -> Tensor:
    a, b = q.concentration1, q.concentration0
    rest = Uniform(1 - p.high, 1 - p.low, False)
    size = a.lgamma() + b.lgamma() - (a + b).lgamma()
    divergence = size - (a - 1) * _mean_log(p) - (b - 1) * _mean_log(rest) - p.entropy()
    return where((p.low >= 0) & (p.high <= 1), divergence, math.inf)


@register_kl(Beta, ContinuousBernoulli)
def _to_continuous_bernoulli(p: Distribution, q: ContinuousBernoulli) -> Tensor:
    return -p.mean * q.logits - (-q._inner_probs).log1p() - q._log_size() - p.entropy()


@register_kl(Uniform, ContinuousBernoulli)
def _uniform_to_continuous_bernoulli(p: Uniform, q: ContinuousBernoulli) -> Tensor:
    divergence = _to_continuous_bernoulli(p, q)
    return where((p.low >= 0) & (p.high <= 1), divergence, math.inf)


@register_kl_pairs((Exponential, Gamma, Normal, Uniform), (Gumbel,))
def _to_gumbel(p: Distribution, q: Gumbel) -> Tensor:
    expected = _mean_exp(p, -1 / q.scale) * (q.loc / q.scale).exp()
    return (p.mean - q.loc) / q.scale + q.scale.log() + expected - p.entropy()


@register_kl(Normal, Laplace)
def _normal_to_laplace(p: Normal, q: Laplace) -> Tensor:
    distance = p.loc - q.loc
    z = distance / (math.sqrt(2) * p.scale)
    mean_distance = math.sqrt(2 / math.pi) * p.scale * (-z * z).exp() + distance * z.erf()
    return (2 * q.scale).log() + mean_distance / q.scale - p.entropy()


@register_kl(Uniform, Pareto)
def _uniform_to_pareto(p: Uniform, q: Pareto) -> Tensor:
    size = q.alpha.log() + q.alpha * q.scale.log()
    divergence = (q.alpha + 1) * _mean_log(p) - size - p.entropy()
    return where(p.low >= q.scale, divergence, math.inf)


@register_kl_pairs(_BETWEEN_0_AND_1, (Uniform,))
def _to_uniform(p: Distribution, q: Uniform) -> Tensor:
    divergence = (q.high - q.low).log() - p.entropy()
    return where((q.low <= 0) & (q.high >= 1), divergence, math.inf)


@register_kl(Bernoulli, Poisson)
def _bernoulli_to_poisson(p: Bernoulli, q: Poisson) -> Tensor:
    return q.rate - p.probs * q.rate.log() - p.entropy()
