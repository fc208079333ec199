"""The Wishart distribution."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from oneflow.distributions import constraints
from oneflow.distributions.covariance_parameters import (
    COVARIANCE_CONSTRAINTS,
    CovarianceParameters,
    half_log_det,
    solve_factor,
)
from oneflow.distributions.exp_family import ExponentialFamily
from oneflow.distributions.gamma import standard_gamma
from oneflow.distributions.parameters import as_tensors
from oneflow.functional.creation.factory_functions import arange
from oneflow.functional.elementwise.clamp import where
from oneflow.functional.elementwise.special import mvlgamma
from oneflow.functional.linalg.decompositions import cholesky
from oneflow.functional.linalg.inverse import slogdet
from oneflow.functional.random.creation import randn_like
from oneflow.functional.shape.rearrange import diag_embed
from oneflow.tensor.tensor import Tensor


class Wishart(CovarianceParameters, ExponentialFamily):
    """The Wishart distribution: of the sum of ``x @ x.T`` over `df` normal vectors `x`.

    Draws follow Bartlett's decomposition, "On the theory of statistical regression" (1933).

    Args:
        df: degrees of freedom, greater than ``n - 1``.
        covariance_matrix: covariances of the vectors, positive definite, ``[..., n, n]``.
        precision_matrix: instead of it, its inverse.
        scale_tril: instead of both, a lower triangular factor of the covariances.
        validate_args: check parameters and values.

    Raises:
        ValueError: not exactly one of the three matrices, or too small a `df`.

    Example:
        >>> import oneflow as flow
        >>> flow.distributions.Wishart(4.0, flow.eye(2)).mean
        tensor([[4., 0.],
                [0., 4.]], dtype=oneflow.float32)
    """

    support = constraints.positive_definite
    has_rsample = True
    df: Tensor

    def __init__(
        self,
        df: Any,
        covariance_matrix: Tensor | None = None,
        precision_matrix: Tensor | None = None,
        scale_tril: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        matrix = self._set_covariance(
            df.shape if isinstance(df, Tensor) else (),
            covariance_matrix=covariance_matrix,
            precision_matrix=precision_matrix,
            scale_tril=scale_tril,
        )
        size = matrix.shape[-1]
        self.df = as_tensors(df, matrix)[0].expand(matrix.shape[:-2])
        super().__init__(matrix.shape[:-2], (size, size), validate_args)
        self._set_factor()

    @property
    def arg_constraints(self) -> dict[str, constraints.Constraint]:
        """The least degrees of freedom depend on the size of the matrices."""
        return {"df": constraints.greater_than(self._size - 1), **COVARIANCE_CONSTRAINTS}

    @property
    def _size(self) -> int:
        return self._event_shape[-1]

    @property
    def mean(self) -> Tensor:
        """The mean."""
        return self.df[..., None, None] * self.covariance_matrix

    @property
    def mode(self) -> Tensor:
        """The most probable matrix; NaN if `df` is at most ``n + 1``."""
        factor = (self.df - self._size - 1)[..., None, None]
        return where(factor > 0, factor * self.covariance_matrix, math.nan)

    @property
    def variance(self) -> Tensor:
        """The variances of the elements."""
        covariance = self.covariance_matrix
        diagonal = covariance.diagonal(dim1=-2, dim2=-1)
        products = diagonal.unsqueeze(-1) * diagonal.unsqueeze(-2)
        return self.df[..., None, None] * (covariance**2 + products)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Draw; gradients flow to the parameters."""
        shape = self._extended_shape(sample_shape)
        # The squares on the diagonal have chi-squared distributions of fewer and fewer degrees.
        degrees = self.df.unsqueeze(-1) - self._row_numbers()
        squares = 2 * standard_gamma((degrees / 2).expand(shape[:-1]))
        below = randn_like(self._unbroadcasted_scale_tril.expand(shape)).tril(-1)
        root = self._unbroadcasted_scale_tril @ (below + diag_embed(squares.sqrt()))
        return root @ root.mT

    def _row_numbers(self) -> Tensor:
        return arange(self._size, dtype=self.df.dtype, device=self.df.device)

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the density."""
        self._validate_sample(value)
        normalized = solve_factor(self._unbroadcasted_scale_tril, cholesky(value))
        power = 0.5 * (self.df - self._size - 1)
        density = power * slogdet(value)[1] - 0.5 * (normalized**2).sum((-2, -1))
        return density - self._log_size()

    def _log_size(self) -> Tensor:
        """The logarithm of the normalizing factor."""
        half = 0.5 * self.df
        log_det = 2 * half_log_det(self._unbroadcasted_scale_tril) + self._size * math.log(2)
        return half * log_det + mvlgamma(half, self._size)

    def entropy(self) -> Tensor:
        """The entropy in nats."""
        size, half = self._size, 0.5 * self.df
        digamma_sum = (half.unsqueeze(-1) - 0.5 * self._row_numbers()).digamma().sum(-1)
        mean_log_det = (
            digamma_sum + size * math.log(2) + 2 * half_log_det(self._unbroadcasted_scale_tril)
        )
        return self._log_size() + half * size - 0.5 * (self.df - size - 1) * mean_log_det

    @property
    def _natural_params(self) -> tuple[Tensor, Tensor]:
        return -0.5 * self.precision_matrix, 0.5 * (self.df - self._size - 1)

    def _log_normalizer(self, matrix: Tensor, power: Tensor) -> Tensor:
        half = power + 0.5 * (self._size + 1)
        log_det = self._size * math.log(2) - slogdet(-2 * matrix)[1]
        return half * log_det + mvlgamma(half, self._size)
