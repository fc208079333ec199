"""Distributions of the size of symmetric numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar

from oneflow.distributions import constraints
from oneflow.distributions.cauchy import Cauchy
from oneflow.distributions.distribution import Distribution
from oneflow.distributions.elementwise_transforms import AbsTransform
from oneflow.distributions.normal import Normal
from oneflow.distributions.transform import Transform
from oneflow.functional.creation.factory_functions import full_like
from oneflow.tensor.tensor import Tensor

_LOG_2 = math.log(2)


class Folded(Distribution):
    """Base of distributions of the size of numbers whose distribution is symmetric about 0."""

    scale: Tensor
    has_rsample = True
    arg_constraints: ClassVar = {"scale": constraints.positive}
    support = constraints.nonnegative

    def __init__(self, scale: Any, validate_args: bool | None = None) -> None:
        self._set_parameters(validate_args, scale=scale)

    @property
    def base_dist(self) -> Normal | Cauchy:
        """The distribution of the numbers themselves."""
        raise NotImplementedError

    @property
    def transforms(self) -> list[Transform]:
        """The transforms that make draws of numbers of `base_dist`."""
        return [AbsTransform()]

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Draw; gradients flow to the parameters."""
        return self.base_dist.rsample(sample_shape).abs()

    @property
    def mode(self) -> Tensor:
        """The most probable value: 0."""
        return self.scale * 0

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the density."""
        self._validate_sample(value)
        density = self.base_dist.log_prob(value) + _LOG_2
        return density.where(value >= 0, full_like(density, -math.inf))

    def cdf(self, value: Tensor) -> Tensor:
        """The probability of a draw of at most `value`."""
        self._validate_sample(value)
        return 2 * self.base_dist.cdf(value) - 1

    def icdf(self, value: Tensor) -> Tensor:
        """Inverse of `cdf`: the quantile of `value`."""
        return self.base_dist.icdf((value + 1) / 2)

    def entropy(self) -> Tensor:
        """The entropy in nats."""
        return self.base_dist.entropy() - _LOG_2
