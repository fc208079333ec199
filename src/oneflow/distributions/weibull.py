"""The Weibull distribution."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from oneflow.distributions import constraints
from oneflow.distributions.elementwise_transforms import AffineTransform, PowerTransform
from oneflow.distributions.exponential import Exponential
from oneflow.distributions.inverse_transform_sampling import InverseTransformSampling
from oneflow.distributions.transform import Transform
from oneflow.distributions.transformed_distribution import TransformedDistribution
from oneflow.functional.creation.factory_functions import ones_like
from oneflow.tensor.tensor import Tensor


@TransformedDistribution.register
class Weibull(InverseTransformSampling):
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

    arg_constraints: ClassVar = {
        "scale": constraints.positive,
        "concentration": constraints.positive,
    }
    support = constraints.positive
    scale: Tensor
    concentration: Tensor

    def __init__(self, scale: Any, concentration: Any, validate_args: bool | None = None) -> None:
        self._set_parameters(validate_args, scale=scale, concentration=concentration)

    @property
    def base_dist(self) -> Exponential:
        """A distribution of which draws are made by `transforms`, as in PyTorch."""
        return Exponential(ones_like(self.scale), False)

    @property
    def transforms(self) -> list[Transform]:
        """The transforms that make draws of numbers of `base_dist`."""
        return [PowerTransform(1 / self.concentration), AffineTransform(0, self.scale)]

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
        self._validate_sample(value)
        k, ratio = self.concentration, value / self.scale
        return (k / self.scale).log() + (k - 1) * ratio.log() - ratio**k

    def cdf(self, value: Tensor) -> Tensor:
        """The probability of a draw of at most `value`."""
        self._validate_sample(value)
        return -(-((value / self.scale) ** self.concentration)).expm1()

    def icdf(self, value: Tensor) -> Tensor:
        """Inverse of `cdf`: the quantile of `value`."""
        return self.scale * (-(-value).log1p()) ** (1 / self.concentration)

    def entropy(self) -> Tensor:
        """The entropy in nats."""
        k = self.concentration
        return np.euler_gamma * (1 - 1 / k) + (self.scale / k).log() + 1
