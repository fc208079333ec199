"""Factorizations of matrices of low rank, by random samples of their range.

Halko, Martinsson and Tropp, "Finding structure with randomness: probabilistic algorithms for
constructing approximate matrix decompositions" (2009).
"""

from __future__ import annotations

from oneflow.functional.linalg.decompositions import qr, svd
from oneflow.functional.linalg.inverse import require_matrices
from oneflow.functional.linalg.matmul import matmul
from oneflow.functional.random.creation import randn
from oneflow.functional.reduce.sums import mean
from oneflow.functional.registry import function
from oneflow.functional.shape.strided_views import adjoint
from oneflow.tensor.tensor import Tensor

_A = {"A": "input"}


@function(method=False, keyword_aliases=_A)
def svd_lowrank(
    input: Tensor, q: int | None = 6, niter: int | None = 2, M: Tensor | None = None
) -> tuple[Tensor, Tensor, Tensor]:
    """The largest singular values and vectors of a matrix of nearly low rank.

    Args:
        input: ``[..., m, n]``, float32, float64 or complex.
        q: the number of singular values; some more than the rank. None: 6.
        niter: times the matrix is applied again, which separates large from small; None: 2.
        M: is subtracted from `input` first.

    Returns:
        ``(U, S, V)``: ``[..., m, q]``, ``[..., q]`` and ``[..., n, q]``, as of `svd`. The sample
        comes from the default generator.

    Raises:
        ValueError: `q` or `niter` is negative.

    Example:
        >>> import oneflow as flow
        >>> result = flow.svd_lowrank(flow.ones(4, 3) * 2, q=1)
        >>> round(result[1].item() ** 2, 3)
        48.0
    """
    require_matrices("svd_lowrank", input)
    count, iterations = 6 if q is None else q, 2 if niter is None else niter
    for name, number in (("q", count), ("niter", iterations)):
        if number < 0:
            raise ValueError(f"svd_lowrank: `{name}` must not be negative, got {number}")
    matrix = input if M is None else input - M
    basis = _range_basis(matrix, count, iterations)
    inner, values, right = svd(matmul(adjoint(basis), matrix), full_matrices=False)
    return matmul(basis, inner), values, adjoint(right)


def _range_basis(matrix: Tensor, count: int, iterations: int) -> Tensor:
    """Orthonormal columns which nearly span the range of a matrix."""
    random_matrix = randn(matrix.shape[-1], count, dtype=matrix.dtype, device=matrix.device)
    basis = qr(matmul(matrix, random_matrix)).Q
    for _ in range(iterations):
        basis = qr(matmul(adjoint(matrix), basis)).Q
        basis = qr(matmul(matrix, basis)).Q
    return basis


@function(method=False, keyword_aliases=_A)
def pca_lowrank(
    input: Tensor, q: int | None = None, center: bool = True, niter: int = 2
) -> tuple[Tensor, Tensor, Tensor]:
    """The first principal components of samples, by `svd_lowrank`.

    Args:
        input: ``[..., m, n]``, m samples of n numbers.
        q: the number of components; default 6, or as many as there are.
        center: subtract the mean of the samples first.
        niter: the same as for `svd_lowrank`.

    Returns:
        ``(U, S, V)`` as of `svd_lowrank`; the columns of ``V`` are the directions, and
        ``S ** 2 / (m - 1)`` the variances along them.

    Raises:
        ValueError: `q` is negative or larger than both sizes, or `niter` is negative.

    Example:
        >>> import oneflow as flow
        >>> samples = flow.tensor([[0.0, 0.0], [3.0, 4.0], [6.0, 8.0]])
        >>> (flow.pca_lowrank(samples, q=1)[2].abs() * 5).round().tolist()
        [[3.0], [4.0]]
    """
    require_matrices("pca_lowrank", input)
    most = min(input.shape[-2:])
    count = min(6, most) if q is None else q
    if not 0 <= count <= most:
        raise ValueError(
            f"pca_lowrank: q(={q}) must be non-negative integer and not greater than "
            f"min(m, n)={most}"
        )
    centered = input - mean(input, -2, keepdim=True) if center else input
    return svd_lowrank(centered, count, niter)
