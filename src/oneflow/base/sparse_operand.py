"""What operators raise that find a sparse tensor where they need all elements."""

from __future__ import annotations


class SparseOperandError(NotImplementedError):
    """An operator does not take sparse tensors."""
