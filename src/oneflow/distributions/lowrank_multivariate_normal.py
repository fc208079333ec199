"""The normal distribution of vectors whose covariances have few factors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import ClassVar

from oneflow.base.shape import broadcast_shapes
from oneflow.distributions import constraints
from oneflow.distributions.covariance_parameters import half_log_det, solve_factor
from oneflow.distributions.distribution import Distribution
from oneflow.functional.creation.factory_functions import eye
from oneflow.functional.linalg.decompositions import cholesky
from oneflow.functional.random.creation import randn_like
from oneflow.functional.shape.rearrange import diag_embed
from oneflow.tensor.tensor import Tensor


class LowRankMultivariateNormal(Distribution):
    """Normal vectors of the covariances ``cov_factor @ cov_factor.T + diag(cov_diag)``.

    Densities need only matrices of the size `r`, by Woodbury's identity and the matrix
    determinant lemma.

    Args:
        loc: mean, ``[..., n]``.
        cov_factor: ``[..., n, r]``.
        cov_diag: positive, ``[..., n]``.
        validate_args: check parameters and values.

    Raises:
        ValueError: the shapes do not fit.

    Example:
        >>> import oneflow as flow
        >>> normal = flow.distributions.LowRankMultivariateNormal(
        ...     flow.zeros(2), flow.ones(2, 1), flow.ones(2)
        ... )
        >>> normal.covariance_matrix
        tensor([[2., 1.],
                [1., 2.]], dtype=oneflow.float32)
    """

    arg_constraints: ClassVar = {
        "loc": constraints.real_vector,
        "cov_factor": constraints.independent(constraints.real, 2),
        "cov_diag": constraints.independent(constraints.positive, 1),
    }
    support = constraints.real_vector
    has_rsample = True

    def __init__(
        self,
        loc: Tensor,
        cov_factor: Tensor,
        cov_diag: Tensor,
        validate_args: bool | None = None,
    ) -> None:
        if loc.ndim < 1:
            raise ValueError("loc must be at least one-dimensional.")
        size = loc.shape[-1]
        if cov_factor.ndim < 2 or cov_factor.shape[-2] != size:
            raise ValueError(
                f"cov_factor must be a batch of matrices with shape {size} x m, got "
                f"{tuple(cov_factor.shape)}"
            )
        if cov_diag.shape[-1:] != (size,):
            raise ValueError(f"cov_diag must be a batch of vectors with shape {(size,)}")
        batch = broadcast_shapes(loc.shape[:-1], cov_factor.shape[:-2], cov_diag.shape[:-1])
        self.loc, self.cov_diag = (
            parameter.expand((*batch, size)) for parameter in (loc, cov_diag)
        )
        self.cov_factor = cov_factor.expand((*batch, *cov_factor.shape[-2:]))
        super().__init__(batch, (size,), validate_args)
        scaled = self.cov_factor / self.cov_diag.unsqueeze(-1)
        rank = cov_factor.shape[-1]
        inner = self.cov_factor.mT @ scaled
        # The Cholesky factor of ``1 + W.T @ D**-1 @ W``, the capacitance matrix.
        self._capacitance_tril = cholesky(inner + eye(rank, dtype=loc.dtype, device=loc.device))

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
        return (self.cov_factor**2).sum(-1) + self.cov_diag

    @property
    def covariance_matrix(self) -> Tensor:
        """The covariances."""
        return self.cov_factor @ self.cov_factor.mT + diag_embed(self.cov_diag)

    @property
    def scale_tril(self) -> Tensor:
        """The Cholesky factor of the covariances."""
        return cholesky(self.covariance_matrix)

    @property
    def precision_matrix(self) -> Tensor:
        """The inverse of the covariances."""
        scaled = (self.cov_factor / self.cov_diag.unsqueeze(-1)).mT
        inner = solve_factor(self._capacitance_tril, scaled)
        return diag_embed(1 / self.cov_diag) - inner.mT @ inner

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Draw; gradients flow to the parameters."""
        batch = (*sample_shape, *self._batch_shape)
        common = randn_like(self.cov_factor[..., :1, :].expand((*batch, 1, self._rank)))
        noise = randn_like(self.loc.expand(self._extended_shape(sample_shape)))
        shared = (self.cov_factor @ common.mT).squeeze(-1)
        return self.loc + shared + self.cov_diag.sqrt() * noise

    @property
    def _rank(self) -> int:
        return self.cov_factor.shape[-1]

    def _log_det(self) -> Tensor:
        return 2 * half_log_det(self._capacitance_tril) + self.cov_diag.log().sum(-1)

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the density."""
        self._validate_sample(value)
        difference = value - self.loc
        scaled = difference / self.cov_diag
        inner = solve_factor(
            self._capacitance_tril, self.cov_factor.mT @ scaled.unsqueeze(-1)
        ).squeeze(-1)
        distance = (difference * scaled).sum(-1) - (inner**2).sum(-1)
        return -0.5 * (self._event_shape[0] * math.log(2 * math.pi) + self._log_det() + distance)

    def entropy(self) -> Tensor:
        """The entropy in nats."""
        return 0.5 * (self._event_shape[0] * (1 + math.log(2 * math.pi)) + self._log_det())
