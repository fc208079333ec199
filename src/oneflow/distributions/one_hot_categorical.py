"""Distributions of one of several classes, as one-hot vectors."""

from __future__ import annotations

from collections.abc import Sequence

from oneflow.distributions import constraints
from oneflow.distributions.categorical import Categorical
from oneflow.distributions.probability_parameters import ClassProbabilities
from oneflow.functional.creation.factory_functions import eye
from oneflow.functional.index.search import one_hot
from oneflow.tensor.tensor import Tensor


class OneHotCategorical(ClassProbabilities):
    """A categorical distribution whose values are vectors with a single 1.

    Args:
        probs: weights of the classes, along the last dimension.
        logits: instead of them, their logarithms.
        validate_args: check parameters and values.

    Example:
        >>> import oneflow as flow
        >>> flow.distributions.OneHotCategorical(flow.tensor([1.0, 3.0])).mode
        tensor([0., 1.], dtype=oneflow.float32)
    """

    support = constraints.one_hot
    has_enumerate_support = True

    def __init__(
        self,
        probs: Tensor | None = None,
        logits: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        self._set_classes(probs, logits, None, validate_args)
        self._categorical = Categorical(probs, logits, False)

    @property
    def mean(self) -> Tensor:
        """The probabilities."""
        return self.probs

    @property
    def mode(self) -> Tensor:
        """The most probable class."""
        return self._one_hot(self._categorical.mode)

    @property
    def variance(self) -> Tensor:
        """The variance."""
        return self.probs * (1 - self.probs)

    def _one_hot(self, classes: Tensor) -> Tensor:
        return one_hot(classes, self._event_shape[0]).to(self.probs.dtype)

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Draw vectors."""
        return self._one_hot(self._categorical.sample(sample_shape))

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the probability."""
        self._validate_sample(value)
        return self._categorical.log_prob(value.argmax(-1))

    def entropy(self) -> Tensor:
        """The entropy in nats."""
        return self._categorical.entropy()

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """All vectors, along the first dimension."""
        count = self._event_shape[0]
        values = eye(count, dtype=self.probs.dtype, device=self.probs.device)
        return self._batch_support(values, expand)


class OneHotCategoricalStraightThrough(OneHotCategorical):
    """One-hot vectors through which gradients flow to the probabilities, as if they were drawn.

    Bengio, Leonard and Courville, "Estimating or propagating gradients through stochastic neurons
    for conditional computation" (2013).

    Args:
        probs: weights of the classes, along the last dimension.
        logits: instead of them, their logarithms.
        validate_args: check parameters and values.

    Example:
        >>> import oneflow as flow
        >>> flow.distributions.OneHotCategoricalStraightThrough(flow.ones(3)).rsample().sum()
        tensor(1., dtype=oneflow.float32)
    """

    has_rsample = True

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Draw with gradients of the probabilities (straight through)."""
        return self.sample(sample_shape) + (self.probs - self.probs.detach())
