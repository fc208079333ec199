"""What is computed instead of a primitive that would need split dimensions whole.

A variance reads all elements, but all that it needs of them are sums. The fact ``composed`` of such
a primitive is a function of the same operands and attributes that computes the same of primitives
that can be computed in parts: what devices then exchange are the sums. It is differentiable as any
composition is. Where nothing needed is split, the primitive itself is faster and is what runs.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any

from oneflow.primitives.operation import Operation
from oneflow.primitives.sharding.axes import axes_of


def composed(function: Callable, when: Callable[[Any], bool] | None = None) -> dict[str, Any]:
    """The fact that a primitive is composed in the cases that `when` of its attributes tells."""
    return {"composed": (function, when)}


def composition_of(operation: Operation, split: Sequence[Collection[int]]) -> Callable | None:
    """What to compute instead of an operation, or None if that is best done by its primitive.

    Args:
        operation: on tensors that may lie split over devices.
        split: per operand the dimensions that are split.
    """
    fact = operation.primitive.facts.get("composed")
    if fact is None or not any(split):
        return None
    function, when = fact
    if when is not None and not when(operation.attributes):
        return None
    axes = axes_of(operation)
    if axes is None:
        return function
    pairs = zip(axes.inputs, split, strict=True)
    return function if any(names[dim] is None for names, dims in pairs for dim in dims) else None
