"""The multinomial distribution."""

from __future__ import annotations

import math
from collections.abc import Sequence

from oneflow.distributions import constraints
from oneflow.distributions.binomial import Binomial
from oneflow.distributions.categorical import Categorical
from oneflow.distributions.probability_parameters import ClassProbabilities
from oneflow.functional.creation.factory_functions import full_like
from oneflow.functional.index.search import one_hot
from oneflow.functional.shape.stack import broadcast_tensors
from oneflow.tensor.tensor import Tensor


class Multinomial(ClassProbabilities):
    """The number of times that each class comes up in several draws.

    Args:
        total_count: number of draws.
        probs: weights of the classes, along the last dimension.
        logits: instead of them, their logarithms.
        validate_args: check parameters and values.

    Example:
        >>> import oneflow as flow
        >>> flow.distributions.Multinomial(8, flow.tensor([1.0, 3.0])).mean
        tensor([2., 6.], dtype=oneflow.float32)
    """

    def __init__(
        self,
        total_count: int = 1,
        probs: Tensor | None = None,
        logits: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        if not isinstance(total_count, int):
            raise NotImplementedError("inhomogeneous total_count is not supported")
        self.total_count = total_count
        self._set_classes(probs, logits, None, validate_args)
        self._categorical = Categorical(probs, logits, False)

    @constraints.dependent_property(is_discrete=True, event_dim=1)
    def support(self) -> constraints.Constraint:
        """The vectors of counts whose sum is at most `total_count`."""
        return constraints.multinomial(self.total_count)

    @property
    def mean(self) -> Tensor:
        """The mean."""
        return self.total_count * self.probs

    @property
    def variance(self) -> Tensor:
        """The variance."""
        return self.total_count * self.probs * (1 - self.probs)

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Draw vectors of counts."""
        classes = self._categorical.sample((self.total_count, *sample_shape))
        return one_hot(classes, self._event_shape[0]).sum(0).to(self.probs.dtype)

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the probability."""
        self._validate_sample(value)
        value, logits = broadcast_tensors(value, self.logits)
        mask = (value == 0) & (logits == -math.inf)
        logits = full_like(logits, 0.0).where(mask, logits)
        total = value.sum(-1)
        return (total + 1).lgamma() - (value + 1).lgamma().sum(-1) + (logits * value).sum(-1)

    def entropy(self) -> Tensor:
        """The entropy in nats."""
        n = self.total_count
        binomial = Binomial(n, self.probs, validate_args=False)
        support = binomial.enumerate_support(False)
        weights = binomial.log_prob(support).exp() * (support + 1).lgamma()
        return n * self._categorical.entropy() - math.lgamma(n + 1) + weights.sum((0, -1))
