"""Continuous relaxations of the Bernoulli distribution."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from oneflow.distributions import constraints
from oneflow.distributions.elementwise_transforms import SigmoidTransform
from oneflow.distributions.inverse_transform_sampling import random_unit
from oneflow.distributions.parameters import clamp_probs
from oneflow.distributions.probability_parameters import SuccessProbability
from oneflow.distributions.transformed_distribution import TransformedDistribution
from oneflow.functional.elementwise.activation import softplus
from oneflow.tensor.tensor import Tensor


class LogitRelaxedBernoulli(SuccessProbability):
    """The log-odds of a relaxed Bernoulli draw.

    Args:
        temperature: positive; the lower, the closer draws are to certainty.
        probs: probability of success.
        logits: instead of it, its log-odds.
        validate_args: check parameters and values.

    Example:
        >>> import oneflow as flow
        >>> from oneflow.distributions.relaxed_bernoulli import LogitRelaxedBernoulli
        >>> LogitRelaxedBernoulli(flow.tensor(1.0), probs=0.5).log_prob(flow.tensor(0.0))
        tensor(-1.3863, dtype=oneflow.float32)
    """

    support = constraints.real
    has_rsample = True
    temperature: Tensor

    def __init__(
        self,
        temperature: Any,
        probs: Any = None,
        logits: Any = None,
        validate_args: bool | None = None,
    ) -> None:
        self._set_probability(probs, logits, validate_args, temperature=temperature)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Draw; gradients flow to the parameters."""
        uniform = random_unit(self.temperature.expand(self._extended_shape(sample_shape)))
        noise = uniform.log() - (-uniform).log1p()
        probs = clamp_probs(self.probs)
        return (noise + probs.log() - (-probs).log1p()) / self.temperature

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the density."""
        self._validate_sample(value)
        difference = self.logits - value * self.temperature
        return self.temperature.log() + difference - 2 * softplus(difference)


class RelaxedBernoulli(TransformedDistribution):
    """A continuous relaxation of the Bernoulli distribution, on (0, 1).

    Maddison, Mnih and Teh, "The concrete distribution: a continuous relaxation of discrete random
    variables" (2017).

    Args:
        temperature: positive; the lower, the closer draws are to 0 and 1.
        probs: probability of success.
        logits: instead of it, its log-odds.
        validate_args: check parameters and values.

    Example:
        >>> import oneflow as flow
        >>> flow.distributions.RelaxedBernoulli(flow.tensor(1.0), 0.5).log_prob(flow.tensor(0.5))
        tensor(0., dtype=oneflow.float32)
    """

    arg_constraints: ClassVar = SuccessProbability.arg_constraints
    support = constraints.unit_interval

    def __init__(
        self,
        temperature: Any,
        probs: Any = None,
        logits: Any = None,
        validate_args: bool | None = None,
    ) -> None:
        base = LogitRelaxedBernoulli(temperature, probs, logits, validate_args)
        super().__init__(base, SigmoidTransform(), validate_args)

    @property
    def temperature(self) -> Tensor:
        """The temperature."""
        return self.base_dist.temperature

    @property
    def probs(self) -> Tensor:
        """The probability of success."""
        return self.base_dist.probs

    @property
    def logits(self) -> Tensor:
        """The log-odds of success."""
        return self.base_dist.logits
