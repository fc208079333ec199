"""Decompositions of matrices: Cholesky, QR, singular values, eigenvalues."""

from __future__ import annotations

from oneflow.functional import return_types
from oneflow.functional.linalg.checked import checked
from oneflow.functional.linalg.inverse import require_matrices, solve_triangular
from oneflow.functional.linalg.singular_values import pinv
from oneflow.functional.registry import function
from oneflow.functional.shape.strided_views import adjoint
from oneflow.primitives.operators import linalg as p
from oneflow.tensor.call import call
from oneflow.tensor.tensor import Tensor

_A = {"A": "input"}


def _hermitian(x: Tensor, upper: bool) -> Tensor:
    """The Hermitian matrix with one triangle of `x`."""
    return call(p.from_lower, adjoint(x) if upper else x)


@function(namespace="linalg", keyword_aliases=_A, also=("cholesky",))
def cholesky(input: Tensor, upper: bool = False) -> Tensor:
    """The triangular matrix ``L`` of a positive definite matrix ``L @ L^H``.

    Args:
        input: ``[..., n, n]``, Hermitian; only one triangle is looked at.
        upper: give ``L^H``, from the upper triangle.

    Raises:
        LinAlgError: a matrix is not positive definite; raised when a value is read.

    Example:
        >>> import oneflow as flow
        >>> flow.linalg.cholesky(flow.tensor([[4.0, 2.0], [2.0, 2.0]])).tolist()
        [[2.0, 0.0], [1.0, 1.0]]
    """
    require_matrices("linalg.cholesky", input, square=True)
    lower, info = call(p.cholesky, _hermitian(input, upper))
    message = (
        "linalg.cholesky: The factorization could not be completed because the input is not "
        "positive-definite."
    )
    lower = checked(lower, info, message)
    return adjoint(lower) if upper else lower


@function(keyword_aliases={"input2": "factor", "L": "factor", "B": "input"})
def cholesky_solve(input: Tensor, factor: Tensor, upper: bool = False) -> Tensor:
    """The solution ``X`` of ``A @ X = input`` for a matrix whose Cholesky factor is given.

    Args:
        input: ``[..., n, k]``.
        factor: `cholesky` of ``A``.
        upper: it is the upper factor.

    Example:
        >>> import oneflow as flow
        >>> flow.cholesky_solve(flow.tensor([[4.0]]), flow.tensor([[2.0]])).tolist()
        [[1.0]]
    """
    transposed = adjoint(factor)
    lower, raised = (transposed, factor) if upper else (factor, transposed)
    return solve_triangular(raised, solve_triangular(lower, input, upper=False), upper=True)


@function(keyword_aliases={"L": "input"})
def cholesky_inverse(input: Tensor, upper: bool = False) -> Tensor:
    """The inverse of a matrix whose Cholesky factor is given.

    Example:
        >>> import oneflow as flow
        >>> flow.cholesky_inverse(flow.tensor([[2.0]])).tolist()
        [[0.25]]
    """
    require_matrices("cholesky_inverse", input, square=True)
    one = input.new_ones(tuple(input.shape[:-1])).diag_embed()
    triangle = input.triu() if upper else input.tril()
    return cholesky_solve(one, triangle, upper)


@function(method=False, namespace="linalg", keyword_aliases=_A)
def qr(input: Tensor, mode: str = "reduced") -> return_types.linalg_qr:
    """A matrix as a product of one with orthonormal columns and an upper triangular one.

    Args:
        input: ``[..., m, n]``.
        mode: ``"reduced"``: ``Q`` is ``[..., m, min(m, n)]``; ``"complete"``: ``[..., m, m]``;
            ``"r"``: only ``R``, ``Q`` is empty.

    Returns:
        ``(Q, R)``.

    Example:
        >>> import oneflow as flow
        >>> flow.linalg.qr(flow.tensor([[3.0], [4.0]])).R.abs()
        tensor([[5.]], dtype=oneflow.float32)
    """
    require_matrices("linalg.qr", input)
    if mode not in ("reduced", "complete", "r"):
        raise RuntimeError(
            f"qr received unrecognized mode '{mode}' but expected one of 'reduced' (default), 'r', "
            "or 'complete'"
        )
    q, r = call(p.qr, input, mode="complete" if mode == "complete" else "reduced")
    return return_types.linalg_qr(input.new_empty((0,)) if mode == "r" else q, r)


@function()
def qr_(input: Tensor, some: bool = True) -> return_types.qr:
    """`linalg.qr`, reduced or, unless `some`, complete.

    Example:
        >>> import oneflow as flow
        >>> flow.qr(flow.tensor([[3.0], [4.0]]), some=False).R.shape
        oneflow.Size([2, 1])
    """
    return return_types.qr(*qr(input, "reduced" if some else "complete"))


@function(method=False, namespace="linalg", keyword_aliases=_A)
def svd(
    input: Tensor, full_matrices: bool = True, *, driver: str | None = None
) -> return_types.linalg_svd:
    """Singular value decomposition ``U @ diag(S) @ Vh``.

    Args:
        input: ``[..., m, n]``.
        full_matrices: ``U`` and ``Vh`` are square, not ``[..., m, k]`` and ``[..., k, n]`` for the
            smaller size ``k``.
        driver: PyTorch's choice of a method on CUDA; there is one here.

    Returns:
        ``(U, S, Vh)``, the singular values real and falling.

    Example:
        >>> import oneflow as flow
        >>> flow.linalg.svd(flow.tensor([[0.0, 2.0], [3.0, 0.0]])).S
        tensor([3., 2.], dtype=oneflow.float32)
    """
    require_matrices("linalg.svd", input)
    return return_types.linalg_svd(*call(p.svd, input, full=bool(full_matrices)))


