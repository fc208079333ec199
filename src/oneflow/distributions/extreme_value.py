"""Continuous distributions of extremes, products and times until failure."""

from __future__ import annotations

import math
from typing import Any

from oneflow.distributions.continuous import LocationScale, OfUniform
from oneflow.distributions.distributions import Normal
from oneflow.functional.creation.factory_functions import full_like
from oneflow.tensor.tensor import Tensor

_EULER = 0.57721566490153286


class Gumbel(LocationScale):
    """The Gumbel distribution: of the largest of many numbers.

    Args:
        loc: most probable value.
        scale: positive.
        validate_args: check parameters and values.

    Example:
        >>> import oneflow as flow
        >>> flow.distributions.Gumbel(0.0, 1.0).mean
        tensor(0.5772, dtype=oneflow.float32)
    """

    @property
    def mean(self) -> Tensor:
        """The mean."""
        return self.loc + self.scale * _EULER

    @property
    def variance(self) -> Tensor:
        """The variance."""
        return math.pi**2 / 6 * self.scale**2

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the density."""
        z = (self.loc - value) / self.scale
        return z - z.exp() - self.scale.log()

    def cdf(self, value: Tensor) -> Tensor:
        """The probability of a draw of at most `value`."""
        return (-((self.loc - value) / self.scale).exp()).exp()

    def icdf(self, value: Tensor) -> Tensor:
        """Inverse of `cdf`: the quantile of `value`."""
        return self.loc - self.scale * (-value.log()).log()

    def entropy(self) -> Tensor:
        """The entropy in nats."""
        return self.scale.log() + 1 + _EULER


class LogNormal(LocationScale):
    """Numbers whose logarithms have a normal distribution.

    Args:
        loc: mean of the logarithms.
        scale: their standard deviation, positive.
        validate_args: check parameters and values.

    Example:
        >>> import oneflow as flow
        >>> flow.distributions.LogNormal(0.0, 1.0).mode
        tensor(0.3679, dtype=oneflow.float32)
    """

    @property
    def base_dist(self) -> Normal:
        """The distribution of the logarithms."""
        return Normal(self.loc, self.scale, False)

    @property
    def mean(self) -> Tensor:
        """The mean."""
        return (self.loc + self.scale**2 / 2).exp()

    @property
    def mode(self) -> Tensor:
        """The most probable value."""
        return (self.loc - self.scale**2).exp()

    @property
    def variance(self) -> Tensor:
        """The variance."""
        square = self.scale**2
        return square.expm1() * (2 * self.loc + square).exp()

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the density."""
        log_value = value.log()
        return self.base_dist.log_prob(log_value) - log_value

    def cdf(self, value: Tensor) -> Tensor:
        """The probability of a draw of at most `value`."""
        return self.base_dist.cdf(value.log())

    def icdf(self, value: Tensor) -> Tensor:
        """Inverse of `cdf`: the quantile of `value`."""
        return self.base_dist.icdf(value).exp()

    def entropy(self) -> Tensor:
        """The entropy in nats."""
        return self.base_dist.entropy() + self.loc


