"""The Kumaraswamy distribution."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np

from oneflow.distributions import constraints
from oneflow.distributions.elementwise_transforms import AffineTransform, PowerTransform
from oneflow.distributions.inverse_transform_sampling import InverseTransformSampling
from oneflow.distributions.transform import Transform
from oneflow.distributions.transformed_distribution import TransformedDistribution
from oneflow.distributions.uniform import Uniform
from oneflow.functional.creation.factory_functions import full_like, ones_like, zeros_like
from oneflow.tensor.tensor import Tensor


@TransformedDistribution.register
class Kumaraswamy(InverseTransformSampling):
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

    arg_constraints: ClassVar = {
        "concentration1": constraints.positive,
        "concentration0": constraints.positive,
    }
    support = constraints.unit_interval
    concentration1: Tensor
    concentration0: Tensor

    def __init__(
        self, concentration1: Any, concentration0: Any, validate_args: bool | None = None
    ) -> None:
        self._set_parameters(
            validate_args, concentration1=concentration1, concentration0=concentration0
        )

    @property
    def base_dist(self) -> Uniform:
        """A distribution of which draws are made by `transforms`, as in PyTorch."""
        return Uniform(zeros_like(self.concentration0), ones_like(self.concentration0), False)

    @property
    def transforms(self) -> list[Transform]:
        """The transforms that make draws of numbers of `base_dist`."""
        inner, outer = 1 / self.concentration0, 1 / self.concentration1
        return [PowerTransform(inner), AffineTransform(1, -1), PowerTransform(outer)]

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
        maximum = ((a - 1) / (a * b - 1)) ** (1 / a)
        return maximum.where((a >= 1) & (b >= 1), full_like(maximum, math.nan))

    @property
    def variance(self) -> Tensor:
        """The variance."""
        return self._moment(2) - self._moment(1) ** 2

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the density."""
        self._validate_sample(value)
        a, b = self.concentration1, self.concentration0
        return (a * b).log() + (a - 1) * value.log() + (b - 1) * (-(value**a)).log1p()

    def cdf(self, value: Tensor) -> Tensor:
        """The probability of a draw of at most `value`."""
        self._validate_sample(value)
        return 1 - (1 - value**self.concentration1) ** self.concentration0

    def icdf(self, value: Tensor) -> Tensor:
        """Inverse of `cdf`: the quantile of `value`."""
        rest = (1 - value) ** (1 / self.concentration0)
        return (1 - rest) ** (1 / self.concentration1)

    def entropy(self) -> Tensor:
        """The entropy in nats."""
        a, b = self.concentration1, self.concentration0
        harmonic_number = (b + 1).digamma() + np.euler_gamma
        return (1 - 1 / b) + (1 - 1 / a) * harmonic_number - (a * b).log()
