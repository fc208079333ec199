"""Factorizations by exchanging rows and by reflections, and equations solved with them."""

from __future__ import annotations

import math

from oneflow.base.dtype import Category
from oneflow.functional import return_types
from oneflow.functional.creation.factory_functions import eye
from oneflow.functional.linalg.checked import checked
from oneflow.functional.linalg.decompositions import cholesky
from oneflow.functional.linalg.inverse import (
    inv,
    require_matrices,
    solution_and_info,
    solve,
    solve_triangular,
)
from oneflow.functional.linalg.matmul import matmul
from oneflow.functional.registry import function
from oneflow.functional.shape.concat import cat
from oneflow.functional.shape.strided_views import adjoint as conjugate_transposed
from oneflow.primitives.operators import lapack as p, linalg as matrices
from oneflow.tensor.call import call
from oneflow.tensor.operands import cast_to, require_tensor, widened
from oneflow.tensor.tensor import Tensor

_A = {"A": "input"}


def _require_pivots(name: str, pivot: bool) -> None:
    if not pivot:
        raise NotImplementedError(
            f"{name}: factorization without exchanging rows is not implemented; use `pivot=True`"
        )


@function(method=False, namespace="linalg", keyword_aliases=_A)
def lu_factor(input: Tensor, *, pivot: bool = True) -> tuple[Tensor, Tensor]:
    """Both triangles of `linalg.lu` in one matrix, and how rows were exchanged.

    Args:
        input: ``[..., m, n]``, float32, float64 or complex.
        pivot: must be True.

    Returns:
        ``(LU, pivots)``: ``LU`` like `input`, the diagonal of ones left out; int32 ``pivots``, the
        row that each was exchanged with, counted from 1.

    Raises:
        LinAlgError: a square matrix is singular; raised when a value is read.

    Example:
        >>> import oneflow as flow
        >>> flow.linalg.lu_factor(flow.tensor([[1.0, 2.0], [2.0, 2.0]])).pivots
        tensor([2, 2], dtype=oneflow.int32)
    """
    packed, pivots, info = lu_factor_ex(input, pivot=pivot)
    message = "linalg.lu_factor: U has a 0 on its diagonal, so that it cannot be used to solve."
    if input.shape[-1] == input.shape[-2]:
        packed = checked(packed, info, message)
    return return_types.linalg_lu_factor(packed, pivots)


@function(method=False, namespace="linalg", keyword_aliases=_A)
def lu_factor_ex(
    input: Tensor, *, pivot: bool = True, check_errors: bool = False
) -> tuple[Tensor, Tensor, Tensor]:
    """`lu_factor` with an int32 ``info`` per matrix: which pivot is 0, from 1, or 0 if none is.

    `check_errors` raises as `lu_factor` does.

    Example:
        >>> import oneflow as flow
        >>> flow.linalg.lu_factor_ex(flow.zeros(2, 2)).info
        tensor(1, dtype=oneflow.int32)
    """
    require_matrices("linalg.lu_factor", input)
    _require_pivots("linalg.lu_factor", pivot)
    packed, pivots, info = call(p.lu, input)
    if check_errors:
        message = "linalg.lu_factor_ex: U has a 0 on its diagonal."
        packed = checked(packed, info, message)
    return return_types.linalg_lu_factor_ex(packed, pivots, info)


@function(method="lu", namespace=None)
def packed_lu(input: Tensor, pivot: bool = True, get_infos: bool = False) -> tuple[Tensor, ...]:
    """Both triangles of a factorization in one matrix, and the exchanged rows.

    Unlike `linalg.lu_factor` it takes singular matrices.

    Args:
        input: ``[..., m, n]``, float32, float64 or complex.
        pivot: must be True.
        get_infos: return the ``info`` of `lu_factor_ex`, too.

    Example:
        >>> import oneflow as flow
        >>> p, l, u = flow.lu_unpack(*flow.tensor([[1.0, 2.0], [2.0, 2.0]]).lu())
        >>> (p @ l @ u).tolist()
        [[1.0, 2.0], [2.0, 2.0]]
    """
    packed, pivots, info = lu_factor_ex(input, pivot=pivot)
    return (packed, pivots, info) if get_infos else (packed, pivots)


