"""Conversions between coordinates and compressed rows by PyTorch's private names."""

from __future__ import annotations

from oneflow.base.dtype import int32, int64
from oneflow.functional.shape.concat import stack
from oneflow.sparse.tensor import compressed, expanded
from oneflow.tensor.tensor import Tensor


def _convert_indices_from_coo_to_csr(
    input: Tensor, size: int, *, out_int32: bool = False
) -> Tensor:
    """Return the position at which each row begins, from the rows of values, which are in order."""
    return compressed(input, size).to(int32 if out_int32 else int64)


def _convert_indices_from_csr_to_coo(
    crow_indices: Tensor,
    col_indices: Tensor,
    *,
    out_int32: bool = False,
    transpose: bool = False,
) -> Tensor:
    """Coordinates by where rows begin and columns; columns first if transposed."""
    rows = expanded(crow_indices, col_indices.shape[0])
    pair = (col_indices, rows) if transpose else (rows, col_indices)
    return stack([indices.to(int32 if out_int32 else int64) for indices in pair])
