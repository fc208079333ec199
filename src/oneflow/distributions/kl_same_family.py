"""Formulas of the Kullback-Leibler divergence of two distributions of one family."""

from __future__ import annotations

import math

import numpy as np

from oneflow.distributions.bernoulli import Bernoulli
from oneflow.distributions.beta import Beta
from oneflow.distributions.binomial import Binomial
from oneflow.distributions.categorical import Categorical
from oneflow.distributions.cauchy import Cauchy
from oneflow.distributions.continuous_bernoulli import ContinuousBernoulli
from oneflow.distributions.covariance_parameters import half_log_det, solve_factor
from oneflow.distributions.dirichlet import Dirichlet
from oneflow.distributions.exp_family import ExponentialFamily
from oneflow.distributions.exponential import Exponential
from oneflow.distributions.gamma import Gamma
from oneflow.distributions.geometric import Geometric
from oneflow.distributions.gumbel import Gumbel
from oneflow.distributions.half_normal import HalfNormal
from oneflow.distributions.independent import Independent
from oneflow.distributions.kl import kl_divergence, register_kl, register_kl_pairs
from oneflow.distributions.laplace import Laplace
from oneflow.distributions.lowrank_multivariate_normal import LowRankMultivariateNormal
from oneflow.distributions.multivariate_normal import MultivariateNormal
from oneflow.distributions.normal import Normal
from oneflow.distributions.one_hot_categorical import OneHotCategorical
from oneflow.distributions.parameters import sum_rightmost
from oneflow.distributions.pareto import Pareto
from oneflow.distributions.poisson import Poisson
from oneflow.distributions.transformed_distribution import TransformedDistribution
from oneflow.distributions.uniform import Uniform
from oneflow.functional.elementwise.activation import softplus
from oneflow.functional.elementwise.clamp import where
from oneflow.tensor.tensor import Tensor


@register_kl(ExponentialFamily, ExponentialFamily)
def _exponential_family(p: ExponentialFamily, q: ExponentialFamily) -> Tensor:
    # The Bregman divergence of the log-normalizer.
    if type(p) is not type(q):
        raise NotImplementedError(
            f"The Kullback-Leibler divergence of {type(p).__name__} from {type(q).__name__}, of "
            "different exponential families, is not implemented"
        )
    normalizer, natural, slopes = p._log_normalizer_with_slopes()
    others = q._natural_params
    result = q._log_normalizer(*others) - normalizer
    for first, other, slope in zip(natural, others, slopes, strict=True):
        difference = (other - first) * slope
        event_ndim = first.ndim - len(p.batch_shape)
        result = result - sum_rightmost(difference, event_ndim)
    return result


@register_kl(Normal, Normal)
def _normal(p: Normal, q: Normal) -> Tensor:
    ratio = (p.scale / q.scale) ** 2
    distance = ((p.loc - q.loc) / q.scale) ** 2
    return 0.5 * (ratio + distance - 1 - ratio.log())


@register_kl(HalfNormal, HalfNormal)
def _half_normal(p: HalfNormal, q: HalfNormal) -> Tensor:
    return _normal(p.base_dist, q.base_dist)


@register_kl(Uniform, Uniform)
def _uniform(p: Uniform, q: Uniform) -> Tensor:
    divergence = ((q.high - q.low) / (p.high - p.low)).log()
    return where((q.low <= p.low) & (q.high >= p.high), divergence, math.inf)


@register_kl(Bernoulli, Bernoulli)
def _bernoulli(p: Bernoulli, q: Bernoulli) -> Tensor:
    # Each softplus is minus the logarithm of a probability.
    of_one = p.probs * (softplus(-q.logits) - softplus(-p.logits))
    return of_one + (1 - p.probs) * (softplus(q.logits) - softplus(p.logits))


@register_kl(Binomial, Binomial)
def _binomial(p: Binomial, q: Binomial) -> Tensor:
    of_one = _bernoulli(
        Bernoulli(logits=p.logits, validate_args=False),
        Bernoulli(logits=q.logits, validate_args=False),
    )
    return where(p.total_count <= q.total_count, p.total_count * of_one, math.inf)


@register_kl(ContinuousBernoulli, ContinuousBernoulli)
def _continuous_bernoulli(p: ContinuousBernoulli, q: ContinuousBernoulli) -> Tensor:
    sizes = p._log_size() + (-p._inner_probs).log1p() - q._log_size() - (-q._inner_probs).log1p()
    return p.mean * (p.logits - q.logits) + sizes


@register_kl(Geometric, Geometric)
def _geometric(p: Geometric, q: Geometric) -> Tensor:
    return -p.entropy() - (-q.probs).log1p() / p.probs - q.logits