@function(method=False, keyword_aliases={"LU_data": "LU", "LU_pivots": "pivots"})
def lu_unpack(
    LU: Tensor, pivots: Tensor, unpack_data: bool = True, unpack_pivots: bool = True
) -> tuple[Tensor, Tensor, Tensor]:
    """The matrices that `lu_factor` has packed.

    Args:
        LU: the triangles, ``[..., m, n]``.
        pivots: the exchanged rows.
        unpack_data: False leaves ``L`` and ``U`` empty.
        unpack_pivots: False leaves ``P`` empty.

    Returns:
        ``(P, L, U)`` as of `linalg.lu`.

    Example:
        >>> import oneflow as flow
        >>> a = flow.tensor([[1.0, 2.0], [2.0, 2.0]])
        >>> p, l, u = flow.lu_unpack(*flow.linalg.lu_factor(a))
        >>> (p @ l @ u).tolist()
        [[1.0, 2.0], [2.0, 2.0]]
    """
    empty = LU.new_empty((0,))
    rows, columns = LU.shape[-2:]
    smaller = min(rows, columns)
    permutation, lower, upper = empty, empty, empty
    if unpack_pivots:
        permutation = cast_to(call(p.lu_permutation, pivots, rows=rows), LU.dtype)
    if unpack_data:
        lower = LU[..., :smaller].tril(-1) + eye(rows, smaller, dtype=LU.dtype, device=LU.device)
        upper = LU[..., :smaller, :].triu()
    return return_types.lu_unpack(permutation, lower, upper)


@function(method=False, namespace="linalg", keyword_aliases=_A)
def lu(input: Tensor, *, pivot: bool = True) -> tuple[Tensor, Tensor, Tensor]:
    """A matrix as a product ``P @ L @ U`` of a permutation and two triangular matrices.

    Args:
        input: ``[..., m, n]``, float32, float64 or complex.
        pivot: must be True.

    Returns:
        ``(P, L, U)``: ``[..., m, m]``; ``[..., m, min(m, n)]`` with ones on the diagonal;
        ``[..., min(m, n), n]``.

    Example:
        >>> import oneflow as flow
        >>> flow.linalg.lu(flow.tensor([[1.0, 2.0], [2.0, 2.0]])).U.tolist()
        [[2.0, 2.0], [0.0, 1.0]]
    """
    require_matrices("linalg.lu", input)
    _require_pivots("linalg.lu", pivot)
    packed, pivots, _ = call(p.lu, input)
    return return_types.linalg_lu(*lu_unpack(packed, pivots))


@function(method=False, namespace="linalg", keyword_aliases={"B": "other"})
def lu_solve(
    LU: Tensor, pivots: Tensor, other: Tensor, *, left: bool = True, adjoint: bool = False
) -> Tensor:
    """The solution ``X`` of ``A @ X = other``, given `lu_factor` of ``A``.

    Args:
        LU: the triangles.
        pivots: the exchanged rows.
        other: ``[..., n, k]``.
        left: False solves ``X @ A = other``.
        adjoint: take the adjoint of ``A`` in its place.

    Example:
        >>> import oneflow as flow
        >>> factors = flow.linalg.lu_factor(flow.tensor([[1.0, 2.0], [2.0, 2.0]]))
        >>> flow.linalg.lu_solve(*factors, flow.tensor([[3.0], [4.0]])).tolist()
        [[1.0], [1.0]]
    """
    if not left:
        transposed = lu_solve(LU, pivots, conjugate_transposed(other), adjoint=not adjoint)
        return conjugate_transposed(transposed)
    permutation = cast_to(call(p.lu_permutation, pivots, rows=LU.shape[-1]), LU.dtype)
    if adjoint:
        upper_h, lower_h = conjugate_transposed(LU.triu()), conjugate_transposed(LU.tril())
        y = solve_triangular(upper_h, other, upper=False)
        y = solve_triangular(lower_h, y, upper=True, unitriangular=True)
        return matmul(permutation, y)
    y = matmul(permutation.mT, other)
    y = solve_triangular(LU, y, upper=False, unitriangular=True)
    return solve_triangular(LU, y, upper=True)


