"""Probability distributions, transforms and constraints."""

from oneflow.distributions import (
    constraints as constraints,
    kl_cross_family as kl_cross_family,
    kl_same_family as kl_same_family,
    transforms as transforms,
    utils as utils,
)
from oneflow.distributions.bernoulli import (
    Bernoulli as Bernoulli,
)
from oneflow.distributions.beta import (
    Beta as Beta,
)
from oneflow.distributions.binomial import (
    Binomial as Binomial,
)
from oneflow.distributions.categorical import (
    Categorical as Categorical,
)
from oneflow.distributions.cauchy import (
    Cauchy as Cauchy,
)
from oneflow.distributions.chi2 import (
    Chi2 as Chi2,
)
from oneflow.distributions.constraint_registry import (
    biject_to as biject_to,
    transform_to as transform_to,
)
from oneflow.distributions.continuous_bernoulli import (
    ContinuousBernoulli as ContinuousBernoulli,
)
from oneflow.distributions.dirichlet import (
    Dirichlet as Dirichlet,
)
from oneflow.distributions.distribution import (
    Distribution as Distribution,
)
from oneflow.distributions.exp_family import (
    ExponentialFamily as ExponentialFamily,
)
from oneflow.distributions.exponential import (
    Exponential as Exponential,
)
from oneflow.distributions.fishersnedecor import (
    FisherSnedecor as FisherSnedecor,
)
from oneflow.distributions.gamma import (
    Gamma as Gamma,
)
from oneflow.distributions.generalized_pareto import (
    GeneralizedPareto as GeneralizedPareto,
)
from oneflow.distributions.geometric import (
    Geometric as Geometric,
)
from oneflow.distributions.gumbel import (
    Gumbel as Gumbel,
)
from oneflow.distributions.half_cauchy import (
    HalfCauchy as HalfCauchy,
)
from oneflow.distributions.half_normal import (
    HalfNormal as HalfNormal,
)
from oneflow.distributions.independent import (
    Independent as Independent,
)
from oneflow.distributions.inverse_gamma import (
    InverseGamma as InverseGamma,
)
from oneflow.distributions.kl import (
    kl_divergence as kl_divergence,
    register_kl as register_kl,
)
from oneflow.distributions.kumaraswamy import (
    Kumaraswamy as Kumaraswamy,
)
from oneflow.distributions.laplace import (
    Laplace as Laplace,
)
from oneflow.distributions.lkj_cholesky import (
    LKJCholesky as LKJCholesky,
)
from oneflow.distributions.log_normal import (
    LogNormal as LogNormal,
)
from oneflow.distributions.logistic_normal import (
    LogisticNormal as LogisticNormal,
)
from oneflow.distributions.lowrank_multivariate_normal import (
    LowRankMultivariateNormal as LowRankMultivariateNormal,
)
from oneflow.distributions.mixture_same_family import (
    MixtureSameFamily as MixtureSameFamily,
)
from oneflow.distributions.multinomial import (
    Multinomial as Multinomial,
)
from oneflow.distributions.multivariate_normal import (
    MultivariateNormal as MultivariateNormal,
)
from oneflow.distributions.negative_binomial import (
    NegativeBinomial as NegativeBinomial,
)
from oneflow.distributions.normal import (
    Normal as Normal,
)
from oneflow.distributions.one_hot_categorical import (
    OneHotCategorical as OneHotCategorical,
    OneHotCategoricalStraightThrough as OneHotCategoricalStraightThrough,
)
from oneflow.distributions.pareto import (
    Pareto as Pareto,
)
from oneflow.distributions.poisson import (
    Poisson as Poisson,
)
from oneflow.distributions.relaxed_bernoulli import (
    RelaxedBernoulli as RelaxedBernoulli,
)
from oneflow.distributions.relaxed_categorical import (
    RelaxedOneHotCategorical as RelaxedOneHotCategorical,
)
from oneflow.distributions.studentT import (
    StudentT as StudentT,
)
from oneflow.distributions.transformed_distribution import (
    TransformedDistribution as TransformedDistribution,
)
from oneflow.distributions.transforms import (
    AbsTransform as AbsTransform,
    AffineTransform as AffineTransform,
    CatTransform as CatTransform,
    ComposeTransform as ComposeTransform,
    CorrCholeskyTransform as CorrCholeskyTransform,
    CumulativeDistributionTransform as CumulativeDistributionTransform,
    ExpTransform as ExpTransform,
    IndependentTransform as IndependentTransform,
    LowerCholeskyTransform as LowerCholeskyTransform,
    PositiveDefiniteTransform as PositiveDefiniteTransform,
    PowerTransform as PowerTransform,
    ReshapeTransform as ReshapeTransform,
    SigmoidTransform as SigmoidTransform,
    SoftmaxTransform as SoftmaxTransform,
    SoftplusTransform as SoftplusTransform,
    StackTransform as StackTransform,
    StickBreakingTransform as StickBreakingTransform,
    TanhTransform as TanhTransform,
    Transform as Transform,
    identity_transform as identity_transform,
)
from oneflow.distributions.uniform import (
    Uniform as Uniform,
)
from oneflow.distributions.von_mises import (
    VonMises as VonMises,
)
from oneflow.distributions.weibull import (
    Weibull as Weibull,
)
from oneflow.distributions.wishart import (
    Wishart as Wishart,
)
