"""The half-Cauchy distribution."""

from __future__ import annotations

import math

from oneflow.distributions.cauchy import Cauchy
from oneflow.distributions.folded import Folded
from oneflow.distributions.transformed_distribution import TransformedDistribution
from oneflow.functional.creation.factory_functions import full_like
from oneflow.tensor.tensor import Tensor


@TransformedDistribution.register
class HalfCauchy(Folded):
    """The size of Cauchy numbers of median 0.

    Args:
        scale: median of the size, positive.
        validate_args: check parameters and values.

    Example:
        >>> import oneflow as flow
        >>> flow.distributions.HalfCauchy(1.0).cdf(flow.tensor(1.0))
        tensor(0.5000, dtype=oneflow.float32)
    """

    @property
    def base_dist(self) -> Cauchy:
        """The distribution of the numbers whose size is drawn."""
        return Cauchy(self.scale * 0, self.scale, False)

    @property
    def mean(self) -> Tensor:
        """Infinity."""
        return full_like(self.scale, math.inf)

    @property
    def variance(self) -> Tensor:
        """Infinity."""
        return full_like(self.scale, math.inf)
