"""Distributions of transformed values."""

from __future__ import annotations

from abc import ABCMeta
from collections.abc import Iterable, Sequence
from typing import Any, Self

from oneflow.differentiation.grad_mode import no_grad
from oneflow.distributions import constraints
from oneflow.distributions.constraints import Constraint
from oneflow.distributions.distribution import Distribution
from oneflow.distributions.independent import Independent
from oneflow.distributions.parameters import sum_rightmost
from oneflow.distributions.transform import ComposeTransform, Transform
from oneflow.tensor.tensor import Tensor


class TransformedDistribution(Distribution, metaclass=ABCMeta):
    """The distribution of transformed draws.

    Args:
        base_distribution: the distribution that is drawn from.
        transforms: one, or several that are applied one after the other.
        validate_args: check parameters and values.

    Raises:
        ValueError: `transforms` are no transforms, or take more dimensions than there are.

    Example:
        >>> import oneflow as flow
        >>> tools = flow.distributions
        >>> log_normal = tools.TransformedDistribution(tools.Normal(0.0, 1.0), tools.ExpTransform())
        >>> log_normal.cdf(flow.tensor(1.0))
        tensor(0.5000, dtype=oneflow.float32)
    """

    # Distributions that are such by what they are, but draw in another way, are registered.
    # Any: subclasses know what it is.
    base_dist: Any
    transforms: list[Transform]

    def __init__(
        self,
        base_distribution: Distribution,
        transforms: Transform | Sequence[Transform],
        validate_args: bool | None = None,
    ) -> None:
        if not isinstance(transforms, Transform | Iterable):
            raise ValueError(f"transforms must be a Transform or list, but was {transforms}")
        self.transforms = [transforms] if isinstance(transforms, Transform) else list(transforms)
        if not all(isinstance(part, Transform) for part in self.transforms):
            raise ValueError("transforms must be a Transform or list of Transforms")
        shape = (*base_distribution.batch_shape, *base_distribution.event_shape)
        event_dim = len(base_distribution.event_shape)
        transform = self._composed
        needed = transform.domain.event_dim
        if len(shape) < needed:
            raise ValueError(
                f"base_distribution needs to have shape with size at least {needed}, but got "
                f"{shape}."
            )
        shape = transform.forward_shape(shape)
        base_shape = transform.inverse_shape(shape)
        base = base_distribution.expand(base_shape[: len(base_shape) - event_dim])
        if needed > event_dim:
            base = Independent(base, needed - event_dim)
        self.base_dist = base
        change = transform.codomain.event_dim - needed
        batch_ndim = len(shape) - max(event_dim, needed) - change
        super().__init__(shape[:batch_ndim], shape[batch_ndim:], validate_args)

    @property
    def has_rsample(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        """True if the base distribution has `rsample`."""
        return self.base_dist.has_rsample

    @property
    def _composed(self) -> ComposeTransform:
        return ComposeTransform(self.transforms)

    def _support(self) -> Constraint:
        if not self.transforms:
            return self.base_dist.support
        support = self.transforms[-1].codomain
        missing = len(self._event_shape) - support.event_dim
        return constraints.independent(support, missing) if missing > 0 else support

    # The values of the last transform; `Any`, because subclasses know them without an instance.
    support: Any = constraints.dependent_property(_support)

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Self:
        """The same distributions with a larger batch shape."""
        result = super().expand(batch_shape, _instance)
        shape = self._composed.inverse_shape((*batch_shape, *self._event_shape))
        result.base_dist = self.base_dist.expand(
            shape[: len(shape) - len(self.base_dist.event_shape)]
        )
        return result

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Draw, without history."""
        with no_grad():
            return self._composed(self.base_dist.sample(sample_shape))

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Draw; gradients flow to the parameters."""
        return self._composed(self.base_dist.rsample(sample_shape))

    def log_prob(self, value: Tensor) -> Tensor:
        """The log density of the base minus the log determinants of the transforms."""
        self._validate_sample(value)
        # From the last transform to the first, each with the caches of its own.
        total, event_dim, y = 0, len(self._event_shape), value
        for transform in reversed(self.transforms):
            x = transform.inv(y)
            event_dim += transform.domain.event_dim - transform.codomain.event_dim
            log_det = transform.log_abs_det_jacobian(x, y)
            total = total - sum_rightmost(log_det, event_dim - transform.domain.event_dim)
            y = x
        of_base = self.base_dist.log_prob(y)
        return total + sum_rightmost(of_base, event_dim - len(self.base_dist.event_shape))

    def _with_sign(self, probability: Tensor) -> Tensor:
        """Return ``1 - probability`` where the transform decreases."""
        sign = self._composed.sign
        if isinstance(sign, Tensor):
            return sign * (probability - 0.5) + 0.5
        return probability if sign == 1 else 1 - probability

    def cdf(self, value: Tensor) -> Tensor:
        """The probability of a draw of at most `value`; the transforms must be elementwise."""
        self._validate_sample(value)
        return self._with_sign(self.base_dist.cdf(self._composed.inv(value)))

    def icdf(self, value: Tensor) -> Tensor:
        """Inverse of `cdf`: the quantile of `value`."""
        return self._composed(self.base_dist.icdf(self._with_sign(value)))