@function(keyword_aliases={"b": "input", "LU_data": "LU", "LU_pivots": "pivots"})
def lu_solve_(input: Tensor, LU: Tensor, pivots: Tensor) -> Tensor:
    """`linalg.lu_solve` with the right side first.

    Example:
        >>> import oneflow as flow
        >>> factors = flow.linalg.lu_factor(flow.tensor([[2.0]]))
        >>> flow.lu_solve(flow.tensor([[4.0]]), *factors).tolist()
        [[2.0]]
    """
    return lu_solve(LU, pivots, input)


@function(keyword_aliases={**_A, "b": "input"})
def triangular_solve(
    input: Tensor,
    A: Tensor,
    upper: bool = True,
    transpose: bool = False,
    unitriangular: bool = False,
) -> tuple[Tensor, Tensor]:
    """`linalg.solve_triangular` with the right side first.

    Returns:
        ``(solution, cloned_coefficient)``; the latter is a copy of `A`.

    Example:
        >>> import oneflow as flow
        >>> flow.triangular_solve(flow.tensor([[4.0]]), flow.tensor([[2.0]])).solution.tolist()
        [[2.0]]
    """
    matrix, is_upper = (A.mT, not upper) if transpose else (A, upper)
    solution = solve_triangular(matrix, input, upper=is_upper, unitriangular=unitriangular)
    return return_types.triangular_solve(solution, A.clone())


@function(method=False, namespace="linalg", keyword_aliases=_A)
def inv_ex(input: Tensor, *, check_errors: bool = False) -> tuple[Tensor, Tensor]:
    """`linalg.inv` with an int32 ``info`` per matrix: which pivot is 0, from 1, or 0 if none is.

    `check_errors` raises as `inv` does.

    Example:
        >>> import oneflow as flow
        >>> flow.linalg.inv_ex(flow.tensor([[2.0]])).info
        tensor(0, dtype=oneflow.int32)
    """
    require_matrices("linalg.inv", input, square=True)
    inverse, info = call(matrices.inverse, input)
    return return_types.linalg_inv_ex(inv(input) if check_errors else inverse, info)


@function(method=False, namespace="linalg", keyword_aliases={**_A, "B": "other"})
def solve_ex(
    input: Tensor, other: Tensor, *, left: bool = True, check_errors: bool = False
) -> tuple[Tensor, Tensor]:
    """`linalg.solve` with an int32 ``info`` per matrix: which pivot is 0, from 1, or 0 if none is.

    `check_errors` raises as `solve` does.

    Example:
        >>> import oneflow as flow
        >>> flow.linalg.solve_ex(flow.tensor([[2.0]]), flow.tensor([4.0])).result
        tensor([2.], dtype=oneflow.float32)
    """
    message = "linalg.solve_ex: The solver failed because the input matrix is singular."
    result = solution_and_info(input, other, left, message if check_errors else None)
    return return_types.linalg_solve_ex(*result)


@function(method=False, namespace="linalg", keyword_aliases=_A)
def cholesky_ex(
    input: Tensor, *, upper: bool = False, check_errors: bool = False
) -> tuple[Tensor, Tensor]:
    """`linalg.cholesky` with an int32 ``info`` per matrix, 0 if it is positive definite.

    The factor of any other matrix is NaN. `check_errors` raises as `cholesky` does.

    Example:
        >>> import oneflow as flow
        >>> flow.linalg.cholesky_ex(flow.tensor([[4.0]])).L.tolist()
        [[2.0]]
    """
    require_matrices("linalg.cholesky", input, square=True)
    hermitian = call(matrices.from_lower, conjugate_transposed(input) if upper else input)
    lower, info = call(matrices.cholesky, hermitian)
    if check_errors:
        lower = cholesky(hermitian)
    return return_types.linalg_cholesky_ex(conjugate_transposed(lower) if upper else lower, info)


