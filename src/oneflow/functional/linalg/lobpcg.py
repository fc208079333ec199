"""A few eigenvalues and eigenvectors of large symmetric matrices.

Knyazev, "Toward the optimal preconditioned eigensolver: locally optimal block preconditioned
conjugate gradient method" (2001).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from oneflow.base.limits import finfo
from oneflow.differentiation.grad_mode import no_grad
from oneflow.functional.linalg.decompositions import cholesky, eigh, qr
from oneflow.functional.linalg.inverse import require_matrices, solve_triangular
from oneflow.functional.linalg.matmul import matmul
from oneflow.functional.linalg.norms import vector_norm
from oneflow.functional.random.creation import randn
from oneflow.functional.registry import function
from oneflow.functional.shape.concat import cat
from oneflow.functional.shape.strided_views import adjoint
from oneflow.tensor.tensor import Tensor


@function(method=False)
def lobpcg(
    A: Tensor,
    k: int | None = None,
    B: Tensor | None = None,
    X: Tensor | None = None,
    n: int | None = None,
    iK: Tensor | None = None,
    niter: int | None = None,
    tol: float | None = None,
    largest: bool | None = None,
    method: str | None = None,
    tracker: Callable[..., Any] | None = None,
    ortho_iparams: Any = None,
    ortho_fparams: Any = None,
    ortho_bparams: Any = None,
) -> tuple[Tensor, Tensor]:
    """The largest or smallest eigenvalues, and their vectors, of ``A x = e B x``.

    Locally optimal block preconditioned conjugate gradients (Knyazev, 2001), in an orthonormal
    basis. Values are read in every iteration.

    Args:
        A: symmetric or Hermitian matrices ``[..., m, m]``.
        k: the number of eigenvalues; by default as many as `X` has columns, or 1.
        B: positive definite, by default the identity.
        X: the vectors to begin with, ``[..., m, n]``; random ones by default.
        n: number of vectors that are improved, at least and by default `k`.
        iK: the preconditioner, nearly the inverse of `A`.
        niter: most iterations; None and -1: 1000.
        tol: residuals, relative to the norms of `A` and `B`, at which the vectors are good enough;
            by default the root of the dtype's machine epsilon.
        largest: False: the smallest ones.
        method: accepted; PyTorch has two ways to keep the basis orthonormal.
        tracker: not supported.
        ortho_iparams: accepted.
        ortho_fparams: accepted.
        ortho_bparams: accepted.

    Returns:
        ``(E, X)``: the eigenvalues ``[..., k]``, largest first, or smallest first unless `largest`,
        and the vectors as columns ``[..., m, k]``. Eigenvalues have gradients, vectors none.

    Raises:
        NotImplementedError: `tracker` is given.
        RuntimeError: not square matrices.
        ValueError: less than ``3 * n`` rows.

    Example:
        >>> import oneflow as flow
        >>> values, vectors = flow.lobpcg(flow.diag(flow.arange(1.0, 10.0)), k=2)
        >>> values.round()
        tensor([9., 8.], dtype=oneflow.float32)
    """
    require_matrices("lobpcg", A, square=True)
    if tracker is not None:
        raise NotImplementedError("lobpcg: `tracker` is not supported; lower `niter` and go on")
    rows = A.shape[-1]
    count = k if k is not None else 1 if X is None else X.shape[-1]
    columns = max(count, n or 0) if X is None else X.shape[-1]
    if rows < 3 * columns:
        raise ValueError(
            f"lobpcg: the number of A rows (={rows}) must be at least 3 x the number of vectors "
            f"(={columns})"
        )
    with no_grad():
        start = randn(*A.shape[:-1], columns, dtype=A.dtype, device=A.device) if X is None else X
        limit = 1000 if niter is None or niter < 0 else niter
        tolerance = math.sqrt(finfo(A.dtype).eps) if tol is None else tol
        sign = -1 if largest is False else 1
        factor = None if B is None else cholesky(B)
        matrix = sign * (A if factor is None else _solve_two_sided(A, factor))
        precondition = _precondition_fn(iK, factor)
        if factor is not None:
            start = matmul(adjoint(factor), start)
        vectors = _iterate(matrix, start, precondition, count, limit, tolerance)
        if factor is not None:
            vectors = solve_triangular(adjoint(factor), vectors, upper=True)
    # An eigenvalue changes with the matrices as this quotient does.
    products = _products(vectors, matmul(A, vectors))
    return products / _products(vectors, vectors if B is None else matmul(B, vectors)), vectors


def _products(x: Tensor, y: Tensor) -> Tensor:
    """The dot product of each column of `x` with the same column of `y`."""
    products = (x.conj() * y).sum(-2)
    return products.real if products.dtype.is_complex else products


def _solve_two_sided(matrix: Tensor, factor: Tensor) -> Tensor:
    """``L^-1 A L^-H``, which has the eigenvalues of ``A x = e L L^H x``."""
    half = solve_triangular(factor, matrix, upper=False)
    return adjoint(solve_triangular(factor, adjoint(half), upper=False))


def _precondition_fn(inverse: Tensor | None, factor: Tensor | None) -> Callable[[Tensor], Tensor]:
    """The function that is applied to residuals; with `factor`, of the whitened matrix."""
    if inverse is None:
        return lambda residual: residual
    if factor is None:
        return lambda residual: matmul(inverse, residual)
    return lambda residual: matmul(adjoint(factor), matmul(inverse, matmul(factor, residual)))


def _iterate(
    matrix: Tensor,
    start: Tensor,
    precondition: Callable[[Tensor], Tensor],
    count: int,
    limit: int,
    tolerance: float,
) -> Tensor:
    """The vectors of the `count` largest eigenvalues, largest first.

    Every iteration takes the best vectors of the space of the last ones, their preconditioned
    residuals, and the directions of the last step.
    """
    columns = start.shape[-1]
    norm = vector_norm(matrix, dim=(-2, -1), keepdim=True)
    vectors, values = _best(matrix, qr(start).Q, columns)
    directions = None
    for _ in range(limit):
        residuals = matmul(matrix, vectors) - vectors * values.unsqueeze(-2)
        errors = vector_norm(residuals, dim=-2, keepdim=True) / (norm + values.abs().unsqueeze(-2))
        if not (errors[..., :count] > tolerance).any():
            break
        # Remove the component in the span of `vectors`: it would be lost to rounding later.
        solution = precondition(residuals)
        solution = solution - matmul(vectors, matmul(adjoint(vectors), solution))
        lengths = vector_norm(solution, dim=-2, keepdim=True)
        solution = solution / lengths.clamp(min=finfo(matrix.dtype).tiny)
        parts = [vectors, solution] if directions is None else [vectors, solution, directions]
        better, values = _best(matrix, qr(cat(parts, -1)).Q, columns)
        step = better - matmul(vectors, matmul(adjoint(vectors), better))
        lengths = vector_norm(step, dim=-2, keepdim=True)
        directions = step / lengths.clamp(min=finfo(matrix.dtype).tiny)
        vectors = better
    return vectors[..., :count]


def _best(matrix: Tensor, basis: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """The vectors in the space of orthonormal columns with the largest values, and those."""
    values, inner = eigh(matmul(adjoint(basis), matmul(matrix, basis)))
    coefficients = inner[..., -count:].flip(-1)
    return matmul(basis, coefficients), values[..., -count:].flip(-1)
