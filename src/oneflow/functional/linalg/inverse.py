"""Inverses, equations and determinants, mostly below `oneflow.linalg`."""

from __future__ import annotations

import math
import operator

from oneflow.base.dtype import Category
from oneflow.base.shape import broadcast_shapes
from oneflow.functional import return_types
from oneflow.functional.creation.conversion import fill
from oneflow.functional.elementwise.clamp import where
from oneflow.functional.linalg.checked import checked
from oneflow.functional.linalg.matmul import matmul
from oneflow.functional.linalg.products import cross_along
from oneflow.functional.registry import function
from oneflow.functional.shape.rearrange import diag_embed
from oneflow.functional.shape.strided_views import diagonal as diagonal_view
from oneflow.primitives.operators import linalg as matrices
from oneflow.primitives.operators.elementwise import conj, log, mul
from oneflow.primitives.operators.shape import clone
from oneflow.tensor.call import call
from oneflow.tensor.tensor import Tensor

_A = {"A": "input"}


def require_matrices(name: str, x: Tensor, square: bool = False) -> None:
    """Raise unless the argument is a float or complex matrix, or a batch of them.

    Raises:
        TypeError: `x` is not a tensor.
        RuntimeError: `x` has fewer than 2 dimensions, holds integers, or is not square although
            `square` asks for it.
        NotImplementedError: `x` is of half precision.
    """
    if not isinstance(x, Tensor):
        raise TypeError(f"{name}(): argument 'A' must be Tensor, not {type(x).__name__}")
    shape, dtype = x.shape, x.dtype
    if len(shape) < 2:
        raise RuntimeError(f"{name}: The input tensor A must have at least 2 dimensions.")
    if square and shape[-1] != shape[-2]:
        raise RuntimeError(
            f"{name}: A must be batches of square matrices, but they are {shape[-2]} by "
            f"{shape[-1]} matrices"
        )
    if dtype.category < Category.FLOAT:
        raise RuntimeError(
            f"{name}: Expected a floating point or complex tensor as input. Got {dtype!r}"
        )
    if dtype.itemsize < 4:
        raise NotImplementedError(
            f"{name}: not implemented for {dtype!r}; convert to oneflow.float32 first"
        )


@function(method="inverse", namespace="linalg", keyword_aliases=_A, also=("inverse",))
def inv(input: Tensor) -> Tensor:
    """Inverse of a square matrix, or of each of a batch.

    Args:
        input: ``[..., n, n]``, float32, float64 or complex.

    Raises:
        RuntimeError: the matrices are not square.
        LinAlgError: one has no inverse; raised when a value is read.

    Example:
        >>> import oneflow as flow
        >>> flow.linalg.inv(flow.tensor([[2.0, 0.0], [0.0, 4.0]])).tolist()
        [[0.5, 0.0], [0.0, 0.25]]
    """
    require_matrices("linalg.inv", input, square=True)
    inverse, info = call(matrices.inverse, input)
    message = (
        "linalg.inv: the inversion could not be completed because the input matrix is singular."
    )
    return checked(inverse, info, message)


@function(namespace="linalg", keyword_aliases=_A, also=("det",))
def det(input: Tensor) -> Tensor:
    """Determinant of a square matrix, or of each of a batch.

    Args:
        input: ``[..., n, n]``, float32, float64 or complex.

    Example:
        >>> import oneflow as flow
        >>> flow.linalg.det(flow.tensor([[2.0, 1.0], [0.0, 4.0]]))
        tensor(8., dtype=oneflow.float32)
    """
    require_matrices("linalg.det", input, square=True)
    return call(matrices.det, input)


@function(method=False, namespace="linalg", keyword_aliases=_A)
def slogdet(input: Tensor) -> return_types.linalg_slogdet:
    """Sign of the determinant and logarithm of its size, which may be too large for a number.

    Args:
        input: ``[..., n, n]``, float32, float64 or complex.

    Returns:
        Pair ``(sign, logabsdet)``; a singular matrix has 0 and minus infinity.

    Example:
        >>> import oneflow as flow
        >>> flow.linalg.slogdet(flow.tensor([[-1.0, 0.0], [0.0, 1.0]])).sign
        tensor(-1., dtype=oneflow.float32)
    """
    require_matrices("linalg.slogdet", input, square=True)
    return return_types.linalg_slogdet(*call(matrices.slogdet, input))