@function(namespace="linalg", keyword_aliases=_A, also=("matrix_exp",))
def matrix_exp(input: Tensor) -> Tensor:
    """The exponential of square matrices, the limit of ``I + A + A @ A / 2 + ...``.

    The algorithm is that of Higham, "The scaling and squaring method for the matrix exponential
    revisited" (2005).

    Args:
        input: ``[..., n, n]``, of floats or complex numbers; half precision is computed in float32.

    Example:
        >>> import oneflow as flow
        >>> flow.linalg.matrix_exp(flow.tensor([[0.0, 1.0], [0.0, 0.0]])).tolist()
        [[1.0, 1.0], [0.0, 1.0]]
    """
    require_tensor(input, "linalg.matrix_exp")
    dtype = input._value.spec.dtype
    wide = widened(input)
    require_matrices("linalg.matrix_exp", wide, square=True)
    result = call(p.matrix_exp, wide)
    return result if wide is input else cast_to(result, dtype)


@function(
    method="orgqr", namespace="linalg", keyword_aliases={**_A, "input2": "tau"}, also=("orgqr",)
)
def householder_product(input: Tensor, tau: Tensor) -> Tensor:
    """The first columns of a product of reflections ``I - tau v v^H``.

    Args:
        input: ``[..., m, n]`` with ``n <= m``; vector ``k`` is column ``k`` below the diagonal,
            where it has a 1.
        tau: ``[..., k]`` with ``k <= n``.

    Raises:
        RuntimeError: sizes that do not fit.

    Example:
        >>> import oneflow as flow
        >>> vectors, tau = flow.tensor([[0.0], [1.0]]), flow.tensor([1.0])
        >>> flow.linalg.householder_product(vectors, tau).tolist()
        [[0.0], [-1.0]]
    """
    name = "linalg.householder_product"
    require_matrices(name, input)
    rows, columns = input.shape[-2:]
    if rows < columns or tau.ndim != input.ndim - 1 or tau.shape[-1] > columns:
        raise RuntimeError(
            f"{name}: input.shape[-2] must be greater than or equal to input.shape[-1], which must "
            f"be at least tau.shape[-1]; got {list(input.shape)} and {list(tau.shape)}"
        )
    return call(p.householder_product, input, tau)


@function(keyword_aliases=_A)
def geqrf(input: Tensor) -> tuple[Tensor, Tensor]:
    """The reflections whose product is the ``Q`` of `linalg.qr`, and ``R``.

    Args:
        input: ``[..., m, n]``, float32, float64 or complex.

    Returns:
        ``(a, tau)``: ``R`` in the upper triangle of ``a``, below it the vectors of the reflections,
        as `linalg.householder_product` takes them. Without gradient.

    Example:
        >>> import oneflow as flow
        >>> flow.geqrf(flow.tensor([[3.0], [4.0]])).a.abs()[0]
        tensor([5.], dtype=oneflow.float32)
    """
    require_matrices("geqrf", input)
    return return_types.geqrf(*call(p.geqrf, input))


@function(keyword_aliases={"input2": "tau", "input3": "other"})
def ormqr(
    input: Tensor, tau: Tensor, other: Tensor, left: bool = True, transpose: bool = False
) -> Tensor:
    """The product of another matrix and ``Q``, given the reflections from `geqrf`.

    Args:
        input: ``[..., m, k]``, the vectors.
        tau: ``[..., k]``, the scales.
        other: ``[..., m, n]``, or ``[..., n, m]`` unless `left`.
        left: False multiplies from the right.
        transpose: take the adjoint of ``Q``.

    Raises:
        RuntimeError: sizes that do not fit.

    Example:
        >>> import oneflow as flow
        >>> a, tau = flow.geqrf(flow.tensor([[3.0], [4.0]]))
        >>> flow.ormqr(a, tau, flow.tensor([[3.0], [4.0]]), transpose=True).abs().round()
        tensor([[5.],
                [0.]], dtype=oneflow.float32)
    """
    require_matrices("ormqr", input)
    require_matrices("ormqr", other)
    rows = other.shape[-2 if left else -1]
    if rows != input.shape[-2] or tau.shape[-1] > input.shape[-1] or tau.ndim != input.ndim - 1:
        raise RuntimeError(
            f"ormqr: other.shape[{-2 if left else -1}] must be equal to input.shape[-2], and tau "
            "must have one element for each reflection, got input, tau and other of "
            f"{list(input.shape)}, {list(tau.shape)} and {list(other.shape)}"
        )
    if left:
        return call(p.apply_householder, input, tau, other, adjoint=transpose)
    transposed = call(
        p.apply_householder, input, tau, conjugate_transposed(other), adjoint=not transpose
    )
    return conjugate_transposed(transposed)


