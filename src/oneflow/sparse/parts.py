"""The parts of sparse tensors."""

from __future__ import annotations

from dataclasses import dataclass

from oneflow.base.layout import Layout
from oneflow.base.shape import Size
from oneflow.tensor.tensor import Tensor

# The names of the index tensors of each layout.
INDEX_NAMES = {
    Layout.sparse_coo: ("indices",),
    Layout.sparse_csr: ("crow_indices", "col_indices"),
    Layout.sparse_csc: ("ccol_indices", "row_indices"),
}


@dataclass(frozen=True)
class SparseParts:
    """The parts of a sparse tensor.

    Attributes:
        layout: how positions are stored.
        index: `oneflow.sparse_coo`: one tensor with a row for each sparse dimension. Compressed
            layouts: where each row (or column) begins, and the columns (or rows).
        values: one entry for each position; further dimensions are dense.
        size: the shape.
        coalesced: no position occurs twice, and they are in order.
    """

    layout: Layout
    index: tuple[Tensor, ...]
    values: Tensor
    size: Size
    coalesced: bool
