"""The gamma distribution."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from oneflow.distributions import constraints
from oneflow.distributions.exp_family import ExponentialFamily
from oneflow.functional.creation.from_data import as_tensor
from oneflow.functional.elementwise.binary import xlogy
from oneflow.functional.elementwise.special import igamma
from oneflow.primitives.operators.sampling import random_gamma
from oneflow.random.generator import draw
from oneflow.tensor.call import call
from oneflow.tensor.tensor import Tensor


def standard_gamma(concentration: Tensor) -> Tensor:
    """Gamma numbers of rate 1, one per concentration."""
    return call(random_gamma, concentration, *draw(None))


class Gamma(ExponentialFamily):
    """The gamma distribution: the time until several events have happened.

    Args:
        concentration: number of events, positive.
        rate: events per unit of time, positive.
        validate_args: check parameters and values.

    Example:
        >>> import oneflow as flow
        >>> flow.distributions.Gamma(3.0, 2.0).mean
        tensor(1.5000, dtype=oneflow.float32)
    """

    arg_constraints: ClassVar = {
        "concentration": constraints.positive,
        "rate": constraints.positive,
    }
    support = constraints.nonnegative
    concentration: Tensor
    rate: Tensor
    has_rsample = True

    def __init__(self, concentration: Any, rate: Any, validate_args: bool | None = None) -> None:
        self._set_parameters(validate_args, concentration=concentration, rate=rate)

    @property
    def mean(self) -> Tensor:
        """The mean."""
        return self.concentration / self.rate

    @property
    def mode(self) -> Tensor:
        """The most probable value."""
        return ((self.concentration - 1) / self.rate).clamp(min=0)

    @property
    def variance(self) -> Tensor:
        """The variance."""
        return self.concentration / self.rate**2

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Draw; gradients flow to the parameters."""
        concentration = self.concentration.expand(self._extended_shape(sample_shape))
        return standard_gamma(concentration) / self.rate

    def log_prob(self, value: Tensor | float) -> Tensor:
        """The logarithm of the density, also at a number."""
        value = as_tensor(value, self.rate.dtype, self.rate.device)
        self._validate_sample(value)
        k, rate = self.concentration, self.rate
        return xlogy(k, rate) + xlogy(k - 1, value) - rate * value - k.lgamma()

    def cdf(self, value: Tensor) -> Tensor:
        """The probability of a draw of at most `value`."""
        self._validate_sample(value)
        x = self.rate * value
        return igamma(self.concentration.expand(x.shape), x)

    def entropy(self) -> Tensor:
        """The entropy in nats."""
        k = self.concentration
        return k - self.rate.log() + k.lgamma() + (1 - k) * k.digamma()

    @property
    def _natural_params(self) -> tuple[Tensor, Tensor]:
        return self.concentration - 1, -self.rate

    def _log_normalizer(self, power: Tensor, negative_rate: Tensor) -> Tensor:
        return (power + 1).lgamma() - (power + 1) * (-negative_rate).log()
