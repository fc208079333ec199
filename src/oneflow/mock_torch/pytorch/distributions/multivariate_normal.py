"""Names that ``torch.distributions.multivariate_normal`` has beside oneflow's module."""

from oneflow import Tensor, linalg


def _precision_to_scale_tril(P: Tensor) -> Tensor:
    """Return the Cholesky factor of the inverse of a matrix.

    The factor of the matrix with its order reversed is that of the inverse, transposed: only a
    triangular system is left to solve.
    """
    reversed_factor = linalg.cholesky(P.flip(-2, -1)).flip(-2, -1).mT
    return linalg.inv(reversed_factor)


__all__ = ["_precision_to_scale_tril"]
