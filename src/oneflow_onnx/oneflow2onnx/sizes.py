"""Sizes that are symbols: found by capturing a model at several sizes and comparing.

A model is captured once as it is called, and twice more for each symbol, with its size doubled and
tripled. A number that is the same in all captures is a constant; one that differs is a
`CapturedSize`, which holds its value in each. The source of a size is then read off tensors: it is
the first dimension that had the same value in every capture.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any


class DynamicSizeError(ValueError):
    """Something that ONNX fixes in the file depends on a symbolic size."""


@dataclasses.dataclass(frozen=True)
class CapturedSize:
    """A number that depends on symbolic sizes.

    Attributes:
        values: the number in each capture.
    """

    values: tuple[int, ...]

    def __str__(self) -> str:
        return f"a symbolic size ({' or '.join(map(str, self.values))})"


Dim = int | CapturedSize
Shape = tuple[Dim, ...]


def merge(values: Sequence[Any], what: str) -> Any:
    """Return the common value of captures, with a `CapturedSize` where their whole numbers differ.

    Args:
        values: the value in each capture: numbers, texts, and tuples and records of these.
        what: a name for it, for the error.

    Raises:
        DynamicSizeError: they differ in something else than whole numbers.
    """
    first = values[0]
    if all(value is first for value in values) or all(_equal(value, first) for value in values):
        return first
    if any(type(value) is not type(first) for value in values):
        raise DynamicSizeError(f"{what} is of another kind at another size")
    if type(first) in (int, float) and all(float(value).is_integer() for value in values):
        return CapturedSize(tuple(map(int, values)))
    if isinstance(first, tuple) and all(len(value) == len(first) for value in values):
        parts = [merge(part, what) for part in zip(*values, strict=True)]
        return type(first)(*parts) if hasattr(first, "_fields") else tuple(parts)
    if dataclasses.is_dataclass(first) and not isinstance(first, type):
        names = [field.name for field in dataclasses.fields(first)]
        fields = {name: merge([getattr(value, name) for value in values], what) for name in names}
        return dataclasses.replace(first, **fields)
    raise DynamicSizeError(f"{what} is {' or '.join(map(repr, values))}, depending on the size")


def _equal(one: Any, other: Any) -> bool:
    try:
        return type(one) is type(other) and bool(one == other)
    except ValueError:  # arrays
        return False


def has_size(value: Any) -> bool:
    """Return whether there is a `CapturedSize` in a value."""
    if isinstance(value, CapturedSize):
        return True
    if isinstance(value, tuple | list):
        return any(map(has_size, value))
    return False


def product(dims: Sequence[Dim]) -> Dim:
    """The product of sizes."""
    total: Dim = 1
    for dim in dims:
        total = combine(total, dim, lambda one, other: one * other)
    return total


def combine(one: Dim, other: Dim, function: Any) -> Dim:
    """`function` of two sizes, in every capture."""
    counts = [len(dim.values) for dim in (one, other) if isinstance(dim, CapturedSize)]
    if not counts:
        return function(one, other)
    count = counts[0]
    values = [
        function(value_in(one, capture), value_in(other, capture)) for capture in range(count)
    ]
    return values[0] if len(set(values)) == 1 else CapturedSize(tuple(values))


def value_in(dim: Dim, capture: int) -> int:
    """The value of a size in one of the captures."""
    return dim.values[capture] if isinstance(dim, CapturedSize) else dim


def require_static(dims: Sequence[Dim], what: str) -> tuple[int, ...]:
    """Return sizes as plain integers.

    Raises:
        DynamicSizeError: one is symbolic.
    """
    plain = static(dims)
    if plain is None:
        raise DynamicSizeError(f"{what} depends on a symbolic size, and ONNX needs it as a number")
    return plain


def static(dims: Sequence[Dim]) -> tuple[int, ...] | None:
    """Sizes as plain integers; None if one is symbolic."""
    plain = tuple([dim for dim in dims if not isinstance(dim, CapturedSize)])
    return plain if len(plain) == len(dims) else None


def broadcast_shapes(shapes: Sequence[Shape]) -> Shape:
    """The shape of the elementwise result of operands of these shapes."""
    rank = max(map(len, shapes), default=0)
    result: list[Dim] = [1] * rank
    for shape in shapes:
        for place, dim in enumerate(shape, rank - len(shape)):
            if dim != 1:
                result[place] = dim
    return tuple(result)
