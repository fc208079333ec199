"""The geometric distribution."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from oneflow.base.limits import finfo
from oneflow.differentiation.grad_mode import no_grad
from oneflow.distributions import constraints
from oneflow.distributions.probability_parameters import SuccessProbability
from oneflow.functional.creation.factory_functions import empty_like
from oneflow.functional.elementwise.binary import xlogy
from oneflow.functional.nn.elementwise_loss import binary_cross_entropy_with_logits
from oneflow.functional.random.inplace import uniform_
from oneflow.tensor.tensor import Tensor


class Geometric(SuccessProbability):
    """The number of failures before the first success.

    Args:
        probs: probability of success.
        logits: instead of it, its log-odds.
        validate_args: check parameters and values.

    Example:
        >>> import oneflow as flow
        >>> flow.distributions.Geometric(0.25).mean
        tensor(3., dtype=oneflow.float32)
    """

    support = constraints.nonnegative_integer

    def __init__(
        self, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        self._set_probability(probs, logits, validate_args)
        if self._is_checking() and not (self.probs > 0).numpy().all():
            raise ValueError(f"Geometric: `probs` must be above 0, got {self.probs}")

    @property
    def mean(self) -> Tensor:
        """The mean."""
        return 1 / self.probs - 1

    @property
    def mode(self) -> Tensor:
        """The most probable number: 0."""
        return self.probs * 0

    @property
    def variance(self) -> Tensor:
        """The variance."""
        return (1 / self.probs - 1) / self.probs

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Draw numbers."""
        with no_grad():
            probs = self.probs.expand(self._extended_shape(sample_shape))
            uniform = uniform_(empty_like(probs), finfo(probs.dtype).tiny, 1)
            return (uniform.log() / (-probs).log1p()).floor()

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the probability."""
        self._validate_sample(value)
        # 0 failures where none is possible.
        return xlogy(value, 1 - self.probs) + self.probs.log()

    def entropy(self) -> Tensor:
        """The entropy in nats."""
        of_one = binary_cross_entropy_with_logits(self.logits, self.probs, reduction="none")
        return of_one / self.probs
