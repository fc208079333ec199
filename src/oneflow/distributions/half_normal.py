"""The half-normal distribution."""

from __future__ import annotations

import math

from oneflow.distributions.folded import Folded
from oneflow.distributions.normal import Normal
from oneflow.distributions.transformed_distribution import TransformedDistribution
from oneflow.tensor.tensor import Tensor


@TransformedDistribution.register
class HalfNormal(Folded):
    """The size of normal numbers of mean 0.

    Args:
        scale: their standard deviation, positive.
        validate_args: check parameters and values.

    Example:
        >>> import oneflow as flow
        >>> flow.distributions.HalfNormal(1.0).mean
        tensor(0.7979, dtype=oneflow.float32)
    """

    @property
    def base_dist(self) -> Normal:
        """The distribution of the numbers whose size is drawn."""
        return Normal(self.scale * 0, self.scale, False)

    @property
    def mean(self) -> Tensor:
        """The mean."""
        return self.scale * math.sqrt(2 / math.pi)

    @property
    def variance(self) -> Tensor:
        """The variance."""
        return self.scale**2 * (1 - 2 / math.pi)
