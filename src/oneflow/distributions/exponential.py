"""The exponential distribution."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from oneflow.distributions import constraints
from oneflow.distributions.exp_family import ExponentialFamily
from oneflow.functional.creation.factory_functions import empty_like
from oneflow.functional.random.inplace import exponential_
from oneflow.tensor.tensor import Tensor


class Exponential(ExponentialFamily):
    """The exponential distribution: times between events.

    Args:
        rate: events per unit of time, positive.
        validate_args: check parameters and values.

    Example:
        >>> import oneflow as flow
        >>> flow.distributions.Exponential(2.0).mean
        tensor(0.5000, dtype=oneflow.float32)
    """

    arg_constraints: ClassVar = {"rate": constraints.positive}
    support = constraints.nonnegative
    rate: Tensor
    has_rsample = True

    def __init__(self, rate: Any, validate_args: bool | None = None) -> None:
        self._set_parameters(validate_args, rate=rate)

    @property
    def mean(self) -> Tensor:
        """The mean."""
        return 1 / self.rate

    @property
    def mode(self) -> Tensor:
        """The most probable value: 0."""
        return self.rate * 0

    @property
    def variance(self) -> Tensor:
        """The variance."""
        return self.rate**-2

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Draw; gradients flow to the parameters."""
        rate = self.rate.expand(self._extended_shape(sample_shape))
        return exponential_(empty_like(rate.detach())) / rate

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the density."""
        self._validate_sample(value)
        return self.rate.log() - self.rate * value

    def cdf(self, value: Tensor) -> Tensor:
        """The probability of a draw of at most `value`."""
        self._validate_sample(value)
        return -(-self.rate * value).expm1()

    def icdf(self, value: Tensor) -> Tensor:
        """Inverse of `cdf`: the quantile of `value`."""
        return -(-value).log1p() / self.rate

    def entropy(self) -> Tensor:
        """The entropy in nats."""
        return 1 - self.rate.log()

    @property
    def _natural_params(self) -> tuple[Tensor]:
        return (-self.rate,)

    def _log_normalizer(self, negative_rate: Tensor) -> Tensor:
        return -(-negative_rate).log()
