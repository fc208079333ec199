"""The gamma distribution and what follows from it: beta, Dirichlet, Student's t, F."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from oneflow.distributions.distribution import Distribution
from oneflow.functional.creation.factory_functions import full_like
from oneflow.functional.elementwise.binary import xlogy
from oneflow.functional.elementwise.special import igamma, igammac
from oneflow.functional.index.search import one_hot
from oneflow.functional.random.creation import randn
from oneflow.functional.shape.concat import stack
from oneflow.primitives.operators.sampling import random_gamma
from oneflow.random.generator import draw
from oneflow.tensor.call import call
from oneflow.tensor.tensor import Tensor


def _where(condition: Tensor, value: Tensor, other: float) -> Tensor:
    return value.where(condition, full_like(value, other))


class _ConcentrationAndRate(Distribution):
    """A distribution with the parameters of the gamma distribution."""

    concentration: Tensor
    rate: Tensor
    has_rsample = True
    _parameter_names = ("concentration", "rate")

    def __init__(self, concentration: Any, rate: Any, validate_args: bool | None = None) -> None:
        names = ("concentration", "rate")
        self._start(validate_args, names, concentration=concentration, rate=rate)


class Gamma(_ConcentrationAndRate):
    """The gamma distribution: the time until several events have happened.

    Args:
        concentration: number of events, positive.
        rate: events per unit of time, positive.
        validate_args: check parameters and values.

    Example:
        >>> import oneflow as flow
        >>> flow.distributions.Gamma(3.0, 2.0).mean
        tensor(1.5000, dtype=oneflow.float32)
    """

    @property
    def mean(self) -> Tensor:
        """The mean."""
        return self.concentration / self.rate

    @property
    def mode(self) -> Tensor:
        """The most probable value."""
        return ((self.concentration - 1) / self.rate).clamp(min=0)

    @property
    def variance(self) -> Tensor:
        """The variance."""
        return self.concentration / self.rate**2

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Draw; gradients flow to the parameters."""
        concentration = self.concentration.expand(self._shape(sample_shape))
        return call(random_gamma, concentration, *draw(None)) / self.rate

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the density."""
        self._check(value >= 0, "`value` must not be negative")
        k, rate = self.concentration, self.rate
        return xlogy(k, rate) + xlogy(k - 1, value) - rate * value - k.lgamma()

    def cdf(self, value: Tensor) -> Tensor:
        """The probability of a draw of at most `value`."""
        x = self.rate * value
        return igamma(self.concentration.expand(x.shape), x)

    def entropy(self) -> Tensor:
        """The entropy in nats."""
        k = self.concentration
        return k - self.rate.log() + k.lgamma() + (1 - k) * k.digamma()


class Chi2(Gamma):
    """The chi-squared distribution: a sum of squares of normal numbers.

    Args:
        df: how many, positive.
        validate_args: check parameters and values.

    Example:
        >>> import oneflow as flow
        >>> flow.distributions.Chi2(3.0).mean
        tensor(3., dtype=oneflow.float32)
    """

    df: Tensor
    _parameter_names = ("df",)

    def __init__(self, df: Any, validate_args: bool | None = None) -> None:
        self._start(validate_args, ("df",), df=df)
        self.concentration, self.rate = self.df / 2, full_like(self.df, 0.5)


class InverseGamma(_ConcentrationAndRate):
    """The distribution of the inverse of gamma numbers.

    Args:
        concentration: of the gamma distribution, positive.
        rate: of the gamma distribution, positive.
        validate_args: check parameters and values.

    Example:
        >>> import oneflow as flow
        >>> flow.distributions.InverseGamma(3.0, 2.0).mean
        tensor(1., dtype=oneflow.float32)
    """

    @property
    def mean(self) -> Tensor:
        """The mean; infinite up to a concentration of 1."""
        k = self.concentration
        return _where(k > 1, self.rate / (k - 1), math.inf)

    @property
    def mode(self) -> Tensor:
        """The most probable value."""
        return self.rate / (self.concentration + 1)

    @property
    def variance(self) -> Tensor:
        """The variance; infinite up to a concentration of 2."""
        k = self.concentration
        return _where(k > 2, self.rate**2 / ((k - 1) ** 2 * (k - 2)), math.inf)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Draw; gradients flow to the parameters."""
        return 1 / Gamma(self.concentration, self.rate, False).rsample(sample_shape)

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the density."""
        k, rate = self.concentration, self.rate
        return xlogy(k, rate) - (k + 1) * value.log() - rate / value - k.lgamma()

    def cdf(self, value: Tensor) -> Tensor:
        """The probability of a draw of at most `value`."""
        x = self.rate / value
        return igammac(self.concentration.expand(x.shape), x)

    def entropy(self) -> Tensor:
        """The entropy in nats."""
        k = self.concentration
        return k + self.rate.log() + k.lgamma() - (1 + k) * k.digamma()


class Dirichlet(Distribution):
    """The Dirichlet distribution: of shares that add up to 1.

    Args:
        concentration: ``[..., n]``, positive.
        validate_args: check parameters and values.

    Example:
        >>> import oneflow as flow
        >>> flow.distributions.Dirichlet(flow.tensor([1.0, 3.0])).mean
        tensor([0.2500, 0.7500], dtype=oneflow.float32)
    """

    has_rsample = True

    def __init__(self, concentration: Tensor, validate_args: bool | None = None) -> None:
        if concentration.ndim < 1:
            raise ValueError("Dirichlet: `concentration` must be at least one-dimensional.")
        self.concentration = concentration
        super().__init__(concentration.shape[:-1], concentration.shape[-1:], validate_args)
        self._check(concentration > 0, "`concentration` must be positive")

    def expand(self, batch_shape: Sequence[int]) -> Dirichlet:
        """The same distributions with a larger batch shape."""
        return Dirichlet(self.concentration.expand((*batch_shape, *self._event_shape)), False)

    @property
    def mean(self) -> Tensor:
        """The mean."""
        return self.concentration / self.concentration.sum(-1, True)

    @property
    def mode(self) -> Tensor:
        """The most probable shares; all in one if every concentration is less than 1."""
        above = (self.concentration - 1).clamp(min=0)
        inside = above / above.sum(-1, True)
        corner = one_hot(inside.argmax(-1), self._event_shape[0]).to(inside.dtype)
        return corner.where((self.concentration < 1).all(-1, True), inside)

    @property
    def variance(self) -> Tensor:
        """The variance."""
        total = self.concentration.sum(-1, True)
        return self.concentration * (total - self.concentration) / (total**2 * (total + 1))

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Draw; gradients flow to the parameters."""
        concentration = self.concentration.expand(self._shape(sample_shape))
        sizes = call(random_gamma, concentration, *draw(None))
        return sizes / sizes.sum(-1, True)

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the density."""
        self._check(value >= 0, "`value` must not be negative")
        k = self.concentration
        return xlogy(k - 1, value).sum(-1) + k.sum(-1).lgamma() - k.lgamma().sum(-1)

    def entropy(self) -> Tensor:
        """The entropy in nats."""
        k = self.concentration
        total, count = k.sum(-1), self._event_shape[0]
        of_parts = ((k - 1) * k.digamma()).sum(-1)
        return k.lgamma().sum(-1) - total.lgamma() - (count - total) * total.digamma() - of_parts


class Beta(Distribution):
    """The beta distribution on (0, 1).

    Args:
        concentration1: of the value, positive.
        concentration0: of what is left of 1, positive.
        validate_args: check parameters and values.

    Example:
        >>> import oneflow as flow
        >>> flow.distributions.Beta(1.0, 3.0).mean
        tensor(0.2500, dtype=oneflow.float32)
    """

    concentration1: Tensor
    concentration0: Tensor
    has_rsample = True
    _parameter_names = ("concentration1", "concentration0")

    def __init__(
        self, concentration1: Any, concentration0: Any, validate_args: bool | None = None
    ) -> None:
        numbers = {"concentration1": concentration1, "concentration0": concentration0}
        self._start(validate_args, tuple(numbers), **numbers)
        both = stack([self.concentration1, self.concentration0], -1)
        self._dirichlet = Dirichlet(both, False)

    @property
    def mean(self) -> Tensor:
        """The mean."""
        return self._dirichlet.mean[..., 0]

    @property
    def mode(self) -> Tensor:
        """The most probable value."""
        return self._dirichlet.mode[..., 0]

    @property
    def variance(self) -> Tensor:
        """The variance."""
        return self._dirichlet.variance[..., 0]

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Draw; gradients flow to the parameters."""
        return self._dirichlet.rsample(sample_shape)[..., 0]

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the density."""
        self._check((value >= 0) & (value <= 1), "`value` must be between 0 and 1")
        return self._dirichlet.log_prob(stack([value, 1 - value], -1))

    def entropy(self) -> Tensor:
        """The entropy in nats."""
        return self._dirichlet.entropy()


class StudentT(Distribution):
    """Student's t distribution.

    Args:
        df: degrees of freedom, positive.
        loc: middle.
        scale: positive.
        validate_args: check parameters and values.

    Example:
        >>> import oneflow as flow
        >>> flow.distributions.StudentT(4.0).variance
        tensor(2., dtype=oneflow.float32)
    """

    df: Tensor
    loc: Tensor
    scale: Tensor
    has_rsample = True
    _parameter_names = ("df", "loc", "scale")

    def __init__(
        self, df: Any, loc: Any = 0.0, scale: Any = 1.0, validate_args: bool | None = None
    ) -> None:
        self._start(validate_args, ("df", "scale"), df=df, loc=loc, scale=scale)

    @property
    def mean(self) -> Tensor:
        """The mean; NaN up to one degree of freedom."""
        return _where(self.df > 1, self.loc, math.nan)

    @property
    def mode(self) -> Tensor:
        """The most probable value: `loc`."""
        return self.loc

    @property
    def variance(self) -> Tensor:
        """The variance; infinite up to two degrees of freedom, NaN up to one."""
        found = self.scale**2 * self.df / (self.df - 2)
        return _where(self.df > 1, _where(self.df > 2, found, math.inf), math.nan)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Draw; gradients flow to the parameters."""
        normal = randn(self._shape(sample_shape), dtype=self.df.dtype, device=self.df.device)
        square = Chi2(self.df, False).rsample(sample_shape)
        return self.loc + self.scale * normal * (square / self.df).rsqrt()

    def _log_beta(self) -> Tensor:
        half = self.df / 2
        return half.lgamma() + math.lgamma(0.5) - (half + 0.5).lgamma()

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the density."""
        z = (value - self.loc) / self.scale
        size = self.scale.log() + 0.5 * self.df.log() + self._log_beta()
        return -0.5 * (self.df + 1) * (z * z / self.df).log1p() - size

    def entropy(self) -> Tensor:
        """The entropy in nats."""
        half = self.df / 2
        difference = (half + 0.5) * ((half + 0.5).digamma() - half.digamma())
        return self.scale.log() + difference + 0.5 * self.df.log() + self._log_beta()


class FisherSnedecor(Distribution):
    """The F distribution: of the quotient of two mean squares.

    Args:
        df1: degrees of freedom of the numerator, positive.
        df2: of the denominator, positive.
        validate_args: check parameters and values.

    Example:
        >>> import oneflow as flow
        >>> flow.distributions.FisherSnedecor(1.0, 4.0).mean
        tensor(2., dtype=oneflow.float32)
    """

    df1: Tensor
    df2: Tensor
    has_rsample = True
    _parameter_names = ("df1", "df2")

    def __init__(self, df1: Any, df2: Any, validate_args: bool | None = None) -> None:
        self._start(validate_args, ("df1", "df2"), df1=df1, df2=df2)

    @property
    def mean(self) -> Tensor:
        """The mean; NaN up to a `df2` of 2."""
        return _where(self.df2 > 2, self.df2 / (self.df2 - 2), math.nan)

    @property
    def mode(self) -> Tensor:
        """The most probable value; NaN up to a `df1` of 2."""
        found = (self.df1 - 2) / self.df1 * self.df2 / (self.df2 + 2)
        return _where(self.df1 > 2, found, math.nan)

    @property
    def variance(self) -> Tensor:
        """The variance; NaN up to a `df2` of 4."""
        n, m = self.df1, self.df2
        found = 2 * m**2 * (n + m - 2) / (n * (m - 2) ** 2 * (m - 4))
        return _where(m > 4, found, math.nan)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Draw; gradients flow to the parameters."""
        squares = [Chi2(df, False).rsample(sample_shape) / df for df in (self.df1, self.df2)]
        return squares[0] / squares[1]

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the density."""
        n, m, ratio = self.df1 / 2, self.df2 / 2, self.df1 / self.df2
        size = (n + m).lgamma() - n.lgamma() - m.lgamma()
        power = n * ratio.log() + (n - 1) * value.log()
        return size + power - (n + m) * (ratio * value).log1p()
