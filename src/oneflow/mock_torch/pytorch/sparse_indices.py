"""Conversions and checks of coordinates and compressed rows by PyTorch's private names."""

from __future__ import annotations

from collections.abc import Sequence

from oneflow.base.dtype import int32, int64
from oneflow.base.layout import Layout
from oneflow.functional.shape.concat import stack
from oneflow.sparse.creation import sparse_compressed_tensor, sparse_coo_tensor
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


def _validate_sparse_coo_tensor_args(
    indices: Tensor,
    values: Tensor,
    size: Sequence[int],
    is_coalesced: bool | None = None,
    check_pinning: bool | None = None,
) -> None:
    """Check that coordinates and values make a tensor of a size.

    Raises:
        RuntimeError: they do not.
    """
    sparse_coo_tensor(indices, values, size, check_invariants=True, is_coalesced=is_coalesced)


def _validate_sparse_compressed_tensor_args(
    compressed_indices: Tensor,
    plain_indices: Tensor,
    values: Tensor,
    size: Sequence[int],
    layout: Layout,
    check_pinning: bool | None = None,
) -> None:
    """Check that compressed positions and values make a tensor of a size in a layout.

    Raises:
        RuntimeError: they do not.
    """
    arguments = compressed_indices, plain_indices, values, size
    sparse_compressed_tensor(*arguments, layout=layout, check_invariants=True)


def _validate_sparse_csr_tensor_args(
    crow_indices: Tensor,
    col_indices: Tensor,
    values: Tensor,
    size: Sequence[int],
    check_pinning: bool | None = None,
) -> None:
    """`_validate_sparse_compressed_tensor_args` of rows."""
    arguments = crow_indices, col_indices, values, size
    _validate_sparse_compressed_tensor_args(*arguments, Layout.sparse_csr)


def _validate_sparse_csc_tensor_args(
    ccol_indices: Tensor,
    row_indices: Tensor,
    values: Tensor,
    size: Sequence[int],
    check_pinning: bool | None = None,
) -> None:
    """`_validate_sparse_compressed_tensor_args` of columns."""
    arguments = ccol_indices, row_indices, values, size
    _validate_sparse_compressed_tensor_args(*arguments, Layout.sparse_csc)
