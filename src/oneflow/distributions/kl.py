"""The Kullback-Leibler divergence of two distributions: formulas, found by their classes."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TypeVar

from oneflow.distributions.composed import Independent, MultivariateNormal
from oneflow.distributions.continuous import Exponential, HalfNormal, Laplace
from oneflow.distributions.counts import Binomial, Geometric, OneHotCategorical, Poisson
from oneflow.distributions.distribution import Distribution
from oneflow.distributions.distributions import Bernoulli, Categorical, Normal, Uniform
from oneflow.distributions.extreme_value import LogNormal, Pareto
from oneflow.distributions.gamma import Beta, Dirichlet, Gamma
from oneflow.functional.creation.factory_functions import full_like
from oneflow.functional.elementwise.activation import softplus
from oneflow.functional.linalg.inverse import solve_triangular
from oneflow.tensor.tensor import Tensor

Formula = TypeVar("Formula", bound=Callable[..., Tensor])
_KL_FORMULA: dict[tuple[type, type], Callable[..., Tensor]] = {}


def register_kl(type_p: type, type_q: type) -> Callable[[Formula], Formula]:
    """Decorator of a formula for two classes of distributions.

    Args:
        type_p: class of the first one; its subclasses have the formula, too.
        type_q: class of the second one.

    Raises:
        TypeError: they are no classes of distributions.

    Example:
        >>> import oneflow as flow
        >>> from oneflow.distributions import Distribution, kl_divergence, register_kl
        >>> class Fixed(Distribution):
        ...     def __init__(self, place):
        ...         super().__init__()
        ...         self.place = place
        >>> @register_kl(Fixed, Fixed)
        ... def fixed_fixed(p, q):
        ...     return flow.tensor(0.0 if p.place == q.place else float("inf"))
        >>> kl_divergence(Fixed(1), Fixed(2))
        tensor(inf, dtype=oneflow.float32)
    """
    for each in (type_p, type_q):
        if not (isinstance(each, type) and issubclass(each, Distribution)):
            raise TypeError(f"Expected a class of distributions, but got {each}")

    def register(formula: Formula) -> Formula:
        _KL_FORMULA[type_p, type_q] = formula
        return formula

    return register


def kl_divergence(p: Distribution, q: Distribution) -> Tensor:
    """The Kullback-Leibler divergence, the mean of ``p.log_prob(x) - q.log_prob(x)`` under `p`.

    Returns:
        A tensor of the batch shape.

    Raises:
        NotImplementedError: there is no formula for these classes.

    Example:
        >>> import oneflow as flow
        >>> normal = flow.distributions.Normal
        >>> flow.distributions.kl_divergence(normal(0.0, 1.0), normal(1.0, 1.0))
        tensor(0.5000, dtype=oneflow.float32)
    """
    for type_p in type(p).__mro__:
        for type_q in type(q).__mro__:
            formula = _KL_FORMULA.get((type_p, type_q))
            if formula is not None:
                return formula(p, q)
    raise NotImplementedError(
        f"No KL(p || q) is implemented for p type {type(p).__name__} and q type {type(q).__name__}"
    )


@register_kl(Normal, Normal)
def _normal(p: Normal, q: Normal) -> Tensor:
    ratio = (p.scale / q.scale) ** 2
    distance = ((p.loc - q.loc) / q.scale) ** 2
    return 0.5 * (ratio + distance - 1 - ratio.log())


@register_kl(LogNormal, LogNormal)
def _log_normal(p: LogNormal, q: LogNormal) -> Tensor:
    return _normal(p.base_dist, q.base_dist)


@register_kl(HalfNormal, HalfNormal)
def _half_normal(p: HalfNormal, q: HalfNormal) -> Tensor:
    return _normal(Normal(p.scale * 0, p.scale, False), Normal(q.scale * 0, q.scale, False))


@register_kl(Uniform, Uniform)
def _uniform(p: Uniform, q: Uniform) -> Tensor:
    found = ((q.high - q.low) / (p.high - p.low)).log()
    return found.where((q.low <= p.low) & (q.high >= p.high), full_like(found, math.inf))


@register_kl(Bernoulli, Bernoulli)
def _bernoulli(p: Bernoulli, q: Bernoulli) -> Tensor:
    # Each softplus is minus the logarithm of a probability.
    of_one = p.probs * (softplus(-q.logits) - softplus(-p.logits))
    return of_one + (1 - p.probs) * (softplus(q.logits) - softplus(p.logits))


@register_kl(Binomial, Binomial)
def _binomial(p: Binomial, q: Binomial) -> Tensor:
    of_one = _bernoulli(Bernoulli(logits=p.logits), Bernoulli(logits=q.logits))
    found = p.total_count * of_one
    return found.where(p.total_count <= q.total_count, full_like(found, math.inf))


@register_kl(Geometric, Geometric)
def _geometric(p: Geometric, q: Geometric) -> Tensor:
    return -p.entropy() - (-q.probs).log1p() / p.probs - q.logits


@register_kl(Categorical, Categorical)
def _categorical(p: Categorical, q: Categorical) -> Tensor:
    found = p.probs * (p.logits - q.logits)
    found = full_like(found, math.inf).where((q.probs == 0).expand(found.shape), found)
    found = full_like(found, 0.0).where((p.probs == 0).expand(found.shape), found)
    return found.sum(-1)


@register_kl(OneHotCategorical, OneHotCategorical)
def _one_hot_categorical(p: OneHotCategorical, q: OneHotCategorical) -> Tensor:
    return _categorical(Categorical(logits=p.logits), Categorical(logits=q.logits))


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


@register_kl(Pareto, Pareto)
def _pareto(p: Pareto, q: Pareto) -> Tensor:
    ratio = q.alpha / p.alpha
    found = q.alpha * (p.scale / q.scale).log() - ratio.log() + ratio - 1
    return found.where(p.scale >= q.scale, full_like(found, math.inf))


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


@register_kl(MultivariateNormal, MultivariateNormal)
def _multivariate_normal(p: MultivariateNormal, q: MultivariateNormal) -> Tensor:
    def inverted(columns: Tensor) -> Tensor:
        size = columns.shape[-2]
        factor = q.scale_tril.expand((*columns.shape[:-2], size, size))
        return (solve_triangular(factor, columns, upper=False) ** 2).sum((-2, -1))

    sizes = q._half_log_det() - p._half_log_det()
    distance = inverted(p.scale_tril) + inverted((q.loc - p.loc).unsqueeze(-1))
    return sizes + 0.5 * (distance - p.event_shape[0])


@register_kl(Independent, Independent)
def _independent(p: Independent, q: Independent) -> Tensor:
    if p.reinterpreted_batch_ndims != q.reinterpreted_batch_ndims:
        raise NotImplementedError("the numbers of reinterpreted dimensions differ")
    return p._joint(kl_divergence(p.base_dist, q.base_dist))