class Weibull(OfUniform):
    """The Weibull distribution: times until something fails.

    Args:
        scale: positive.
        concentration: positive; 1 is the exponential distribution.
        validate_args: check parameters and values.

    Example:
        >>> import oneflow as flow
        >>> flow.distributions.Weibull(1.0, 1.0).mean
        tensor(1., dtype=oneflow.float32)
    """

    scale: Tensor
    concentration: Tensor
    _parameter_names = ("scale", "concentration")

    def __init__(self, scale: Any, concentration: Any, validate_args: bool | None = None) -> None:
        names = self._parameter_names
        self._start(validate_args, names, scale=scale, concentration=concentration)

    def _moment(self, order: int) -> Tensor:
        """The mean of a power, in units of `scale`."""
        return (1 + order / self.concentration).lgamma().exp()

    @property
    def mean(self) -> Tensor:
        """The mean."""
        return self.scale * self._moment(1)

    @property
    def mode(self) -> Tensor:
        """The most probable value."""
        k = self.concentration
        return self.scale * ((k - 1) / k).clamp(min=0) ** (1 / k)

    @property
    def variance(self) -> Tensor:
        """The variance."""
        return self.scale**2 * (self._moment(2) - self._moment(1) ** 2)

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the density."""
        k, ratio = self.concentration, value / self.scale
        return (k / self.scale).log() + (k - 1) * ratio.log() - ratio**k

    def cdf(self, value: Tensor) -> Tensor:
        """The probability of a draw of at most `value`."""
        return -(-((value / self.scale) ** self.concentration)).expm1()

    def icdf(self, value: Tensor) -> Tensor:
        """Inverse of `cdf`: the quantile of `value`."""
        return self.scale * (-(-value).log1p()) ** (1 / self.concentration)

    def entropy(self) -> Tensor:
        """The entropy in nats."""
        k = self.concentration
        return _EULER * (1 - 1 / k) + (self.scale / k).log() + 1


class Pareto(OfUniform):
    """The Pareto distribution: few are large, most are small.

    Args:
        scale: smallest value, positive.
        alpha: decay of the tail, positive.
        validate_args: check parameters and values.

    Example:
        >>> import oneflow as flow
        >>> flow.distributions.Pareto(1.0, 2.0).mean
        tensor(2., dtype=oneflow.float32)
    """

    scale: Tensor
    alpha: Tensor
    _parameter_names = ("scale", "alpha")

    def __init__(self, scale: Any, alpha: Any, validate_args: bool | None = None) -> None:
        self._start(validate_args, self._parameter_names, scale=scale, alpha=alpha)

    @property
    def mean(self) -> Tensor:
        """The mean; infinite up to an `alpha` of 1."""
        alpha = self.alpha.clamp(min=1)
        return alpha * self.scale / (alpha - 1)

    @property
    def mode(self) -> Tensor:
        """The most probable value: the smallest."""
        return self.scale

    @property
    def variance(self) -> Tensor:
        """The variance; infinite up to an `alpha` of 2."""
        alpha = self.alpha.clamp(min=2)
        return self.scale**2 * alpha / ((alpha - 1) ** 2 * (alpha - 2))

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the density."""
        self._check(value >= self.scale, "`value` must be at least `scale`")
        return self.alpha.log() + self.alpha * self.scale.log() - (self.alpha + 1) * value.log()

    def cdf(self, value: Tensor) -> Tensor:
        """The probability of a draw of at most `value`."""
        return 1 - (self.scale / value) ** self.alpha

    def icdf(self, value: Tensor) -> Tensor:
        """Inverse of `cdf`: the quantile of `value`."""
        return self.scale * (1 - value) ** (-1 / self.alpha)

    def entropy(self) -> Tensor:
        """The entropy in nats."""
        return (self.scale / self.alpha).log() + 1 / self.alpha + 1


class Kumaraswamy(OfUniform):
    """The Kumaraswamy distribution on (0, 1), much like the beta distribution.

    Args:
        concentration1: exponent of the value, positive.
        concentration0: exponent of what is left of 1, positive.
        validate_args: check parameters and values.

    Example:
        >>> import oneflow as flow
        >>> flow.distributions.Kumaraswamy(1.0, 1.0).mean
        tensor(0.5000, dtype=oneflow.float32)
    """

    concentration1: Tensor
    concentration0: Tensor
    _parameter_names = ("concentration1", "concentration0")

    def __init__(
        self, concentration1: Any, concentration0: Any, validate_args: bool | None = None
    ) -> None:
        names = self._parameter_names
        numbers = dict(zip(names, (concentration1, concentration0), strict=True))
        self._start(validate_args, names, **numbers)

    def _moment(self, order: int) -> Tensor:
        """The mean of a power."""
        a, b = self.concentration1, self.concentration0
        power = 1 + order / a
        return (b.log() + power.lgamma() + b.lgamma() - (power + b).lgamma()).exp()

    @property
    def mean(self) -> Tensor:
        """The mean."""
        return self._moment(1)

    @property
    def mode(self) -> Tensor:
        """The most probable value; NaN if a concentration is less than 1."""
        a, b = self.concentration1, self.concentration0
        found = ((a - 1) / (a * b - 1)) ** (1 / a)
        return found.where((a >= 1) & (b >= 1), full_like(found, math.nan))

    @property
    def variance(self) -> Tensor:
        """The variance."""
        return self._moment(2) - self._moment(1) ** 2

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the density."""
        a, b = self.concentration1, self.concentration0
        return (a * b).log() + (a - 1) * value.log() + (b - 1) * (-(value**a)).log1p()

    def cdf(self, value: Tensor) -> Tensor:
        """The probability of a draw of at most `value`."""
        return 1 - (1 - value**self.concentration1) ** self.concentration0

    def icdf(self, value: Tensor) -> Tensor:
        """Inverse of `cdf`: the quantile of `value`."""
        rest = (1 - value) ** (1 / self.concentration0)
        return (1 - rest) ** (1 / self.concentration1)

    def entropy(self) -> Tensor:
        """The entropy in nats."""
        a, b = self.concentration1, self.concentration0
        harmonic = (b + 1).digamma() + _EULER
        return (1 - 1 / b) + (1 - 1 / a) * harmonic - (a * b).log()
