"""The Cauchy distribution."""

from __future__ import annotations

import math

from oneflow.distributions.inverse_transform_sampling import LocationScale
from oneflow.functional.creation.factory_functions import full_like
from oneflow.tensor.tensor import Tensor


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
        self._validate_sample(value)
        z = (value - self.loc) / self.scale
        return -math.log(math.pi) - self.scale.log() - (z * z).log1p()

    def cdf(self, value: Tensor) -> Tensor:
        """The probability of a draw of at most `value`."""
        self._validate_sample(value)
        return ((value - self.loc) / self.scale).atan() / math.pi + 0.5

    def icdf(self, value: Tensor) -> Tensor:
        """Inverse of `cdf`: the quantile of `value`."""
        return self.loc + self.scale * (math.pi * (value - 0.5)).tan()

    def entropy(self) -> Tensor:
        """The entropy in nats."""
        return math.log(4 * math.pi) + self.scale.log()
