"""The distribution of a single success or failure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from oneflow.base.shape import broadcast_shapes
from oneflow.differentiation.grad_mode import no_grad
from oneflow.distributions import constraints
from oneflow.distributions.exp_family import ExponentialFamily
from oneflow.distributions.probability_parameters import SuccessProbability
from oneflow.functional.creation.factory_functions import full_like
from oneflow.functional.elementwise.activation import softplus
from oneflow.functional.nn.elementwise_loss import binary_cross_entropy_with_logits
from oneflow.functional.random.creation import bernoulli
from oneflow.tensor.tensor import Tensor
from oneflow.tensor.transfer import import_array


class Bernoulli(SuccessProbability, ExponentialFamily):
    """1 with probability `probs`, else 0.

    Args:
        probs: probability of 1.
        logits: instead of it, its log-odds.
        validate_args: check parameters and values.

    Example:
        >>> import oneflow as flow
        >>> flow.distributions.Bernoulli(0.25).variance
        tensor(0.1875, dtype=oneflow.float32)
    """

    support = constraints.boolean
    has_enumerate_support = True

    def __init__(
        self, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        self._set_probability(probs, logits, validate_args)

    @property
    def mean(self) -> Tensor:
        """The probability of 1."""
        return self.probs

    @property
    def mode(self) -> Tensor:
        """The more probable value; NaN if both are the same."""
        larger = (self.probs > 0.5).to(self.probs.dtype)
        return full_like(larger, math.nan).where(self.probs == 0.5, larger)

    @property
    def variance(self) -> Tensor:
        """The variance."""
        return self.probs * (1 - self.probs)

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Draw ones and zeros."""
        with no_grad():
            return bernoulli(self.probs.detach().expand(self._extended_shape(sample_shape)))

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the probability."""
        self._validate_sample(value)
        shape = broadcast_shapes(value.shape, self._batch_shape)
        logits, value = self.logits.expand(shape), value.to(self.logits.dtype).expand(shape)
        return -binary_cross_entropy_with_logits(logits, value, reduction="none")

    def entropy(self) -> Tensor:
        """The entropy in nats."""
        return binary_cross_entropy_with_logits(self.logits, self.probs, reduction="none")

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """0 and 1, along the first dimension."""
        values = import_array([0.0, 1.0], self.probs.dtype, self.probs.device)
        return self._batch_support(values, expand)

    @property
    def _natural_params(self) -> tuple[Tensor]:
        return (self.logits,)

    def _log_normalizer(self, logits: Tensor) -> Tensor:
        return softplus(logits)
