"""The log-normal distribution."""

from __future__ import annotations

from typing import Any, ClassVar

from oneflow.distributions import constraints
from oneflow.distributions.elementwise_transforms import ExpTransform
from oneflow.distributions.normal import Normal
from oneflow.distributions.transformed_distribution import TransformedDistribution
from oneflow.tensor.tensor import Tensor


class LogNormal(TransformedDistribution):
    """Numbers whose logarithms have a normal distribution.

    Args:
        loc: mean of the logarithms.
        scale: their standard deviation, positive.
        validate_args: check parameters and values.

    Example:
        >>> import oneflow as flow
        >>> flow.distributions.LogNormal(0.0, 1.0).mode
        tensor(0.3679, dtype=oneflow.float32)
    """

    arg_constraints: ClassVar = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.positive

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        super().__init__(Normal(loc, scale, False), ExpTransform(), validate_args)

    @property
    def loc(self) -> Tensor:
        """The mean of the logarithms."""
        return self.base_dist.loc

    @property
    def scale(self) -> Tensor:
        """The standard deviation of the logarithms."""
        return self.base_dist.scale

    @property
    def mean(self) -> Tensor:
        """The mean."""
        return (self.loc + self.scale**2 / 2).exp()

    @property
    def mode(self) -> Tensor:
        """The most probable value."""
        return (self.loc - self.scale**2).exp()

    @property
    def variance(self) -> Tensor:
        """The variance."""
        square = self.scale**2
        return square.expm1() * (2 * self.loc + square).exp()

    def entropy(self) -> Tensor:
        """The entropy in nats."""
        return self.base_dist.entropy() + self.loc
