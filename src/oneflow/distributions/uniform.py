"""The uniform distribution."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from oneflow.distributions import constraints
from oneflow.distributions.distribution import Distribution
from oneflow.functional.creation.factory_functions import full_like
from oneflow.functional.random.creation import rand_like
from oneflow.tensor.tensor import Tensor


class Uniform(Distribution):
    """The uniform distribution on ``[low, high)``.

    Args:
        low: lower end.
        high: upper end, greater than `low`.
        validate_args: check parameters and values.

    Example:
        >>> import oneflow as flow
        >>> flow.distributions.Uniform(0.0, 4.0).mean
        tensor(2., dtype=oneflow.float32)
    """

    low: Tensor
    high: Tensor
    has_rsample = True

    def __init__(self, low: Any, high: Any, validate_args: bool | None = None) -> None:
        self._set_parameters(validate_args, low=low, high=high)

    @property
    def arg_constraints(self) -> dict[str, constraints.Constraint]:
        """Either end is a bound of the other."""
        return {
            "low": constraints.less_than(self.high),
            "high": constraints.greater_than(self.low),
        }

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> constraints.Constraint:
        """The numbers from `low` to `high`."""
        return constraints.interval(self.low, self.high)

    @property
    def mean(self) -> Tensor:
        """The middle."""
        return (self.low + self.high) / 2

    @property
    def mode(self) -> Tensor:
        """NaN: no value is more probable than others."""
        return full_like(self.low, math.nan)

    @property
    def variance(self) -> Tensor:
        """The variance."""
        return (self.high - self.low) ** 2 / 12

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Draw; gradients flow to the parameters."""
        sample = rand_like(self.low.expand(self._extended_shape(sample_shape)))
        return self.low + sample * (self.high - self.low)

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the density; minus infinity outside."""
        self._validate_sample(value)
        inside = (self.low <= value) * (value < self.high)
        return inside.to(self.low.dtype).log() - (self.high - self.low).log()

    def cdf(self, value: Tensor) -> Tensor:
        """The probability of a draw of at most `value`."""
        self._validate_sample(value)
        return ((value - self.low) / (self.high - self.low)).clamp(0, 1)

    def icdf(self, value: Tensor) -> Tensor:
        """Inverse of `cdf`: the quantile of `value`."""
        return value * (self.high - self.low) + self.low

    def entropy(self) -> Tensor:
        """The entropy in nats."""
        return (self.high - self.low).log()
