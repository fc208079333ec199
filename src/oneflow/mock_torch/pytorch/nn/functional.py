"""Functions that ``torch.nn.functional`` has beside `oneflow.nn.functional`."""

from __future__ import annotations

import oneflow as flow
from oneflow import Tensor


def grouped_mm(
    mat_a: Tensor,
    mat_b: Tensor,
    *,
    offs: Tensor | None = None,
    bias: Tensor | None = None,
    out_dtype: flow.dtype | None = None,
) -> Tensor:
    """Multiply groups of rows, columns or inner elements, each with a matrix of its own.

    Args:
        mat_a: the left operand, of shape (groups, m, k); or without groups, and then its rows are
            divided into groups, or its columns if `mat_b` has no groups either.
        mat_b: the right operand, likewise.
        offs: where each group ends, in order; needed where an operand has no groups.
        bias: is added to the result.
        out_dtype: the dtype of the result; by default that of the operands.

    Returns:
        The products: of shape (groups, m, n) if both operands have groups, or neither has. What
        is beyond the last group is 0.

    Raises:
        ValueError: `offs` is missing, or given where both operands have groups.

    Example:
        >>> from oneflow import mock_torch
        >>> with mock_torch.enable():
        ...     import torch
        ...     ends = torch.tensor([1, 3], dtype=torch.int32)
        ...     experts = torch.tensor([[[1.0]], [[10.0]]])
        ...     torch.nn.functional.grouped_mm(torch.ones(3, 1), experts, offs=ends).tolist()
        [[1.0], [10.0], [10.0]]
    """
    grouped = mat_a.ndim == mat_b.ndim == 3
    if grouped == (offs is not None):
        raise ValueError(
            "`offs` must be given if one of `mat_a` and `mat_b` has two dimensions, and only then; "
            f"they have {mat_a.ndim} and {mat_b.ndim}"
        )
    if offs is None:
        result = flow.bmm(mat_a, mat_b)
    elif mat_b.ndim == 3:
        rows = _members(offs, mat_a.shape[0]).unsqueeze(2)
        result = flow.einsum("gmk,gkn->mn", flow.where(rows, mat_a, 0), mat_b)
    elif mat_a.ndim == 3:
        columns = _members(offs, mat_b.shape[1]).unsqueeze(1)
        result = flow.einsum("gmk,gkn->mn", mat_a, flow.where(columns, mat_b, 0))
    else:
        inner = _members(offs, mat_b.shape[0]).unsqueeze(1)
        result = flow.where(inner, mat_a, 0) @ flow.where(inner.mT, mat_b, 0)
    if bias is not None:
        result = result + bias
    return result if out_dtype is None else result.to(out_dtype)


def _members(ends: Tensor, count: int) -> Tensor:
    """Return a mask of the elements in each group, of shape (groups, count)."""
    begins = flow.nn.functional.pad(ends[:-1], (1, 0))
    places = flow.arange(count, device=ends.device)
    return (places >= begins.unsqueeze(1)) & (places < ends.unsqueeze(1))


__all__ = ["grouped_mm"]
