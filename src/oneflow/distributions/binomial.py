"""The binomial distribution."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from oneflow.differentiation.grad_mode import no_grad
from oneflow.distributions import constraints
from oneflow.distributions.probability_parameters import SuccessProbability
from oneflow.functional.creation.factory_functions import arange
from oneflow.functional.elementwise.activation import softplus
from oneflow.functional.random import counts
from oneflow.tensor.tensor import Tensor


class Binomial(SuccessProbability):
    """The number of successes among several trials.

    Args:
        total_count: number of trials.
        probs: probability of success.
        logits: instead of it, its log-odds.
        validate_args: check parameters and values.

    Example:
        >>> import oneflow as flow
        >>> flow.distributions.Binomial(8, flow.tensor(0.25)).variance
        tensor(1.5000, dtype=oneflow.float32)
    """

    arg_constraints: ClassVar = {
        "total_count": constraints.nonnegative_integer,
        **SuccessProbability.arg_constraints,
    }
    has_enumerate_support = True
    total_count: Tensor

    def __init__(
        self,
        total_count: Any = 1,
        probs: Any = None,
        logits: Any = None,
        validate_args: bool | None = None,
    ) -> None:
        self._set_probability(probs, logits, validate_args, total_count=total_count)

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self) -> constraints.Constraint:
        """The integers from 0 to `total_count`."""
        return constraints.integer_interval(0, self.total_count)

    @property
    def mean(self) -> Tensor:
        """The mean."""
        return self.total_count * self.probs

    @property
    def mode(self) -> Tensor:
        """The most probable number."""
        return ((self.total_count + 1) * self.probs).floor().minimum(self.total_count)

    @property
    def variance(self) -> Tensor:
        """The variance."""
        return self.total_count * self.probs * (1 - self.probs)

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Draw numbers."""
        shape = self._extended_shape(sample_shape)
        with no_grad():
            return counts.binomial(self.total_count.expand(shape), self.probs.expand(shape))

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the probability."""
        self._validate_sample(value)
        n, k = self.total_count, value
        log_binomial = (n + 1).lgamma() - (k + 1).lgamma() - (n - k + 1).lgamma()
        return log_binomial + k * self.logits - n * softplus(self.logits)

    def entropy(self) -> Tensor:
        """The entropy in nats; all numbers of trials must be the same."""
        log_prob = self.log_prob(self.enumerate_support(False))
        return -(log_prob.exp() * log_prob).sum(0)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """All numbers, along the first dimension.

        Raises:
            NotImplementedError: the numbers of trials differ.
        """
        most = int(self.total_count.max())
        if int(self.total_count.min()) != most:
            raise NotImplementedError(
                "Inhomogeneous total count not supported by `enumerate_support`."
            )
        values = arange(most + 1, dtype=self.probs.dtype, device=self.probs.device)
        return self._batch_support(values, expand)
