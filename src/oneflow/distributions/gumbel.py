"""The Gumbel distribution."""

from __future__ import annotations

import math

import numpy as np

from oneflow.base.limits import finfo
from oneflow.distributions.elementwise_transforms import AffineTransform, ExpTransform
from oneflow.distributions.inverse_transform_sampling import LocationScale
from oneflow.distributions.transform import Transform
from oneflow.distributions.transformed_distribution import TransformedDistribution
from oneflow.distributions.uniform import Uniform
from oneflow.functional.creation.factory_functions import full_like, ones_like
from oneflow.tensor.tensor import Tensor


@TransformedDistribution.register
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
    def base_dist(self) -> Uniform:
        """A distribution of which draws are made by `transforms`, as in PyTorch."""
        info = finfo(self.loc.dtype)
        return Uniform(full_like(self.loc, info.tiny), full_like(self.loc, 1 - info.eps), False)

    @property
    def transforms(self) -> list[Transform]:
        """The transforms that make draws of numbers of `base_dist`."""
        signs = -ones_like(self.scale)
        log = ExpTransform().inv
        moved = AffineTransform(self.loc, -self.scale)
        return [log, AffineTransform(0, signs), log, moved]

    @property
    def mean(self) -> Tensor:
        """The mean."""
        return self.loc + self.scale * np.euler_gamma

    @property
    def variance(self) -> Tensor:
        """The variance."""
        return math.pi**2 / 6 * self.scale**2

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the density."""
        self._validate_sample(value)
        z = (self.loc - value) / self.scale
        return z - z.exp() - self.scale.log()

    def cdf(self, value: Tensor) -> Tensor:
        """The probability of a draw of at most `value`."""
        self._validate_sample(value)
        return (-((self.loc - value) / self.scale).exp()).exp()

    def icdf(self, value: Tensor) -> Tensor:
        """Inverse of `cdf`: the quantile of `value`."""
        return self.loc - self.scale * (-value.log()).log()

    def entropy(self) -> Tensor:
        """The entropy in nats."""
        return self.scale.log() + 1 + np.euler_gamma
