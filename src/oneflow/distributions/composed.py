"""Distributions of vectors, and distributions made of others."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from oneflow.base.shape import broadcast_shapes
from oneflow.distributions.distribution import Distribution
from oneflow.distributions.distributions import Categorical
from oneflow.functional.linalg.decompositions import cholesky
from oneflow.functional.linalg.inverse import inv, solve_triangular
from oneflow.functional.random.creation import randn
from oneflow.tensor.tensor import Tensor


class MultivariateNormal(Distribution):
    """Vectors whose elements have normal distributions, and depend on each other.

    Args:
        loc: mean, ``[..., n]``.
        covariance_matrix: positive definite, ``[..., n, n]``.
        precision_matrix: instead of it, its inverse.
        scale_tril: instead of both, a lower triangular factor of the covariances.
        validate_args: check parameters and values.

    Raises:
        ValueError: not exactly one of the three matrices.

    Example:
        >>> import oneflow as flow
        >>> normal = flow.distributions.MultivariateNormal(flow.zeros(2), flow.eye(2))
        >>> normal.log_prob(flow.zeros(2))
        tensor(-1.8379, dtype=oneflow.float32)
    """

    has_rsample = True

    def __init__(
        self,
        loc: Tensor,
        covariance_matrix: Tensor | None = None,
        precision_matrix: Tensor | None = None,
        scale_tril: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        if loc.ndim < 1:
            raise ValueError("loc must be at least one-dimensional.")
        matrices = (covariance_matrix, precision_matrix, scale_tril)
        given = [each for each in matrices if each is not None]
        if len(given) != 1:
            raise ValueError(
                "Exactly one of covariance_matrix or precision_matrix or scale_tril may be "
                "specified."
            )
        batch_shape = broadcast_shapes(given[0].shape[:-2], loc.shape[:-1])
        super().__init__(batch_shape, loc.shape[-1:], validate_args)
        if scale_tril is None:
            covariance = given[0] if precision_matrix is None else inv(precision_matrix)
            scale_tril = cholesky(covariance)
        self.loc = loc.expand(self._shape(()))
        self.scale_tril = scale_tril.expand((*self._shape(()), loc.shape[-1]))

    def expand(self, batch_shape: Sequence[int]) -> MultivariateNormal:
        """The same distributions with a larger batch shape."""
        count = self._event_shape[0]
        loc = self.loc.expand((*batch_shape, count))
        factor = self.scale_tril.expand((*batch_shape, count, count))
        return MultivariateNormal(loc, scale_tril=factor, validate_args=False)

    @property
    def covariance_matrix(self) -> Tensor:
        """The covariances."""
        return self.scale_tril @ self.scale_tril.mT

    @property
    def precision_matrix(self) -> Tensor:
        """The inverse of the covariances."""
        return inv(self.covariance_matrix)

    @property
    def mean(self) -> Tensor:
        """The mean: `loc`."""
        return self.loc

    @property
    def mode(self) -> Tensor:
        """The most probable vector: `loc`."""
        return self.loc

    @property
    def variance(self) -> Tensor:
        """The variances of the elements."""
        return (self.scale_tril**2).sum(-1)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Draw; gradients flow to the parameters."""
        noise = randn(self._shape(sample_shape), dtype=self.loc.dtype, device=self.loc.device)
        return self.loc + (self.scale_tril @ noise.unsqueeze(-1)).squeeze(-1)

    def _half_log_det(self) -> Tensor:
        return self.scale_tril.diagonal(dim1=-2, dim2=-1).log().sum(-1)

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the density."""
        difference = (value - self.loc).unsqueeze(-1)
        factor = self.scale_tril.expand((*difference.shape[:-1], difference.shape[-2]))
        z = solve_triangular(factor, difference, upper=False).squeeze(-1)
        size = 0.5 * self._event_shape[0] * math.log(2 * math.pi)
        return -0.5 * (z * z).sum(-1) - size - self._half_log_det()

    def entropy(self) -> Tensor:
        """The entropy in nats."""
        return 0.5 * self._event_shape[0] * (1 + math.log(2 * math.pi)) + self._half_log_det()


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
        self.base_dist, self.reinterpreted_batch_ndims = (
            base_distribution,
            reinterpreted_batch_ndims,
        )
        kept = len(batch) - reinterpreted_batch_ndims
        event = (*batch[kept:], *base_distribution.event_shape)
        super().__init__(batch[:kept], event, validate_args)
        self.has_rsample = base_distribution.has_rsample

    def expand(self, batch_shape: Sequence[int]) -> Independent:
        """The same distributions with a larger batch shape."""
        inner = self._event_shape[: self.reinterpreted_batch_ndims]
        base = self.base_dist.expand((*batch_shape, *inner))
        return Independent(base, self.reinterpreted_batch_ndims, self._validate_args)

    def _joint(self, values: Tensor) -> Tensor:
        """The sum over the dimensions that became ones of the event."""
        count = self.reinterpreted_batch_ndims
        return values.sum(tuple(range(-count, 0))) if count else values

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
        return self._joint(self.base_dist.log_prob(value))

    def entropy(self) -> Tensor:
        """The entropy in nats."""
        return self._joint(self.base_dist.entropy())


class MixtureSameFamily(Distribution):
    """One of several distributions of a family, chosen at random for each draw.

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
        self.mixture_distribution = mixture_distribution
        self.component_distribution = component_distribution
        super().__init__(batch[:-1], component_distribution.event_shape, validate_args)

    def expand(self, batch_shape: Sequence[int]) -> MixtureSameFamily:
        """The same distributions with a larger batch shape."""
        count = self.mixture_distribution.probs.shape[-1]
        components = self.component_distribution.expand((*batch_shape, count))
        return MixtureSameFamily(
            self.mixture_distribution.expand(batch_shape), components, self._validate_args
        )

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
        """The variance: that of the components, and that of their means."""
        means = self.component_distribution.mean
        difference = means - self.mean.unsqueeze(-1 - len(self._event_shape))
        return self._mixed(self.component_distribution.variance) + self._mixed(difference**2)

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Draw, without history."""
        dim = -1 - len(self._event_shape)
        samples = self.component_distribution.sample(sample_shape)
        which = self.mixture_distribution.sample(sample_shape)
        which = which.reshape((*which.shape, *(1,) * -dim))
        chosen = which.expand((*which.shape[:dim], 1, *self._event_shape))
        return samples.gather(dim, chosen).squeeze(dim)

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the probability, or of its density."""
        value = value.unsqueeze(-1 - len(self._event_shape))
        each = self.component_distribution.log_prob(value)
        return (each + self.mixture_distribution.logits.log_softmax(-1)).logsumexp(-1)

    def cdf(self, value: Tensor) -> Tensor:
        """The probability of a draw of at most `value`."""
        each = self.component_distribution.cdf(value.unsqueeze(-1))
        return (self.mixture_distribution.probs * each).sum(-1)
