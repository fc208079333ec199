"""The errors of operators that need one array and get a tensor that is made of several."""

from __future__ import annotations


class ComposedOperandError(NotImplementedError):
    """An operator of ordinary tensors got a composed one; the subclasses say of which kind."""


class SparseOperandError(ComposedOperandError):
    """An operator does not take sparse tensors."""


class NestedOperandError(ComposedOperandError):
    """An operator does not take nested tensors."""