@register_kl(Categorical, Categorical)
def _categorical(p: Categorical, q: Categorical) -> Tensor:
    terms = p.probs * (p.logits - q.logits)
    terms = where((q.probs == 0).expand(terms.shape), math.inf, terms)
    return where((p.probs == 0).expand(terms.shape), 0.0, terms).sum(-1)


@register_kl(OneHotCategorical, OneHotCategorical)
def _one_hot_categorical(p: OneHotCategorical, q: OneHotCategorical) -> Tensor:
    return _categorical(p._categorical, q._categorical)


@register_kl(Poisson, Poisson)
def _poisson(p: Poisson, q: Poisson) -> Tensor:
    return p.rate * (p.rate / q.rate).log() - (p.rate - q.rate)


@register_kl(Exponential, Exponential)
def _exponential(p: Exponential, q: Exponential) -> Tensor:
    ratio = q.rate / p.rate
    return ratio - ratio.log() - 1


@register_kl(Laplace, Laplace)
def _laplace(p: Laplace, q: Laplace) -> Tensor:
    ratio, distance = p.scale / q.scale, (p.loc - q.loc).abs()
    return -ratio.log() + distance / q.scale + ratio * (-distance / p.scale).exp() - 1


# Chyzak and Nielsen, "A closed-form formula for the Kullback-Leibler divergence between Cauchy
# distributions" (2019).
@register_kl(Cauchy, Cauchy)
def _cauchy(p: Cauchy, q: Cauchy) -> Tensor:
    distance = (p.scale + q.scale) ** 2 + (p.loc - q.loc) ** 2
    return (distance / (4 * p.scale * q.scale)).log()


@register_kl(Gumbel, Gumbel)
def _gumbel(p: Gumbel, q: Gumbel) -> Tensor:
    ratio, shift = p.scale / q.scale, (p.loc - q.loc) / q.scale
    expected = ((ratio + 1).lgamma() - shift).exp()
    return shift - ratio.log() + (ratio - 1) * np.euler_gamma + expected - 1


@register_kl(Pareto, Pareto)
def _pareto(p: Pareto, q: Pareto) -> Tensor:
    ratio = q.alpha / p.alpha
    divergence = q.alpha * (p.scale / q.scale).log() - ratio.log() + ratio - 1
    return where(p.scale >= q.scale, divergence, math.inf)


@register_kl(Gamma, Gamma)
def _gamma(p: Gamma, q: Gamma) -> Tensor:
    k, other = p.concentration, q.concentration
    sizes = other * (p.rate / q.rate).log() + other.lgamma() - k.lgamma()
    return sizes + (k - other) * k.digamma() + (q.rate - p.rate) * (k / p.rate)


@register_kl(Dirichlet, Dirichlet)
def _dirichlet(p: Dirichlet, q: Dirichlet) -> Tensor:
    k, other = p.concentration, q.concentration
    total = k.sum(-1)
    sizes = total.lgamma() - other.sum(-1).lgamma() - (k.lgamma() - other.lgamma()).sum(-1)
    return sizes + ((k - other) * (k.digamma() - total.digamma().unsqueeze(-1))).sum(-1)


@register_kl(Beta, Beta)
def _beta(p: Beta, q: Beta) -> Tensor:
    return _dirichlet(p._dirichlet, q._dirichlet)


_NORMAL_VECTORS = (MultivariateNormal, LowRankMultivariateNormal)


@register_kl_pairs(_NORMAL_VECTORS, _NORMAL_VECTORS)
def _normal_vectors(
    p: MultivariateNormal | LowRankMultivariateNormal,
    q: MultivariateNormal | LowRankMultivariateNormal,
) -> Tensor:
    first, other = p.scale_tril, q.scale_tril
    trace = (solve_factor(other, first) ** 2).sum((-2, -1))
    distance = (solve_factor(other, (q.loc - p.loc).unsqueeze(-1)) ** 2).sum((-2, -1))
    sizes = half_log_det(other) - half_log_det(first)
    return sizes + 0.5 * (trace + distance - p.event_shape[0])


@register_kl(Independent, Independent)
def _independent(p: Independent, q: Independent) -> Tensor:
    if p.reinterpreted_batch_ndims != q.reinterpreted_batch_ndims:
        raise NotImplementedError("the numbers of reinterpreted dimensions differ")
    return sum_rightmost(kl_divergence(p.base_dist, q.base_dist), p.reinterpreted_batch_ndims)


@register_kl(TransformedDistribution, TransformedDistribution)
def _transformed(p: TransformedDistribution, q: TransformedDistribution) -> Tensor:
    if p.transforms != q.transforms or p.event_shape != q.event_shape:
        raise NotImplementedError("the transforms, or the shapes of events, differ")
    return kl_divergence(p.base_dist, q.base_dist)
