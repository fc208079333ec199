"""The Pareto distribution."""

from __future__ import annotations

from typing import Any, ClassVar

from oneflow.distributions import constraints
from oneflow.distributions.elementwise_transforms import AffineTransform, ExpTransform
from oneflow.distributions.exponential import Exponential
from oneflow.distributions.inverse_transform_sampling import InverseTransformSampling
from oneflow.distributions.transform import Transform
from oneflow.distributions.transformed_distribution import TransformedDistribution
from oneflow.tensor.tensor import Tensor


@TransformedDistribution.register
class Pareto(InverseTransformSampling):
    """The Pareto distribution: few are large, most are small.

    Args:
        scale: smallest value, positive.
        alpha: decay of the tail, positive.
        validate_args: check parameters and values.

    Example:
        >>> import oneflow as flow
        >>> flow.distributions.Pareto(1.0, 2.0).mean
        tensor(2., dtype=oneflow.float32)
    """

    arg_constraints: ClassVar = {"scale": constraints.positive, "alpha": constraints.positive}

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> constraints.Constraint:
        """The numbers of at least `scale`."""
        return constraints.greater_than_eq(self.scale)

    scale: Tensor
    alpha: Tensor

    def __init__(self, scale: Any, alpha: Any, validate_args: bool | None = None) -> None:
        self._set_parameters(validate_args, scale=scale, alpha=alpha)

    @property
    def base_dist(self) -> Exponential:
        """A distribution of which draws are made by `transforms`, as in PyTorch."""
        return Exponential(self.alpha, False)

    @property
    def transforms(self) -> list[Transform]:
        """The transforms that make draws of numbers of `base_dist`."""
        return [ExpTransform(), AffineTransform(0, self.scale)]

    @property
    def mean(self) -> Tensor:
        """The mean; infinite up to an `alpha` of 1."""
        alpha = self.alpha.clamp(min=1)
        return alpha * self.scale / (alpha - 1)

    @property
    def mode(self) -> Tensor:
        """The most probable value: the smallest."""
        return self.scale

    @property
    def variance(self) -> Tensor:
        """The variance; infinite up to an `alpha` of 2."""
        alpha = self.alpha.clamp(min=2)
        return self.scale**2 * alpha / ((alpha - 1) ** 2 * (alpha - 2))

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the density."""
        self._validate_sample(value)
        return self.alpha.log() + self.alpha * self.scale.log() - (self.alpha + 1) * value.log()

    def cdf(self, value: Tensor) -> Tensor:
        """The probability of a draw of at most `value`."""
        self._validate_sample(value)
        return 1 - (self.scale / value) ** self.alpha

    def icdf(self, value: Tensor) -> Tensor:
        """Inverse of `cdf`: the quantile of `value`."""
        return self.scale * (1 - value) ** (-1 / self.alpha)

    def entropy(self) -> Tensor:
        """The entropy in nats."""
        return (self.scale / self.alpha).log() + 1 / self.alpha + 1
