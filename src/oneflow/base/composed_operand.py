"""The errors of operators that need one array and get a tensor that is made of several."""

from __future__ import annotations


class ComposedOperandError(NotImplementedError):
    """An operator takes tensors of one array only; the classes below say what it got."""


class SparseOperandError(ComposedOperandError):
    """An operator does not take sparse tensors."""


class NestedOperandError(ComposedOperandError):
    """An operator does not take nested tensors."""
