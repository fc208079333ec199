"""How a primitive's dimensions may be split over devices, in axis notation.

Every dimension of every operand and result gets a name. Dimensions of one name are split together:

* a name that operands and results share may be split; the results are split too,
* a name that only operands have is summed over: split it and every device has a *partial sum* of
  the results,
* operands without the name are needed whole, and a dimension without a name (None) may not be split
  at all.

So ``"... m k, ... k n -> ... m n"`` says everything about a matrix product. Where names depend on
attributes or shapes the rule is a function of the operation.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from oneflow.primitives.operation import Operation

Names = tuple[str | None, ...]


@dataclass(frozen=True)
class Axes:
    """Names of the dimensions of one operation.

    Attributes:
        inputs: per operand, one name (or None) per dimension.
        outputs: per result, likewise.
    """

    inputs: tuple[Names, ...]
    outputs: tuple[Names, ...]

    def names(self) -> list[str]:
        """The names that may be split, in order of appearance."""
        return list(dict.fromkeys(n for dims in self.inputs for n in dims if n is not None))

    def is_summed(self, name: str) -> bool:
        """Whether splitting `name` makes the results partial sums."""
        return not any(name in dims for dims in self.outputs)


AxisRule = Callable[["Operation"], Axes]


def notation(text: str) -> AxisRule:
    """The rule for names that are always the same, such as ``"m k, k n -> m n"``.

    ``...`` stands for leading dimensions that broadcast, ``_`` for a dimension that may not be
    split. Operands beyond those written are numbers.
    """
    left, _, right = text.partition("->")
    written_inputs = [part.split() for part in left.split(",")]
    written_outputs = [part.split() for part in right.split(",")]

    def rule(operation: Operation) -> Axes:
        ndims = [spec.ndim for spec in operation.in_specs]
        lead = max(n - len(w) + 1 for n, w in zip(ndims, written_inputs, strict=False))
        sizes = [spec.shape for spec in operation.in_specs]
        inputs = [_expand(w, s, lead) for w, s in zip(written_inputs, sizes, strict=False)]
        inputs += [() for _ in operation.in_specs[len(inputs) :]]
        outputs = [
            _expand(w, spec.shape, lead)
            for w, spec in zip(written_outputs, operation.out_specs, strict=True)
        ]
        return Axes(tuple(inputs), tuple(outputs))

    return rule


def _expand(written: list[str], shape: tuple[int, ...], lead: int) -> Names:
    """Names of one operand's dimensions; a broadcast dimension of size 1 has none."""
    if "..." not in written:
        return tuple(None if name == "_" else name for name in written)
    own = len(shape) - (len(written) - 1)
    leading = [f"lead{lead - own + i}" if shape[i] != 1 else None for i in range(own)]
    return (*leading, *(None if name == "_" else name for name in written[1:]))


def elementwise_axes(operation: Operation) -> Axes:
    """Every dimension may be split; operands are aligned at the right and size 1 broadcasts."""
    rank = max(spec.ndim for spec in operation.out_specs)

    def names(shape: tuple[int, ...]) -> Names:
        offset = rank - len(shape)
        return tuple(None if size == 1 else f"d{offset + i}" for i, size in enumerate(shape))

    inputs = tuple(names(spec.shape) for spec in operation.in_specs)
    return Axes(inputs, tuple(names(spec.shape) for spec in operation.out_specs))


def reduced_axes(summed: bool) -> AxisRule:
    """The rule of a reduction over `dims`: the others may be split, with `summed` these too."""

    def rule(operation: Operation) -> Axes:
        dims, keepdim = operation.attributes["dims"], operation.attributes.get("keepdim", False)
        names = [f"d{i}" for i in range(operation.in_specs[0].ndim)]
        source = tuple(n if summed or i not in dims else None for i, n in enumerate(names))
        kept = [None if i in dims else n for i, n in enumerate(names) if keepdim or i not in dims]
        return Axes((source,), tuple(tuple(kept) for _ in operation.out_specs))

    return rule


def free_dims(*attributes: str) -> AxisRule:
    """The rule of an operation that works along some dimensions: all others may be split.

    Args:
        attributes: names of the attributes that hold the dimension or dimensions worked along.
            Operands and results of the rank of the first operand correspond dimension by dimension;
            the others are needed whole.
    """

    def rule(operation: Operation) -> Axes:
        busy: set[int] = set()
        for attribute in attributes:
            dims = operation.attributes[attribute]
            busy.update(dims if isinstance(dims, tuple) else (dims,))
        first = operation.in_specs[0]

        def names(spec) -> Names:
            if spec.ndim != first.ndim:
                return (None,) * spec.ndim
            return tuple(None if i in busy else f"d{i}" for i in range(spec.ndim))

        return Axes(tuple(map(names, operation.in_specs)), tuple(map(names, operation.out_specs)))

    return rule


def transposed_axes(operation: Operation) -> Axes:
    """`transpose`: the names move with their dimensions."""
    names = tuple(f"d{i}" for i in range(operation.in_specs[0].ndim))
    return Axes((names,), (tuple(names[i] for i in operation.attributes["perm"]),))


def broadcast_axes(operation: Operation) -> Axes:
    """`broadcast_to`: dimensions that are not broadcast may be split."""
    before, after = operation.in_specs[0].shape, operation.out_specs[0].shape
    added = len(after) - len(before)
    kept = tuple(f"d{i}" if size == after[added + i] else None for i, size in enumerate(before))
    return Axes((kept,), ((None,) * added + kept,))


def reshaped_axes(operation: Operation) -> Axes:
    """`reshape`: dimensions that stay, and the outermost of those merged or taken apart."""
    before, after = operation.in_specs[0].shape, operation.out_specs[0].shape
    source: list[str | None] = [None] * len(before)
    target: list[str | None] = [None] * len(after)
    i = j = 0
    while i < len(before) and j < len(after):
        first_i, first_j, size_i, size_j = i, j, before[i], after[j]
        while size_i != size_j:
            if size_i < size_j and i + 1 < len(before):
                i += 1
                size_i *= before[i]
            elif size_j < size_i and j + 1 < len(after):
                j += 1
                size_j *= after[j]
            else:
                return Axes((tuple(source),), (tuple(target),))
        low, high = sorted((before[first_i], after[first_j]))
        if low > 1 and high % low == 0:
            source[first_i] = target[first_j] = f"d{first_i}"
        i, j = i + 1, j + 1
    return Axes((tuple(source),), (tuple(target),))


def axes_of(operation: Operation) -> Axes | None:
    """The names of an operation's dimensions.

    None when its primitive says nothing about splitting.
    """
    rule = operation.primitive.axes
    if rule is None:
        return elementwise_axes(operation) if operation.primitive.elementwise else None
    return (notation(rule) if isinstance(rule, str) else rule)(operation)
