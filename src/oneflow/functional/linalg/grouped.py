"""Products of groups, each with a matrix of its own."""

from __future__ import annotations

from oneflow.base.dtype import DType, int32, int64
from oneflow.functional.linalg.matmul import require_one_dtype
from oneflow.functional.linalg.products import bmm
from oneflow.functional.registry import function
from oneflow.primitives.operators.grouped_matmul import grouped_matmul, grouped_outer
from oneflow.tensor.call import call
from oneflow.tensor.tensor import Tensor


@function(method=False, namespace="nn.functional")
def grouped_mm(
    mat_a: Tensor,
    mat_b: Tensor,
    *,
    offs: Tensor | None = None,
    bias: Tensor | None = None,
    out_dtype: DType | None = None,
) -> Tensor:
    """Multiply groups of rows, columns or inner elements, each with a matrix of its own.

    Experts of a mixture are such groups: tokens that are sorted by expert, and a weight for each.

    Args:
        mat_a: the left operand, of shape (groups, m, k); or without groups, and then its rows are
            divided into groups, or its columns if `mat_b` has no groups either.
        mat_b: the right operand, likewise.
        offs: where each group ends, in order; needed where an operand has no groups.
        bias: is added to the result.
        out_dtype: the dtype of the result; by default that of the operands.

    Returns:
        The products: of shape (groups, m, n) if both operands have groups, or neither has. Elements
        beyond the last group are 0.

    Raises:
        ValueError: `offs` is missing, or given where both operands have groups.
        RuntimeError: shapes or dtypes do not fit.
        IndexError: an end is before the last one, negative or too large.

    Example:
        >>> import oneflow as flow
        >>> ends = flow.tensor([1, 3], dtype=flow.int32)
        >>> experts = flow.tensor([[[1.0]], [[10.0]]])
        >>> flow.nn.functional.grouped_mm(flow.ones(3, 1), experts, offs=ends).tolist()
        [[1.0], [10.0], [10.0]]
    """
    require_one_dtype("grouped_mm", mat_a, mat_b)
    _check(mat_a, mat_b, offs)
    if offs is None:
        result = bmm(mat_a, mat_b)
    elif mat_b.ndim == 3:
        result = call(grouped_matmul, mat_a, mat_b, offs)
    elif mat_a.ndim == 3:
        result = call(grouped_matmul, mat_b.mT, mat_a.mT, offs).mT
    else:
        result = call(grouped_outer, mat_a.mT, mat_b, offs)
    if bias is not None:
        result = result + bias
    return result if out_dtype is None else result.to(out_dtype)


def _check(mat_a: Tensor, mat_b: Tensor, offs: Tensor | None) -> None:
    if not mat_a.dtype.is_floating_point:
        raise RuntimeError(
            f"grouped_mm(): `mat_a` and `mat_b` must be real floating point, got {mat_a.dtype}"
        )
    dims = (mat_a.ndim, mat_b.ndim)
    if not set(dims) <= {2, 3}:
        raise RuntimeError(
            f"grouped_mm(): `mat_a` and `mat_b` must have 2 or 3 dimensions, got {dims[0]} and "
            f"{dims[1]}"
        )
    if (dims == (3, 3)) == (offs is not None):
        raise ValueError(
            "`offs` must be given if one of `mat_a` and `mat_b` has two dimensions, and only then; "
            f"they have {dims[0]} and {dims[1]}"
        )
    if mat_a.shape[-1] != mat_b.shape[-2]:
        raise RuntimeError(
            f"grouped_mm(): the columns of `mat_a` and the rows of `mat_b` must be as many, got "
            f"{tuple(mat_a.shape)} and {tuple(mat_b.shape)}"
        )
    if offs is None:
        return
    if offs.ndim != 1 or offs.dtype not in (int32, int64):
        raise RuntimeError(
            f"grouped_mm(): `offs` must be a vector of int32, got {offs.dtype} of shape "
            f"{tuple(offs.shape)}"
        )
    groups = next((x.shape[0] for x in (mat_a, mat_b) if x.ndim == 3), offs.shape[0])
    if offs.shape[0] != groups or not groups:
        raise RuntimeError(
            f"grouped_mm(): `offs` must have an end for each of the {groups} groups, got "
            f"{offs.shape[0]}"
        )
