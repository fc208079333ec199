"""The Laplace distribution."""

from __future__ import annotations

from oneflow.distributions.inverse_transform_sampling import LocationScale
from oneflow.tensor.tensor import Tensor


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
        self._validate_sample(value)
        return -(2 * self.scale).log() - (value - self.loc).abs() / self.scale

    def cdf(self, value: Tensor) -> Tensor:
        """The probability of a draw of at most `value`."""
        self._validate_sample(value)
        z = (value - self.loc) / self.scale
        return 0.5 - 0.5 * z.sign() * (-z.abs()).expm1()

    def icdf(self, value: Tensor) -> Tensor:
        """Inverse of `cdf`: the quantile of `value`."""
        side = value - 0.5
        return self.loc - self.scale * side.sign() * (-2 * side.abs()).log1p()

    def entropy(self) -> Tensor:
        """The entropy in nats."""
        return 1 + (2 * self.scale).log()
