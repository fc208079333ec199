"""The normal distribution."""

from __future__ import annotations

import math
from collections.abc import Sequence

from oneflow.distributions.exp_family import ExponentialFamily
from oneflow.distributions.inverse_transform_sampling import LocationScale
from oneflow.functional.random.creation import randn_like
from oneflow.tensor.tensor import Tensor


class Normal(LocationScale, ExponentialFamily):
    """The normal distribution.

    Args:
        loc: mean.
        scale: standard deviation, positive.
        validate_args: check parameters and values.

    Example:
        >>> import oneflow as flow
        >>> flow.distributions.Normal(0.0, 1.0).log_prob(flow.tensor(0.0))
        tensor(-0.9189, dtype=oneflow.float32)
    """

    @property
    def mean(self) -> Tensor:
        """The mean: `loc`."""
        return self.loc

    @property
    def variance(self) -> Tensor:
        """The variance: the square of `scale`."""
        return self.scale * self.scale

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Draw; gradients flow to the parameters."""
        noise = randn_like(self.loc.expand(self._extended_shape(sample_shape)))
        return self.loc + noise * self.scale

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the density."""
        self._validate_sample(value)
        z = (value - self.loc) / self.scale
        return z * z * -0.5 - self.scale.log() - 0.5 * math.log(2 * math.pi)

    def cdf(self, value: Tensor) -> Tensor:
        """The probability of a draw of at most `value`."""
        self._validate_sample(value)
        return ((value - self.loc) / (self.scale * math.sqrt(2))).erf() * 0.5 + 0.5

    def icdf(self, value: Tensor) -> Tensor:
        """Inverse of `cdf`: the quantile of `value`."""
        return self.loc + self.scale * math.sqrt(2) * (value * 2 - 1).erfinv()

    def entropy(self) -> Tensor:
        """The entropy in nats."""
        return self.scale.log() + (0.5 + 0.5 * math.log(2 * math.pi))

    @property
    def _natural_params(self) -> tuple[Tensor, Tensor]:
        return self.loc / self.scale**2, -0.5 / self.scale**2

    def _log_normalizer(self, first: Tensor, second: Tensor) -> Tensor:
        return -0.25 * first**2 / second + 0.5 * (-math.pi / second).log()
