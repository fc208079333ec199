"""Factorization of symmetric and Hermitian matrices that need not be positive definite."""

from __future__ import annotations

from oneflow.base.dtype import Category
from oneflow.functional import return_types
from oneflow.functional.linalg.checked import checked
from oneflow.functional.linalg.inverse import require_matrices
from oneflow.functional.registry import function
from oneflow.primitives.operators import bunch_kaufman as p
from oneflow.tensor.call import call
from oneflow.tensor.tensor import Tensor

_A = {"A": "input"}


@function(method=False, namespace="linalg", keyword_aliases=_A)
def ldl_factor(input: Tensor, *, hermitian: bool = False) -> tuple[Tensor, Tensor]:
    """The factors ``L`` and ``D`` of symmetric or Hermitian matrices ``L @ D @ L.mT``.

    The algorithm of Bunch and Kaufman (1977) exchanges rows and columns; ``D`` has blocks of one or
    two numbers on its diagonal.

    Args:
        input: ``[..., n, n]``, float32, float64 or complex; its lower triangle counts.
        hermitian: complex matrices are Hermitian, not symmetric: ``L @ D @ L.mH``.

    Returns:
        ``(LD, pivots)``: both factors in the lower triangle of one matrix, and int32 ``pivots``
        ``[..., n]`` as LAPACK gives them: the row that each was exchanged with, counted from 1,
        twice as a negative number where two make a block. Without gradient, as in PyTorch.

    Raises:
        LinAlgError: a block is 0, so that the factors cannot be used to solve; raised when a value
            is read.
        RuntimeError: not square matrices.

    Example:
        >>> import oneflow as flow
        >>> LD, pivots = flow.linalg.ldl_factor(flow.tensor([[0.0, 1.0], [1.0, 0.0]]))
        >>> pivots
        tensor([-2, -2], dtype=oneflow.int32)
    """
    packed, pivots, info = ldl_factor_ex(input, hermitian=hermitian)
    message = "linalg.ldl_factor: D has a 0 on its diagonal, so that it cannot be used to solve."
    return return_types.linalg_ldl_factor(checked(packed, info, message), pivots)


@function(method=False, namespace="linalg", keyword_aliases=_A)
def ldl_factor_ex(
    input: Tensor, *, hermitian: bool = False, check_errors: bool = False
) -> tuple[Tensor, Tensor, Tensor]:
    """`ldl_factor` with an int32 ``info`` per matrix: which block is 0, from 1, or 0 if none is.

    `check_errors` raises as `ldl_factor` does.

    Example:
        >>> import oneflow as flow
        >>> flow.linalg.ldl_factor_ex(flow.zeros(2, 2)).info
        tensor(1, dtype=oneflow.int32)
    """
    require_matrices("linalg.ldl_factor", input, square=True)
    packed, pivots, info = call(p.ldl_factor, input, hermitian=hermitian)
    if check_errors:
        message = "linalg.ldl_factor_ex: D has a 0 on its diagonal."
        packed = checked(packed, info, message)
    return return_types.linalg_ldl_factor_ex(packed, pivots, info)


@function(method=False, namespace="linalg", keyword_aliases={"B": "other"})
def ldl_solve(LD: Tensor, pivots: Tensor, other: Tensor, *, hermitian: bool = False) -> Tensor:
    """The solution ``X`` of ``A @ X = other``, given `ldl_factor` of ``A``.

    Args:
        LD: the factors, ``[..., n, n]``.
        pivots: the exchanged rows, ``[..., n]``.
        other: ``[..., n, k]``; leading dimensions broadcast.
        hermitian: as it was given to `ldl_factor`.

    Returns:
        ``[..., n, k]``; it has gradients with respect to `other` and `LD`.

    Raises:
        RuntimeError: shapes or dtypes that do not fit.

    Example:
        >>> import oneflow as flow
        >>> factors = flow.linalg.ldl_factor(flow.tensor([[0.0, 2.0], [2.0, 0.0]]))
        >>> flow.linalg.ldl_solve(*factors, flow.tensor([[2.0], [6.0]])).tolist()
        [[3.0], [1.0]]
    """
    require_matrices("linalg.ldl_solve", LD, square=True)
    require_matrices("linalg.ldl_solve", other)
    if other.shape[-2] != LD.shape[-1] or pivots.shape != LD.shape[:-1]:
        raise RuntimeError(
            "linalg.ldl_solve: expected LD [..., n, n], pivots [..., n] and other [..., n, k], got "
            f"{list(LD.shape)}, {list(pivots.shape)} and {list(other.shape)}"
        )
    if pivots.dtype.category is not Category.INTEGER or other.dtype is not LD.dtype:
        raise RuntimeError(
            "linalg.ldl_solve: expected integer pivots, and LD and other of one dtype, got "
            f"{pivots.dtype!r}, {LD.dtype!r} and {other.dtype!r}"
        )
    return call(p.ldl_solve, other, LD, pivots, hermitian=hermitian)
