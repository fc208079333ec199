"""The base of distributions with covariances, given as such, as their inverse or as a factor."""

from __future__ import annotations

from collections.abc import Sequence

from oneflow.base.shape import broadcast_shapes
from oneflow.distributions import constraints
from oneflow.distributions.distribution import Distribution
from oneflow.distributions.parameters import lazy_property
from oneflow.functional.linalg.decompositions import cholesky, cholesky_inverse
from oneflow.functional.linalg.inverse import inv, solve_triangular
from oneflow.tensor.tensor import Tensor

COVARIANCE_CONSTRAINTS = {
    "covariance_matrix": constraints.positive_definite,
    "precision_matrix": constraints.positive_definite,
    "scale_tril": constraints.lower_cholesky,
}


def half_log_det(factor: Tensor) -> Tensor:
    """Half the logarithm of the determinant of a matrix with this Cholesky factor."""
    return factor.diagonal(dim1=-2, dim2=-1).log().sum(-1)


def solve_factor(factor: Tensor, columns: Tensor) -> Tensor:
    """Solve ``factor @ x = columns`` with a lower triangular factor; batches broadcast."""
    batch = broadcast_shapes(factor.shape[:-2], columns.shape[:-2])
    factor = factor.expand((*batch, *factor.shape[-2:]))
    return solve_triangular(factor, columns.expand((*batch, *columns.shape[-2:])), upper=False)


class CovarianceParameters(Distribution):
    """Base of distributions with a matrix of covariances, its inverse or its Cholesky factor."""

    # It is kept beside the user's matrix: every density needs it.
    _unbroadcasted_scale_tril: Tensor  # the name that subclasses of libraries give it

    def _set_covariance(self, batch_shape: Sequence[int], **matrices: Tensor | None) -> Tensor:
        """Set the matrix that was given, expanded to the batch, and return it.

        Raises:
            ValueError: not exactly one was given, or it has fewer than two dimensions.
        """
        passed = {name: candidate for name, candidate in matrices.items() if candidate is not None}
        if len(passed) != 1:
            raise ValueError(
                "Exactly one of covariance_matrix or precision_matrix or scale_tril may be "
                "specified."
            )
        name, matrix = passed.popitem()
        if matrix.ndim < 2:
            raise ValueError(
                f"{name} must be at least two-dimensional, with optional leading batch dimensions"
            )
        batch_shape = broadcast_shapes(tuple(batch_shape), matrix.shape[:-2])
        self.__dict__[name] = matrix = matrix.expand((*batch_shape, *matrix.shape[-2:]))
        return matrix

    def _set_factor(self) -> None:
        """Compute the Cholesky factor of the matrix, which has been checked."""
        parameters = vars(self)
        if "scale_tril" in parameters:
            self._unbroadcasted_scale_tril = parameters["scale_tril"]
        elif "covariance_matrix" in parameters:
            self._unbroadcasted_scale_tril = cholesky(parameters["covariance_matrix"])
        else:
            self._unbroadcasted_scale_tril = cholesky(inv(parameters["precision_matrix"]))

    @lazy_property
    def scale_tril(self) -> Tensor:
        """The Cholesky factor of the covariances."""
        return self._unbroadcasted_scale_tril

    @lazy_property
    def covariance_matrix(self) -> Tensor:
        """The covariances."""
        return self._unbroadcasted_scale_tril @ self._unbroadcasted_scale_tril.mT

    @lazy_property
    def precision_matrix(self) -> Tensor:
        """The inverse of the covariances."""
        return cholesky_inverse(self._unbroadcasted_scale_tril)
