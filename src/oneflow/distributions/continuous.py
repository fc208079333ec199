"""Continuous distributions whose draws are functions of uniform and normal numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from oneflow.distributions.distribution import Distribution
from oneflow.distributions.distributions import Normal
from oneflow.functional.creation.factory_functions import full_like
from oneflow.functional.random.creation import rand
from oneflow.tensor.tensor import Tensor

_LOG_2 = math.log(2)


class OfUniform(Distribution):
    """A distribution whose draws are quantiles of uniform numbers."""

    has_rsample = True

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Draw; gradients flow to the parameters."""
        like: Tensor = getattr(self, self._parameter_names[0])
        uniform = rand(self._shape(sample_shape), dtype=like.dtype, device=like.device)
        # In the middle of each step, so that no quantile is infinite.
        step = 2.0 ** (-24 if like.dtype.name == "float32" else -53)
        return self.icdf(uniform * (1 - 2 * step) + step)


class LocationScale(OfUniform):
    """A distribution that is moved to `loc` and stretched by `scale`."""

    loc: Tensor
    scale: Tensor
    _parameter_names = ("loc", "scale")

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        self._start(validate_args, ("scale",), loc=loc, scale=scale)

    @property
    def mode(self) -> Tensor:
        """The most probable value: `loc`."""
        return self.loc


class Exponential(OfUniform):
    """The exponential distribution: times between events.

    Args:
        rate: events per unit of time, positive.
        validate_args: check parameters and values.

    Example:
        >>> import oneflow as flow
        >>> flow.distributions.Exponential(2.0).mean
        tensor(0.5000, dtype=oneflow.float32)
    """

    rate: Tensor
    _parameter_names = ("rate",)

    def __init__(self, rate: Any, validate_args: bool | None = None) -> None:
        self._start(validate_args, ("rate",), rate=rate)

    @property
    def mean(self) -> Tensor:
        """The mean."""
        return 1 / self.rate

    @property
    def mode(self) -> Tensor:
        """The most probable value: 0."""
        return self.rate * 0

    @property
    def variance(self) -> Tensor:
        """The variance."""
        return self.rate**-2

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the density."""
        self._check(value >= 0, "`value` must not be negative")
        return self.rate.log() - self.rate * value

    def cdf(self, value: Tensor) -> Tensor:
        """The probability of a draw of at most `value`."""
        return -(-self.rate * value).expm1()

    def icdf(self, value: Tensor) -> Tensor:
        """Inverse of `cdf`: the quantile of `value`."""
        return -(-value).log1p() / self.rate

    def entropy(self) -> Tensor:
        """The entropy in nats."""
        return 1 - self.rate.log()


class Laplace(LocationScale):
    """The Laplace distribution: two exponential ones back to back.

    Args:
        loc: mean.
        scale: mean distance from it, positive.
        validate_args: check parameters and values.

    Example:
        >>> import oneflow as flow
        >>> flow.distributions.Laplace(0.0, 1.0).variance
        tensor(2., dtype=oneflow.float32)
    """

    @property
    def mean(self) -> Tensor:
        """The mean: `loc`."""
        return self.loc

    @property
    def variance(self) -> Tensor:
        """The variance."""
        return 2 * self.scale**2

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the density."""
        return -(2 * self.scale).log() - (value - self.loc).abs() / self.scale

    def cdf(self, value: Tensor) -> Tensor:
        """The probability of a draw of at most `value`."""
        z = (value - self.loc) / self.scale
        return 0.5 - 0.5 * z.sign() * (-z.abs()).expm1()

    def icdf(self, value: Tensor) -> Tensor:
        """Inverse of `cdf`: the quantile of `value`."""
        side = value - 0.5
        return self.loc - self.scale * side.sign() * (-2 * side.abs()).log1p()

    def entropy(self) -> Tensor:
        """The entropy in nats."""
        return 1 + (2 * self.scale).log()


class Cauchy(LocationScale):
    """The Cauchy distribution, which has neither mean nor variance.

    Args:
        loc: median.
        scale: half the distance between the quartiles, positive.
        validate_args: check parameters and values.

    Example:
        >>> import oneflow as flow
        >>> flow.distributions.Cauchy(0.0, 1.0).cdf(flow.tensor(1.0))
        tensor(0.7500, dtype=oneflow.float32)
    """

    @property
    def mean(self) -> Tensor:
        """NaN: there is none."""
        return full_like(self.loc, math.nan)

    @property
    def variance(self) -> Tensor:
        """Infinity."""
        return full_like(self.loc, math.inf)

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the density."""
        z = (value - self.loc) / self.scale
        return -math.log(math.pi) - self.scale.log() - (z * z).log1p()

    def cdf(self, value: Tensor) -> Tensor:
        """The probability of a draw of at most `value`."""
        return ((value - self.loc) / self.scale).atan() / math.pi + 0.5

    def icdf(self, value: Tensor) -> Tensor:
        """Inverse of `cdf`: the quantile of `value`."""
        return self.loc + self.scale * (math.pi * (value - 0.5)).tan()

    def entropy(self) -> Tensor:
        """The entropy in nats."""
        return math.log(4 * math.pi) + self.scale.log()


class HalfNormal(OfUniform):
    """The size of normal numbers of mean 0.

    Args:
        scale: their standard deviation, positive.
        validate_args: check parameters and values.

    Example:
        >>> import oneflow as flow
        >>> flow.distributions.HalfNormal(1.0).mean
        tensor(0.7979, dtype=oneflow.float32)
    """

    scale: Tensor
    _parameter_names = ("scale",)
    # Of the numbers themselves.
    _two_sided: type[Normal] | type[Cauchy] = Normal

    def __init__(self, scale: Any, validate_args: bool | None = None) -> None:
        self._start(validate_args, ("scale",), scale=scale)

    @property
    def _symmetric(self) -> Normal | Cauchy:
        return self._two_sided(self.scale * 0, self.scale, False)

    @property
    def mean(self) -> Tensor:
        """The mean."""
        return self.scale * math.sqrt(2 / math.pi)

    @property
    def mode(self) -> Tensor:
        """The most probable value: 0."""
        return self.scale * 0

    @property
    def variance(self) -> Tensor:
        """The variance."""
        return self.scale**2 * (1 - 2 / math.pi)

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the density."""
        self._check(value >= 0, "`value` must not be negative")
        density = self._symmetric.log_prob(value) + _LOG_2
        return density.where(value >= 0, full_like(density, -math.inf))

    def cdf(self, value: Tensor) -> Tensor:
        """The probability of a draw of at most `value`."""
        return 2 * self._symmetric.cdf(value) - 1

    def icdf(self, value: Tensor) -> Tensor:
        """Inverse of `cdf`: the quantile of `value`."""
        return self._symmetric.icdf((value + 1) / 2)

    def entropy(self) -> Tensor:
        """The entropy in nats."""
        return self._symmetric.entropy() - _LOG_2


class HalfCauchy(HalfNormal):
    """The size of Cauchy numbers of median 0.

    Args:
        scale: median of the size, positive.
        validate_args: check parameters and values.

    Example:
        >>> import oneflow as flow
        >>> flow.distributions.HalfCauchy(1.0).cdf(flow.tensor(1.0))
        tensor(0.5000, dtype=oneflow.float32)
    """

    _two_sided = Cauchy

    @property
    def mean(self) -> Tensor:
        """Infinity."""
        return full_like(self.scale, math.inf)

    @property
    def variance(self) -> Tensor:
        """Infinity."""
        return full_like(self.scale, math.inf)
