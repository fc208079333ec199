"""Mixtures of distributions of one family."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from oneflow.base.shape import broadcast_shapes
from oneflow.distributions import constraints
from oneflow.distributions.categorical import Categorical
from oneflow.distributions.distribution import Distribution
from oneflow.tensor.tensor import Tensor


class MixtureSameFamily(Distribution):
    """A mixture: each draw comes from one of several distributions of a family, chosen at random.

    Args:
        mixture_distribution: which one.
        component_distribution: all of them, along the last dimension of its batch.
        validate_args: check parameters and values.

    Raises:
        ValueError: the numbers of components differ, or the first is no `Categorical`.

    Example:
        >>> import oneflow as flow
        >>> which = flow.distributions.Categorical(flow.ones(2))
        >>> both = flow.distributions.Normal(flow.tensor([-1.0, 1.0]), flow.ones(2))
        >>> flow.distributions.MixtureSameFamily(which, both).variance
        tensor(2., dtype=oneflow.float32)
    """

    def __init__(
        self,
        mixture_distribution: Categorical,
        component_distribution: Distribution,
        validate_args: bool | None = None,
    ) -> None:
        if not isinstance(mixture_distribution, Categorical):
            raise ValueError(
                "The Mixture distribution needs to be an instance of distributions.Categorical"
            )
        batch = component_distribution.batch_shape
        count = mixture_distribution.probs.shape[-1]
        if not batch or batch[-1] != count:
            raise ValueError(
                f"`mixture_distribution` has {count} components, `component_distribution` those of "
                f"the batch shape {batch}"
            )
        try:
            broadcast_shapes(mixture_distribution.batch_shape, batch[:-1])
        except RuntimeError as error:
            raise ValueError(
                f"`mixture_distribution.batch_shape` {mixture_distribution.batch_shape} is not "
                f"compatible with `component_distribution.batch_shape` {batch}"
            ) from error
        self.mixture_distribution = mixture_distribution
        self.component_distribution = component_distribution
        super().__init__(batch[:-1], component_distribution.event_shape, validate_args)

    @constraints.dependent_property
    def support(self) -> constraints.Constraint:
        """The support of the components."""
        return constraints.MixtureSameFamilyConstraint(self.component_distribution.support)

    def _weights(self) -> Tensor:
        probs = self.mixture_distribution.probs
        return probs.reshape((*probs.shape, *(1,) * len(self._event_shape)))

    def _mixed(self, values: Any) -> Tensor:
        """The mean over the components."""
        return (self._weights() * values).sum(-1 - len(self._event_shape))

    @property
    def mean(self) -> Tensor:
        """The mean."""
        return self._mixed(self.component_distribution.mean)

    @property
    def variance(self) -> Tensor:
        """The variance within the components plus the variance of their means."""
        means = self.component_distribution.mean
        difference = means - self.mean.unsqueeze(-1 - len(self._event_shape))
        return self._mixed(self.component_distribution.variance) + self._mixed(difference**2)

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Draw, without history."""
        dim = -1 - len(self._event_shape)
        samples = self.component_distribution.sample(sample_shape)
        which = self.mixture_distribution.sample(sample_shape)
        which = which.reshape((*which.shape, *(1,) * -dim))
        index = which.expand((*which.shape[:dim], 1, *self._event_shape))
        return samples.gather(dim, index).squeeze(dim)

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the probability, or of its density."""
        self._validate_sample(value)
        value = value.unsqueeze(-1 - len(self._event_shape))
        log_probs = self.component_distribution.log_prob(value)
        return (log_probs + self.mixture_distribution.logits.log_softmax(-1)).logsumexp(-1)

    def cdf(self, value: Tensor) -> Tensor:
        """The probability of a draw of at most `value`."""
        self._validate_sample(value)
        probabilities = self.component_distribution.cdf(value.unsqueeze(-1))
        return (self.mixture_distribution.probs * probabilities).sum(-1)

    def __repr__(self) -> str:
        parts = f"{self.mixture_distribution}, {self.component_distribution}"
        return f"{type(self).__name__}({parts})"
