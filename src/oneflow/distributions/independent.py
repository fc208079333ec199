"""Distributions of a batch as one distribution of a larger event."""

from __future__ import annotations

from collections.abc import Sequence

from oneflow.distributions import constraints
from oneflow.distributions.distribution import Distribution
from oneflow.distributions.parameters import sum_rightmost
from oneflow.tensor.tensor import Tensor


class Independent(Distribution):
    """A distribution some of whose batch dimensions count as dimensions of one event.

    Args:
        base_distribution: the distribution.
        reinterpreted_batch_ndims: how many dimensions, counted from the last.
        validate_args: check parameters and values.

    Raises:
        ValueError: the batch has fewer dimensions.

    Example:
        >>> import oneflow as flow
        >>> normal = flow.distributions.Normal(flow.zeros(3), flow.ones(3))
        >>> flow.distributions.Independent(normal, 1).log_prob(flow.zeros(3))
        tensor(-2.7568, dtype=oneflow.float32)
    """

    def __init__(
        self,
        base_distribution: Distribution,
        reinterpreted_batch_ndims: int,
        validate_args: bool | None = None,
    ) -> None:
        batch = base_distribution.batch_shape
        if reinterpreted_batch_ndims > len(batch):
            raise ValueError(
                "Expected reinterpreted_batch_ndims <= len(base_distribution.batch_shape), actual "
                f"{reinterpreted_batch_ndims} vs {len(batch)}"
            )
        self.base_dist = base_distribution
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims
        batch_ndims = len(batch) - reinterpreted_batch_ndims
        event = (*batch[batch_ndims:], *base_distribution.event_shape)
        super().__init__(batch[:batch_ndims], event, validate_args)

    @property
    def has_rsample(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        """True if the base distribution has `rsample`."""
        return self.base_dist.has_rsample

    @property
    def has_enumerate_support(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        """True if the base enumerates its support, and no dimension became the event's."""
        return self.base_dist.has_enumerate_support and self.reinterpreted_batch_ndims == 0

    @constraints.dependent_property
    def support(self) -> constraints.Constraint:
        """The support of the base, with further dimensions of the event."""
        support, count = self.base_dist.support, self.reinterpreted_batch_ndims
        return constraints.independent(support, count) if count else support

    @property
    def mean(self) -> Tensor:
        """The mean."""
        return self.base_dist.mean

    @property
    def mode(self) -> Tensor:
        """The most probable value."""
        return self.base_dist.mode

    @property
    def variance(self) -> Tensor:
        """The variance."""
        return self.base_dist.variance

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Draw, without history."""
        return self.base_dist.sample(sample_shape)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Draw; gradients flow to the parameters."""
        return self.base_dist.rsample(sample_shape)

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the probability, or of its density."""
        return sum_rightmost(self.base_dist.log_prob(value), self.reinterpreted_batch_ndims)

    def entropy(self) -> Tensor:
        """The entropy in nats."""
        return sum_rightmost(self.base_dist.entropy(), self.reinterpreted_batch_ndims)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """All values, along the first dimension.

        Raises:
            NotImplementedError: dimensions became ones of the event.
        """
        if self.reinterpreted_batch_ndims > 0:
            raise NotImplementedError("Enumeration over cartesian product is not implemented")
        return self.base_dist.enumerate_support(expand)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.base_dist}, {self.reinterpreted_batch_ndims})"
