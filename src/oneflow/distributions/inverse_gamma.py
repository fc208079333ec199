"""The inverse gamma distribution."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from oneflow.distributions import constraints
from oneflow.distributions.elementwise_transforms import PowerTransform
from oneflow.distributions.gamma import Gamma
from oneflow.distributions.transformed_distribution import TransformedDistribution
from oneflow.functional.elementwise.clamp import where
from oneflow.tensor.tensor import Tensor


class InverseGamma(TransformedDistribution):
    """The distribution of the inverse of gamma numbers.

    Args:
        concentration: the concentration of the gamma distribution, positive.
        rate: the rate of the gamma distribution, positive.
        validate_args: check parameters and values.

    Example:
        >>> import oneflow as flow
        >>> flow.distributions.InverseGamma(3.0, 2.0).mean
        tensor(1., dtype=oneflow.float32)
    """

    arg_constraints: ClassVar = {
        "concentration": constraints.positive,
        "rate": constraints.positive,
    }
    support = constraints.positive

    def __init__(self, concentration: Any, rate: Any, validate_args: bool | None = None) -> None:
        gamma = Gamma(concentration, rate, False)
        super().__init__(gamma, PowerTransform(-1.0), validate_args)

    @property
    def concentration(self) -> Tensor:
        """The concentration of the gamma distribution."""
        return self.base_dist.concentration

    @property
    def rate(self) -> Tensor:
        """The rate of the gamma distribution."""
        return self.base_dist.rate

    @property
    def mean(self) -> Tensor:
        """The mean; infinite up to a concentration of 1."""
        k = self.concentration
        return where(k > 1, self.rate / (k - 1), math.inf)

    @property
    def mode(self) -> Tensor:
        """The most probable value."""
        return self.rate / (self.concentration + 1)

    @property
    def variance(self) -> Tensor:
        """The variance; infinite up to a concentration of 2."""
        k = self.concentration
        return where(k > 2, self.rate**2 / ((k - 1) ** 2 * (k - 2)), math.inf)

    def entropy(self) -> Tensor:
        """The entropy in nats."""
        k = self.concentration
        return k + self.rate.log() + k.lgamma() - (1 + k) * k.digamma()
