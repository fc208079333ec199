"""The negative binomial distribution."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from oneflow.differentiation.grad_mode import no_grad
from oneflow.distributions import constraints
from oneflow.distributions.gamma import Gamma
from oneflow.distributions.probability_parameters import SuccessProbability
from oneflow.functional.elementwise.activation import logsigmoid
from oneflow.functional.random import counts
from oneflow.tensor.tensor import Tensor


class NegativeBinomial(SuccessProbability):
    """The number of successes before several failures.

    Args:
        total_count: number of failures, positive.
        probs: probability of success, less than 1.
        logits: instead of it, its log-odds.
        validate_args: check parameters and values.

    Example:
        >>> import oneflow as flow
        >>> flow.distributions.NegativeBinomial(3.0, flow.tensor(0.5)).mean
        tensor(3., dtype=oneflow.float32)
    """

    arg_constraints: ClassVar = {
        "total_count": constraints.greater_than_eq(0),
        "probs": constraints.half_open_interval(0.0, 1.0),
        "logits": constraints.real,
    }
    total_count: Tensor
    support = constraints.nonnegative_integer

    def __init__(
        self,
        total_count: Any,
        probs: Any = None,
        logits: Any = None,
        validate_args: bool | None = None,
    ) -> None:
        self._set_probability(probs, logits, validate_args, total_count=total_count)

    @property
    def mean(self) -> Tensor:
        """The mean."""
        return self.total_count * self.logits.exp()

    @property
    def mode(self) -> Tensor:
        """The most probable number."""
        return ((self.total_count - 1) * self.logits.exp()).floor().clamp(min=0)

    @property
    def variance(self) -> Tensor:
        """The variance."""
        return self.mean / (-self.logits).sigmoid()

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Draw numbers."""
        with no_grad():
            rate = Gamma(self.total_count, (-self.logits).exp(), False).sample(sample_shape)
            return counts.poisson(rate)

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the probability."""
        self._validate_sample(value)
        n, k = self.total_count, value
        log_binomial = (n + k).lgamma() - (1 + k).lgamma() - n.lgamma()
        return log_binomial + n * logsigmoid(-self.logits) + k * logsigmoid(self.logits)
