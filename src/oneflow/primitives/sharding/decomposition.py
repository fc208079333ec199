"""Decompositions that replace a primitive which would need split dimensions whole.

A variance reads all elements, but all that it needs of them are sums. Such a primitive has a trait
`Decomposition`: a function of the same operands and attributes that computes the same of primitives
that can be computed in parts: what devices then exchange are the sums. It is differentiable as any
function of primitives is. The primitive itself runs, which is faster, if no dimension that it needs
whole is split.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from oneflow.primitives.operation import Operation
from oneflow.primitives.sharding.axes import axes_of


def decomposition_of(operation: Operation, split: Sequence[Collection[int]]) -> Callable | None:
    """Return the decomposition to compute instead of an operation, None if its primitive is best.

    Args:
        operation: an operation on tensors that may be split over devices.
        split: per operand the dimensions that are split.
    """
    decomposition = operation.primitive.traits.decomposition
    if decomposition is None or not any(split) or not decomposition.matches(operation.attributes):
        return None
    axes = axes_of(operation)
    if axes is None:
        return decomposition.function
    pairs = zip(axes.inputs, split, strict=True)
    return (
        decomposition.function
        if any(names[dim] is None for names, dims in pairs for dim in dims)
        else None
    )