@function(method=False, namespace="linalg", keyword_aliases=_A)
def tensorinv(input: Tensor, ind: int = 2) -> Tensor:
    """The inverse of `tensordot` with `input`, whose first `ind` dimensions are the rows.

    Args:
        input: the sizes of the first `ind` dimensions multiply to those of the others.
        ind: positive number.

    Raises:
        RuntimeError: they do not.

    Example:
        >>> import oneflow as flow
        >>> flow.linalg.tensorinv(flow.eye(6).reshape(2, 3, 6)).shape
        oneflow.Size([6, 2, 3])
    """
    if ind <= 0:
        raise RuntimeError(f"linalg.tensorinv: `ind` must be positive, got {ind}")
    first, rest = tuple(input.shape[:ind]), tuple(input.shape[ind:])
    rows = math.prod(first)
    if rows * rows != input.numel():
        raise RuntimeError(
            "linalg.tensorinv: expected input.shape[:ind] and input.shape[ind:] to have the same "
            f"product, got {list(first)} and {list(rest)}"
        )
    return inv(input.reshape(rows, rows)).reshape((*rest, *first))


@function(method=False, namespace="linalg", keyword_aliases={**_A, "B": "other"})
def tensorsolve(input: Tensor, other: Tensor, dims: tuple[int, ...] | None = None) -> Tensor:
    """The solution ``X`` of ``tensordot(input, X) = other``.

    Args:
        input: the sizes of `other`, then those of the solution; both multiply to the same.
        other: the right side.
        dims: dimensions of `input` to move to its end first.

    Raises:
        RuntimeError: sizes do not fit.

    Example:
        >>> import oneflow as flow
        >>> flow.linalg.tensorsolve(flow.eye(6).reshape(2, 3, 6), flow.ones(2, 3)).shape
        oneflow.Size([6])
    """
    a = input
    if dims is not None:
        a = a.movedim(tuple(dims), tuple(range(a.ndim - len(dims), a.ndim)))
    shape = tuple(a.shape[other.ndim :])
    count = other.numel()
    if count * count != a.numel():
        raise RuntimeError(
            "linalg.tensorsolve: expected self to satisfy the requirement prod(self.shape[other."
            f"ndim:]) == prod(self.shape[:other.ndim]), got {list(a.shape)} and {list(other.shape)}"
        )
    return solve(a.reshape(count, count), other.reshape(-1)).reshape(shape)


@function(method=False, namespace="linalg", keyword_aliases={"x": "input"})
def vander(input: Tensor, *, N: int | None = None) -> Tensor:
    """Powers 0 to ``N - 1`` of numbers, as rows of a matrix.

    Args:
        input: ``[..., n]``; a number counts as a vector of one.
        N: number of powers, by default ``n``.

    Returns:
        ``[..., n, N]``.

    Raises:
        RuntimeError: `N` of 1 or less.

    Example:
        >>> import oneflow as flow
        >>> flow.linalg.vander(flow.tensor([2, 3]), N=3).tolist()
        [[1, 2, 4], [1, 3, 9]]
    """
    input = input.reshape(1) if input.ndim == 0 else input
    count = input.shape[-1] if N is None else N
    if count <= 1:
        raise RuntimeError(f"linalg.vander: N must be greater than 1, got {count}")
    if input.dtype.category is Category.BOOL:
        input = input.long()
    factors = input.unsqueeze(-1).expand(*input.shape, count - 1)
    powers = factors.cumprod(-1)
    return cat([powers.new_ones((*input.shape, 1)), powers], -1)