@function()
def svd_(input: Tensor, some: bool = True, compute_uv: bool = True) -> return_types.svd:
    """`linalg.svd` with ``V`` in place of ``Vh``.

    Args:
        input: ``[..., m, n]``.
        some: not the full matrices.
        compute_uv: False: zeros for ``U`` and ``V``.

    Returns:
        ``(U, S, V)``.

    Example:
        >>> import oneflow as flow
        >>> flow.svd(flow.tensor([[0.0, 2.0], [3.0, 0.0]])).S
        tensor([3., 2.], dtype=oneflow.float32)
    """
    require_matrices("svd", input)
    if not compute_uv:
        rows, columns, batch = *input.shape[-2:], tuple(input.shape[:-2])
        left = input.new_zeros((*batch, rows, rows))
        return return_types.svd(left, svdvals(input), input.new_zeros((*batch, columns, columns)))
    left, values, right = call(p.svd, input, full=not some)
    return return_types.svd(left, values, adjoint(right))


@function(method=False, namespace="linalg", keyword_aliases=_A)
def svdvals(input: Tensor, *, driver: str | None = None) -> Tensor:
    """Singular values, falling.

    Args:
        input: ``[..., m, n]``.
        driver: PyTorch's choice of a method on CUDA; there is one here.

    Example:
        >>> import oneflow as flow
        >>> flow.linalg.svdvals(flow.tensor([[0.0, 2.0], [3.0, 0.0]]))
        tensor([3., 2.], dtype=oneflow.float32)
    """
    require_matrices("linalg.svdvals", input)
    return call(p.svdvals, input)


def _from_triangle(name: str, x: Tensor, triangle: str) -> Tensor:
    require_matrices(name, x, square=True)
    triangle = triangle.upper()
    if triangle not in ("L", "U"):
        raise RuntimeError(f"Expected UPLO argument to be 'L' or 'U', but got {triangle}")
    return _hermitian(x, triangle == "U")


@function(method=False, namespace="linalg", keyword_aliases=_A)
def eigh(input: Tensor, UPLO: str = "L") -> return_types.linalg_eigh:
    """Eigenvalues, rising, and eigenvectors of a Hermitian matrix.

    Args:
        input: ``[..., n, n]``.
        UPLO: which triangle to look at, ``"L"`` or ``"U"``.

    Returns:
        ``(eigenvalues, eigenvectors)``; the eigenvalues are real.

    Example:
        >>> import oneflow as flow
        >>> flow.linalg.eigh(flow.tensor([[3.0, 0.0], [0.0, 2.0]])).eigenvalues
        tensor([2., 3.], dtype=oneflow.float32)
    """
    return return_types.linalg_eigh(*call(p.eigh, _from_triangle("linalg.eigh", input, UPLO)))


@function(method=False, namespace="linalg", keyword_aliases=_A)
def eigvalsh(input: Tensor, UPLO: str = "L") -> Tensor:
    """Eigenvalues, rising, of a Hermitian matrix; see `eigh`.

    Example:
        >>> import oneflow as flow
        >>> flow.linalg.eigvalsh(flow.tensor([[3.0, 0.0], [0.0, 2.0]]))
        tensor([2., 3.], dtype=oneflow.float32)
    """
    return call(p.eigh, _from_triangle("linalg.eigvalsh", input, UPLO))[0]


@function(method=False, namespace="linalg", keyword_aliases=_A)
def eig(input: Tensor) -> return_types.linalg_eig:
    """Eigenvalues, in no order, and eigenvectors of a square matrix.

    Args:
        input: ``[..., n, n]``.

    Returns:
        ``(eigenvalues, eigenvectors)``, both complex.

    Example:
        >>> import oneflow as flow
        >>> flow.linalg.eig(flow.tensor([[2.0]])).eigenvalues
        tensor([2.+0.j], dtype=oneflow.complex64)
    """
    require_matrices("linalg.eig", input, square=True)
    return return_types.linalg_eig(*call(p.eig, input))


@function(method=False, namespace="linalg", keyword_aliases=_A)
def eigvals(input: Tensor) -> Tensor:
    """Eigenvalues of a square matrix, complex and in no order.

    Example:
        >>> import oneflow as flow
        >>> flow.linalg.eigvals(flow.tensor([[2.0]]))
        tensor([2.+0.j], dtype=oneflow.complex64)
    """
    require_matrices("linalg.eigvals", input, square=True)
    return call(p.eigvals, input)


@function()
def pinverse(input: Tensor, rcond: float = 1e-15) -> Tensor:
    """`linalg.pinv` with a tolerance of 1e-15.

    Example:
        >>> import oneflow as flow
        >>> flow.pinverse(flow.tensor([[2.0], [0.0]])).tolist()
        [[0.5, 0.0]]
    """
    return pinv(input, rcond)