@function(keyword_aliases=_A)
def slogdet_(input: Tensor) -> return_types.slogdet:
    """`linalg.slogdet`.

    Example:
        >>> import oneflow as flow
        >>> flow.slogdet(flow.eye(2)).logabsdet
        tensor(0., dtype=oneflow.float32)
    """
    return return_types.slogdet(*slogdet(input))


@function(keyword_aliases=_A)
def logdet(input: Tensor) -> Tensor:
    """Logarithm of the determinant; NaN where that is negative.

    Example:
        >>> import oneflow as flow
        >>> flow.logdet(flow.eye(2))
        tensor(0., dtype=oneflow.float32)
    """
    require_matrices("logdet", input, square=True)
    sign, size = call(matrices.slogdet, input)
    if sign.dtype.is_complex:
        return size + call(log, sign)
    return where(sign < 0, math.nan, size)


@function(method=False, namespace="linalg", keyword_aliases={**_A, "B": "other"})
def solve(input: Tensor, other: Tensor, *, left: bool = True) -> Tensor:
    """The solution ``X`` of ``input @ X = other``.

    Args:
        input: square matrices ``[..., n, n]``.
        other: ``[..., n, k]``, or vectors ``[n]`` or ``[..., n]``.
        left: False solves ``X @ input = other``.

    Raises:
        RuntimeError: shapes do not fit, or dtypes differ.
        LinAlgError: a matrix is singular; raised when a value is read.

    Example:
        >>> import oneflow as flow
        >>> flow.linalg.solve(flow.tensor([[2.0, 0.0], [0.0, 4.0]]), flow.tensor([2.0, 2.0]))
        tensor([1.0000, 0.5000], dtype=oneflow.float32)
    """
    message = "linalg.solve: The solver failed because the input matrix is singular."
    return solution_and_info(input, other, left, message)[0]


def solution_and_info(
    input: Tensor, other: Tensor, left: bool, message: str | None
) -> tuple[Tensor, Tensor]:
    """The solution of `solve`, and which pivot of each matrix is 0, or 0.

    It is checked if there is a `message` for singular matrices.
    """
    require_matrices("linalg.solve", input, square=True)
    vector = isinstance(other, Tensor) and (
        other.ndim == 1 or (other.ndim == input.ndim - 1 and other.shape == input.shape[:-1])
    )
    right = other.unsqueeze(-1) if vector else other
    a, b = _equation("linalg.solve", input, right, left)
    solution, info = call(matrices.solve, a, b)
    if message is not None:
        solution = checked(solution, info, message)
    solution = solution if left else solution.mT
    return solution.squeeze(-1) if vector else solution, info


def _equation(name: str, a: Tensor, b: Tensor, left: bool) -> tuple[Tensor, Tensor]:
    """The operands of ``a @ x = b``, checked; an equation ``x @ a = b`` is turned around."""
    require_matrices(name, b)
    if a.dtype is not b.dtype:
        raise RuntimeError(
            f"{name}: Expected A and B to have the same dtype, but found A of type {a.dtype!r} and "
            f"B of type {b.dtype!r} instead"
        )
    if a.shape[-1] != b.shape[-2 if left else -1]:
        raise RuntimeError(
            f"{name}: Incompatible shapes of A and B for the equation {'AX' if left else 'XA'} = B "
            f"({a.shape[-2]}x{a.shape[-1]} and {b.shape[-2]}x{b.shape[-1]})"
        )
    broadcast_shapes(tuple(a.shape[:-2]), tuple(b.shape[:-2]))
    return (a, b) if left else (a.mT, b.mT)


