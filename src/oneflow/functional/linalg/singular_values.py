"""Functions of the singular values of matrices: pseudoinverse, rank, least squares, condition."""

from __future__ import annotations

import math

from oneflow.base.limits import finfo
from oneflow.functional import return_types
from oneflow.functional.elementwise.clamp import where
from oneflow.functional.linalg.inverse import require_matrices
from oneflow.functional.linalg.matmul import matmul
from oneflow.functional.linalg.norms import matrix_norm
from oneflow.functional.registry import function
from oneflow.functional.shape.strided_views import adjoint
from oneflow.primitives.operators import linalg as matrices
from oneflow.tensor.call import call
from oneflow.tensor.tensor import Tensor

_A = {"A": "input"}


def _tolerances(
    x: Tensor, atol: float | Tensor | None, rtol: float | Tensor | None
) -> tuple[float | Tensor, float | Tensor]:
    """Absolute tolerance of singular values, and relative one in units of rounding.

    The default relative tolerance is the larger size of the matrix times the unit of rounding.
    """
    if rtol is None:
        return (0.0, max(x.shape[-2:])) if atol is None else (atol, 0.0)
    return (0.0 if atol is None else atol), rtol / finfo(x.dtype).eps


@function(method=False, namespace="linalg", keyword_aliases={**_A, "rcond": "rtol"})
def pinv(
    input: Tensor,
    rtol: float | Tensor | None = None,
    hermitian: bool = False,
    *,
    atol: float | Tensor | None = None,
) -> Tensor:
    """Pseudoinverse: the inverse where there is one, else the best there can be.

    Args:
        input: ``[..., m, n]``.
        rtol: singular values up to this, relative to the largest, count as 0; None: rounding
            errors.
        hermitian: `input` is Hermitian; quicker.
        atol: singular values up to this count as 0.

    Returns:
        Tensor ``[..., n, m]``.

    Example:
        >>> import oneflow as flow
        >>> flow.linalg.pinv(flow.tensor([[2.0], [0.0]])).tolist()
        [[0.5, 0.0]]
    """
    require_matrices("linalg.pinv", input, square=hermitian)
    source = call(matrices.from_lower, input) if hermitian else input
    if not input.numel():
        return adjoint(input)
    return call(matrices.pinv, source, *_tolerances(input, atol, rtol), hermitian=bool(hermitian))


@function(method=False, namespace="linalg", keyword_aliases={**_A, "tol": "atol"})
def matrix_rank(
    input: Tensor,
    atol: float | Tensor | None = None,
    hermitian: bool = False,
    *,
    rtol: float | Tensor | None = None,
) -> Tensor:
    """Number of singular values that are not 0.

    Args:
        input: ``[..., m, n]``.
        atol: singular values up to this count as 0; None: rounding errors.
        hermitian: `input` is Hermitian; quicker.
        rtol: likewise, relative to the largest.

    Returns:
        int64 tensor.

    Example:
        >>> import oneflow as flow
        >>> flow.linalg.matrix_rank(flow.ones(3, 3))
        tensor(1, dtype=oneflow.int64)
    """
    require_matrices("linalg.matrix_rank", input, square=hermitian)
    source = call(matrices.from_lower, input) if hermitian else input
    return call(
        matrices.matrix_rank, source, *_tolerances(input, atol, rtol), hermitian=bool(hermitian)
    )


@function(method=False, namespace="linalg", keyword_aliases={"A": "input", "B": "b", "other": "b"})
def lstsq(
    input: Tensor, b: Tensor, rcond: float | None = None, *, driver: str | None = None
) -> return_types.linalg_lstsq:
    """The solution ``X`` for which ``input @ X`` is nearest to `b`.

    Args:
        input: ``[..., m, n]``.
        b: ``[..., m, k]``, or vectors ``[..., m]``.
        rcond: singular values up to this, relative to the largest, count as 0.
        driver: PyTorch's choice of a method. The method here is always the pseudoinverse; the
            choice decides which further results are given.

    Returns:
        ``(solution, residuals, rank, singular_values)``; the last is empty unless `driver` is
        ``"gelsd"`` or ``"gelss"``, residuals too unless it is one of these or ``"gels"`` and
        there are more rows than columns, and the rank if it is ``"gels"``.

    Example:
        >>> import oneflow as flow
        >>> a, b = flow.ones(2, 1), flow.tensor([[1.0], [3.0]])
        >>> flow.linalg.lstsq(a, b).solution.round().tolist()
        [[2.0]]
    """
    require_matrices("linalg.lstsq", input)
    if driver not in (None, "gels", "gelsy", "gelsd", "gelss"):
        raise RuntimeError(
            "linalg.lstsq: parameter `driver` should be one of (gels, gelsy, gelsd, gelss), got "
            f"{driver}"
        )
    vector = b.ndim == 1 or (input.ndim - 1 == b.ndim and b.shape == input.shape[:-1])
    right = b.unsqueeze(-1) if vector else b
    if right.shape[-2] != input.shape[-2]:
        raise RuntimeError("linalg.lstsq: input.size(-2) should match other.size(-2)")
    solution = matmul(pinv(input, rcond), right)
    empty = input.abs().new_empty((0,))
    residuals = values = empty
    detailed = driver in ("gels", "gelsd", "gelss")
    if detailed and input.shape[-2] > input.shape[-1]:
        difference = matmul(input, solution) - right
        residuals = (difference.abs() ** 2).sum(-2)
    if driver in ("gelsd", "gelss"):
        values = call(matrices.svdvals, input)
    solution = solution.squeeze(-1) if vector else solution
    rank = empty.long() if driver == "gels" else matrix_rank(input, rtol=rcond)
    return return_types.linalg_lstsq(solution, residuals, rank, values)


@function(method=False, namespace="linalg", keyword_aliases=_A)
def cond(input: Tensor, p: float | str | None = None) -> Tensor:
    """Condition number: the norm of a matrix times the norm of its inverse; infinity if singular.

    Args:
        input: ``[..., m, n]``, square unless `p` is None, 2 or -2.
        p: order of the norm, see `matrix_norm`; None: 2.

    Example:
        >>> import oneflow as flow
        >>> flow.linalg.cond(flow.tensor([[2.0, 0.0], [0.0, 4.0]]))
        tensor(2., dtype=oneflow.float32)
    """
    if p in (None, 2, -2):
        require_matrices("linalg.cond", input)
        values = call(matrices.svdvals, input)
        if not values.shape[-1]:
            return values.sum(-1)
        largest, smallest = values.select(-1, 0), values.select(-1, -1)
        return smallest / largest if p == -2 else largest / smallest
    require_matrices("linalg.cond", input, square=True)
    if p not in ("fro", "nuc", 1, -1, math.inf, -math.inf):
        raise RuntimeError(f"linalg.cond got an invalid norm type: {p}")
    inverse, info = call(matrices.inverse, input)
    # The inverse of a singular matrix may contain NaN, for which some norms raise.
    inverse = where((info == 0).unsqueeze(-1).unsqueeze(-1), inverse, 1.0)
    product = matrix_norm(input, p) * matrix_norm(inverse, p)
    return where(info == 0, product, math.inf)
