"""The error of operators that need all elements and get a sparse tensor."""

from __future__ import annotations


class SparseOperandError(NotImplementedError):
    """An operator does not take sparse tensors."""
