"""The Poisson distribution."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from oneflow.differentiation.grad_mode import no_grad
from oneflow.distributions import constraints
from oneflow.distributions.exp_family import ExponentialFamily
from oneflow.functional.elementwise.binary import xlogy
from oneflow.functional.random import counts
from oneflow.tensor.tensor import Tensor


class Poisson(ExponentialFamily):
    """The number of events in a unit of time.

    Args:
        rate: how many are expected, not negative.
        validate_args: check parameters and values.

    Example:
        >>> import oneflow as flow
        >>> flow.distributions.Poisson(2.5).mode
        tensor(2., dtype=oneflow.float32)
    """

    arg_constraints: ClassVar = {"rate": constraints.nonnegative}
    support = constraints.nonnegative_integer
    rate: Tensor

    def __init__(self, rate: Any, validate_args: bool | None = None) -> None:
        self._set_parameters(validate_args, rate=rate)

    @property
    def mean(self) -> Tensor:
        """The mean: `rate`."""
        return self.rate

    @property
    def mode(self) -> Tensor:
        """The most probable number."""
        return self.rate.floor()

    @property
    def variance(self) -> Tensor:
        """The variance: `rate`."""
        return self.rate

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Draw numbers."""
        with no_grad():
            return counts.poisson(self.rate.expand(self._extended_shape(sample_shape)))

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the probability."""
        self._validate_sample(value)
        return xlogy(value, self.rate) - self.rate - (value + 1).lgamma()

    @property
    def _natural_params(self) -> tuple[Tensor]:
        return (self.rate.log(),)

    def _log_normalizer(self, log_rate: Tensor) -> Tensor:
        return log_rate.exp()

    @property
    def _mean_carrier_measure(self) -> Tensor:
        raise NotImplementedError("the mean of log(k!) has no closed form")
