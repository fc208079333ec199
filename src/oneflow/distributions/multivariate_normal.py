"""The normal distribution of vectors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import ClassVar

from oneflow.distributions import constraints
from oneflow.distributions.covariance_parameters import (
    COVARIANCE_CONSTRAINTS,
    CovarianceParameters,
    half_log_det,
    solve_factor,
)
from oneflow.functional.random.creation import randn_like
from oneflow.tensor.tensor import Tensor


class MultivariateNormal(CovarianceParameters):
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

    arg_constraints: ClassVar = {"loc": constraints.real_vector, **COVARIANCE_CONSTRAINTS}
    support = constraints.real_vector
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
        matrix = self._set_covariance(
            loc.shape[:-1],
            covariance_matrix=covariance_matrix,
            precision_matrix=precision_matrix,
            scale_tril=scale_tril,
        )
        self.loc = loc.expand(matrix.shape[:-1])
        super().__init__(matrix.shape[:-2], loc.shape[-1:], validate_args)
        self._set_factor()

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
        return (self._unbroadcasted_scale_tril**2).sum(-1)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Draw; gradients flow to the parameters."""
        noise = randn_like(self.loc.expand(self._extended_shape(sample_shape)))
        return self.loc + (self._unbroadcasted_scale_tril @ noise.unsqueeze(-1)).squeeze(-1)

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the density."""
        self._validate_sample(value)
        z = solve_factor(self._unbroadcasted_scale_tril, (value - self.loc).unsqueeze(-1)).squeeze(
            -1
        )
        size = 0.5 * self._event_shape[0] * math.log(2 * math.pi)
        return -0.5 * (z * z).sum(-1) - size - half_log_det(self._unbroadcasted_scale_tril)

    def entropy(self) -> Tensor:
        """The entropy in nats."""
        size = 0.5 * self._event_shape[0] * (1 + math.log(2 * math.pi))
        return size + half_log_det(self._unbroadcasted_scale_tril)
