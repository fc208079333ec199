"""Probability distributions."""

from oneflow.distributions import categorical as categorical
from oneflow.distributions.composed import (
    Independent as Independent,
    MixtureSameFamily as MixtureSameFamily,
    MultivariateNormal as MultivariateNormal,
)
from oneflow.distributions.continuous import (
    Cauchy as Cauchy,
    Exponential as Exponential,
    HalfCauchy as HalfCauchy,
    HalfNormal as HalfNormal,
    Laplace as Laplace,
)
from oneflow.distributions.counts import (
    Binomial as Binomial,
    Geometric as Geometric,
    Multinomial as Multinomial,
    NegativeBinomial as NegativeBinomial,
    OneHotCategorical as OneHotCategorical,
    Poisson as Poisson,
)
from oneflow.distributions.distribution import Distribution as Distribution
from oneflow.distributions.distributions import (
    Bernoulli as Bernoulli,
    Categorical as Categorical,
    Normal as Normal,
    Uniform as Uniform,
)
from oneflow.distributions.extreme_value import (
    Gumbel as Gumbel,
    Kumaraswamy as Kumaraswamy,
    LogNormal as LogNormal,
    Pareto as Pareto,
    Weibull as Weibull,
)
from oneflow.distributions.gamma import (
    Beta as Beta,
    Chi2 as Chi2,
    Dirichlet as Dirichlet,
    FisherSnedecor as FisherSnedecor,
    Gamma as Gamma,
    InverseGamma as InverseGamma,
    StudentT as StudentT,
)
from oneflow.distributions.kl import kl_divergence as kl_divergence, register_kl as register_kl