@function(method=False, namespace="linalg", keyword_aliases={**_A, "B": "other"})
def solve_triangular(
    input: Tensor, other: Tensor, *, upper: bool, left: bool = True, unitriangular: bool = False
) -> Tensor:
    """The solution ``X`` of ``input @ X = other`` for triangular matrices.

    Args:
        input: ``[..., n, n]``; only one triangle is looked at.
        other: ``[..., n, k]``.
        upper: which triangle: the upper or the lower.
        left: False solves ``X @ input = other``.
        unitriangular: take the diagonal for ones.

    Example:
        >>> import oneflow as flow
        >>> a, b = flow.tensor([[2.0, 1.0], [0.0, 4.0]]), flow.tensor([[3.0], [4.0]])
        >>> flow.linalg.solve_triangular(a, b, upper=True).tolist()
        [[1.0], [1.0]]
    """
    name = "linalg.solve_triangular"
    require_matrices(name, input, square=True)
    a, b = _equation(name, input, other, left)
    lower = bool(upper) != bool(left)
    solution = call(matrices.solve_triangular, a, b, lower=lower, unit_diagonal=bool(unitriangular))
    return solution if left else solution.mT


@function(namespace="linalg", keyword_aliases=_A, also=("matrix_power",))
def matrix_power(input: Tensor, n: int) -> Tensor:
    """A square matrix multiplied `n` times; its inverse for negative `n`.

    Args:
        input: ``[..., m, m]``.
        n: integer.

    Example:
        >>> import oneflow as flow
        >>> flow.linalg.matrix_power(flow.tensor([[1, 1], [0, 1]]), 5).tolist()
        [[1, 5], [0, 1]]
    """
    name = "linalg.matrix_power"
    if not isinstance(input, Tensor):
        raise TypeError(f"{name}(): argument 'A' must be Tensor, not {type(input).__name__}")
    if input.ndim < 2 or input.shape[-1] != input.shape[-2]:
        raise RuntimeError(
            f"{name}: A must be batches of square matrices, but its shape is {list(input.shape)}"
        )
    count = operator.index(n)
    if count == 1:
        return call(clone, input)
    factor, result = inv(input) if count < 0 else input, None
    remaining = abs(count)
    while remaining:
        if remaining % 2:
            result = factor if result is None else matmul(result, factor)
        remaining //= 2
        factor = matmul(factor, factor) if remaining else factor
    return _identity_like(input) if result is None else result


def _identity_like(input: Tensor) -> Tensor:
    """Identity matrices; the gradient of `input` is 0, as in PyTorch, and nothing of it is kept."""
    return diag_embed(fill(diagonal_view(input, 0, -2, -1), 1))


@function(method=False, namespace="linalg", keyword_aliases={**_A, "x": "input", "y": "other"})
def vecdot(input: Tensor, other: Tensor, *, dim: int = -1) -> Tensor:
    """Dot products along a dimension, with `input` conjugated.

    Args:
        input: float or complex tensor.
        other: tensor of the same dtype; sizes broadcast.
        dim: the vectors' dimension.

    Example:
        >>> import oneflow as flow
        >>> flow.linalg.vecdot(flow.ones(2, 3), flow.ones(3))
        tensor([3., 3.], dtype=oneflow.float32)
    """
    if input.dtype is not other.dtype:
        raise RuntimeError(
            "linalg.vecdot: Expected x and y to have the same dtype, but found x of type "
            f"{input.dtype!r} and y of type {other.dtype!r} instead"
        )
    if input.dtype.category < Category.FLOAT:
        raise RuntimeError(
            "linalg.vecdot: Expected a floating point or complex tensor as input. Got "
            f"{input.dtype!r}"
        )
    first = call(conj, input) if input.dtype.is_complex else input
    return call(mul, first, other).sum(dim)


@function(method=False, namespace="linalg")
def cross(input: Tensor, other: Tensor, dim: int = -1) -> Tensor:
    """Cross products of vectors of size 3 along `dim`.

    Example:
        >>> import oneflow as flow
        >>> flow.linalg.cross(flow.tensor([1, 0, 0]), flow.tensor([0, 1, 0]))
        tensor([0, 0, 1], dtype=oneflow.int64)
    """
    return cross_along("linalg.cross", input, other, dim)


@function(method=False, namespace="linalg", keyword_aliases=_A)
def diagonal(input: Tensor, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """View of the diagonals of the last two dimensions.

    Example:
        >>> import oneflow as flow
        >>> flow.linalg.diagonal(flow.ones(2, 3, 3)).shape
        oneflow.Size([2, 3])
    """
    return diagonal_view(input, offset, dim1, dim2)
