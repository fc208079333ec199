"""The logistic normal distribution."""

from __future__ import annotations

from typing import Any, ClassVar

from oneflow.distributions import constraints
from oneflow.distributions.normal import Normal
from oneflow.distributions.transformed_distribution import TransformedDistribution
from oneflow.distributions.vector_transforms import StickBreakingTransform
from oneflow.tensor.tensor import Tensor


class LogisticNormal(TransformedDistribution):
    """Shares that add up to 1, of normal numbers by `StickBreakingTransform`.

    Args:
        loc: means of the normal numbers, ``[..., n - 1]``.
        scale: their standard deviations, positive.
        validate_args: check parameters and values.

    Example:
        >>> import oneflow as flow
        >>> flow.distributions.LogisticNormal(flow.zeros(3), flow.ones(3)).sample().shape
        oneflow.Size([4])
    """

    arg_constraints: ClassVar = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.simplex

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        normal = Normal(loc, scale, False)
        if not normal.batch_shape:
            normal = normal.expand((1,))
        super().__init__(normal, StickBreakingTransform(), validate_args)

    @property
    def loc(self) -> Tensor:
        """The means of the normal numbers."""
        return self.base_dist.base_dist.loc

    @property
    def scale(self) -> Tensor:
        """Their standard deviations."""
        return self.base_dist.base_dist.scale
