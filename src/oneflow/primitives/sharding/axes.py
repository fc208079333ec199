"""Axis notation: how a primitive's dimensions may be split over devices.

Every dimension of every operand and result gets a name. Dimensions of one name are split together:

* a name that operands and results share may be split; the results are split too,
* a name that only operands have is summed over: split it and every device has a *partial sum* of
  the results; where only some results lack a name, these are the partial sums,
* a name that only results have may be split at no cost: every device makes its shard,
* operands without the name are needed whole, and a dimension without a name (None) may not be split
  at all.

So ``"... m k, ... k n -> ... m n"`` says everything about a matrix product. If names depend on
attributes or shapes, the rule is a function of the operation. The gradients that `jax.vjp` makes
have the names of what they are the gradient of.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from oneflow.base.spec import TensorSpec
from oneflow.primitives.operation import Operation
from oneflow.primitives.registry import Primitive

Names = tuple[str | None, ...]


@dataclass(frozen=True)
class Axes:
    """Names of the dimensions of one operation.

    Attributes:
        inputs: per operand, one name (or None) per dimension.
        outputs: per result, likewise.
        sizes: attributes that hold sizes of dimensions (or numbers of groups), with their names: a
            name for a number, one name or None per entry for a tuple. They shrink with their
            dimensions.
        global_attributes: further attributes of shards, facts about the whole such as the number of
            elements that a mean divides by.
        sums: results that lack a name of an operand are partial sums. False: they do not depend on
            that operand, and stay whole.
        biases: positions of operands that are added to the result once, such as a bias. They must
            be partial sums too if a name is summed that they lack.
    """

    inputs: tuple[Names, ...]
    outputs: tuple[Names, ...]
    sizes: Mapping[str, str | Names] = field(default_factory=dict)
    global_attributes: Mapping[str, Any] = field(default_factory=dict)
    sums: bool = True
    biases: tuple[int, ...] = ()

    def names(self) -> list[str]:
        """The names that may be split, in order of appearance."""
        every = (*self.inputs, *self.outputs)
        return list(dict.fromkeys(n for dims in every for n in dims if n is not None))

    def is_reduced(self, name: str, output: int = 0) -> bool:
        """Return whether splitting `name` makes a result a partial sum."""
        return self.sums and name not in self.outputs[output]

    def sizes_of(self, operation: Operation, name: str) -> list[int]:
        """Sizes of all dimensions called `name`, and the attributes that hold such sizes."""
        specs = (*operation.in_specs, *operation.out_specs)
        sizes = [
            size
            for spec, dims in zip(specs, (*self.inputs, *self.outputs), strict=True)
            for size, dim_name in zip(spec.shape, dims, strict=True)
            if dim_name == name
        ]
        for attribute, names in self.sizes.items():
            value = _attributes_of(operation)[attribute]
            pairs = [(value, names)] if isinstance(names, str) else zip(value, names, strict=True)
            sizes += [size for size, size_name in pairs if size_name == name]
        return sizes

    def divisor(self, operation: Operation, name: str) -> int:
        """The number that must be divisible by the count of equal shards of `name`."""
        return math.gcd(*self.sizes_of(operation, name))

    def shard_attributes(self, operation: Operation, counts: Mapping[str, int]) -> dict[str, Any]:
        """The attributes with which shards are computed, for names split into `counts` shards."""
        inner = {**_attributes_of(operation), **self.global_attributes}
        for attribute, names in self.sizes.items():
            if isinstance(names, str):
                inner[attribute] = -(-inner[attribute] // counts.get(names, 1))
            else:
                inner[attribute] = tuple(
                    size if size_name is None else -(-size // counts.get(size_name, 1))
                    for size, size_name in zip(inner[attribute], names, strict=True)
                )
        return _with_attributes(operation.primitive, operation.attributes, inner)


def _attributes_of(operation: Operation) -> Mapping[str, Any]:
    """The attributes of an operation, or of the one that it is a gradient of, of any order."""
    primitive, attributes = operation.primitive, operation.attributes
    while primitive.vjp_of is not None:
        primitive, attributes = primitive.vjp_of, dict(attributes["attributes"])
    return attributes


def _with_attributes(
    primitive: Primitive, attributes: Mapping[str, Any], inner: dict[str, Any]
) -> dict[str, Any]:
    """The attributes of a primitive, where `inner` are those that `_attributes_of` finds."""
    if primitive.vjp_of is None:
        return inner
    forward = _with_attributes(primitive.vjp_of, dict(attributes["attributes"]), inner)
    return {**attributes, "attributes": tuple(forward.items())}


AxisRule = Callable[[Operation], Axes | None]


def notation(text: str) -> AxisRule:
    """The rule for names that are always the same, such as ``"m k, k n -> m n"``.

    ``...`` stands for leading dimensions that broadcast, ``_`` for a dimension that may not be
    split, ``+`` before an operand says that it is added to the result once. Operands beyond those
    written are numbers.
    """
    left, _, right = text.partition("->")
    operands = [part.strip() for part in left.split(",")]
    biases = tuple(position for position, part in enumerate(operands) if part.startswith("+"))
    written_inputs = [part.removeprefix("+").split() for part in operands]
    written_outputs = [part.split() for part in right.split(",")]

    def rule(operation: Operation) -> Axes:
        ndims = [spec.ndim for spec in operation.in_specs]
        leading_dims = max(n - len(w) + 1 for n, w in zip(ndims, written_inputs, strict=False))
        shapes = [spec.shape for spec in operation.in_specs[: len(written_inputs)]]
        leading_shapes = [
            shape[: len(shape) - len(w) + 1]
            for shape, w in zip(shapes, written_inputs, strict=False)
            if "..." in w
        ]
        sizes = _broadcast_sizes(leading_shapes, leading_dims)
        inputs = [_expand(w, s, sizes) for w, s in zip(written_inputs, shapes, strict=False)]
        inputs += [() for _ in operation.in_specs[len(inputs) :]]
        outputs = [
            _expand(w, spec.shape, sizes)
            for w, spec in zip(written_outputs, operation.out_specs, strict=True)
        ]
        return Axes(tuple(inputs), tuple(outputs), biases=biases)

    return rule


def _broadcast_sizes(shapes: Iterable[Sequence[int]], ndim: int) -> list[int]:
    """The sizes to which shapes broadcast that are aligned at the right of `ndim` dimensions."""
    sizes = [1] * ndim
    for shape in shapes:
        for position, size in enumerate(shape, ndim - len(shape)):
            sizes[position] = size if size != 1 else sizes[position]
    return sizes


def _expand(written: list[str], shape: tuple[int, ...], sizes: list[int]) -> Names:
    """Names of one operand's dimensions; one of size 1 that broadcasts to `sizes` has none."""
    if "..." not in written:
        return tuple(None if name == "_" else name for name in written)
    trailing = len(shape) - (len(written) - 1)
    leading = [
        f"lead{position}" if size == sizes[position] else None
        for position, size in enumerate(shape[:trailing], len(sizes) - trailing)
    ]
    return (*leading, *(None if name == "_" else name for name in written[1:]))


def _aligned(operation: Operation, fixed: set[int], ndim: int) -> Axes:
    """Dimensions aligned at the right up to `ndim`, named unless they broadcast or are `fixed`."""
    results = [spec.shape for spec in operation.out_specs if spec.ndim == ndim]
    sizes = _broadcast_sizes([*[spec.shape for spec in operation.in_specs], *results], ndim)

    def names(shape: tuple[int, ...]) -> Names:
        return tuple(
            None if size != sizes[position] or position in fixed else f"d{position}"
            for position, size in enumerate(shape, ndim - len(shape))
        )

    inputs = tuple(names(spec.shape) for spec in operation.in_specs)
    return Axes(inputs, tuple(names(spec.shape) for spec in operation.out_specs))


def independent_names(specs: Sequence[TensorSpec]) -> tuple[Names, ...]:
    """Names for operands that have nothing to do with each other."""
    return tuple(
        tuple(f"x{index}d{dim}" for dim in range(spec.ndim)) for index, spec in enumerate(specs)
    )


def elementwise_axes(operation: Operation) -> Axes:
    """Every dimension may be split; operands are aligned at the right and size 1 broadcasts."""
    return _aligned(operation, set(), max(spec.ndim for spec in operation.out_specs))


def broadcast_free_dims(attribute: str) -> AxisRule:
    """As `elementwise_axes`, but for the dimension or dimensions that `attribute` holds."""

    def rule(operation: Operation) -> Axes:
        ndim = max(spec.ndim for spec in operation.in_specs)
        return _aligned(operation, _normalized_dims(operation.attributes[attribute], ndim), ndim)

    return rule


def broadcast_reduced_axes(operation: Operation) -> Axes:
    """Operands broadcast and `dim` (the last if not said) is reduced: the others may be split."""
    ndim = max(spec.ndim for spec in operation.in_specs)
    fixed = _normalized_dims(operation.attributes.get("dim", -1), ndim)
    axes = _aligned(operation, fixed, ndim)
    if operation.attributes.get("keepdim", False):
        return axes
    return Axes(axes.inputs, (tuple(f"d{dim}" for dim in range(ndim) if dim not in fixed),))


def _normalized_dims(dims: int | tuple[int, ...] | None, ndim: int) -> set[int]:
    """The dimension or dimensions, counted from the front; None is all."""
    if dims is None:
        return set(range(ndim))
    return {dim % max(ndim, 1) for dim in (dims if isinstance(dims, tuple) else (dims,))}


def leading_axes(trailing: int) -> AxisRule:
    """The rule of operations on the last `trailing` dimensions of an operand: others may be split.

    Results begin with those dimensions too; further operands are needed whole.
    """

    def rule(operation: Operation) -> Axes:
        first, *rest = operation.in_specs
        leading_dims = tuple(f"d{dim}" for dim in range(first.ndim - trailing))
        inputs = ((*leading_dims, *(None,) * trailing), *((None,) * spec.ndim for spec in rest))
        results = [
            (*leading_dims, *(None,) * (spec.ndim - len(leading_dims)))
            for spec in operation.out_specs
        ]
        return Axes(inputs, tuple(results))

    return rule


def reduced_axes(is_sum: bool) -> Callable[[Operation], Axes]:
    """The rule of a reduction over `dims`, or `dim`: the others may be split.

    Args:
        is_sum: these too, because the result is a plain sum.
    """

    def rule(operation: Operation) -> Axes:
        first, *rest = operation.in_specs
        attribute = "dims" if "dims" in operation.attributes else "dim"
        dims = _normalized_dims(operation.attributes.get(attribute), first.ndim)
        keepdim = operation.attributes.get("keepdim", False)
        names = [f"d{i}" for i in range(first.ndim)]
        source = tuple(n if is_sum or i not in dims else None for i, n in enumerate(names))
        result_names = [
            None if i in dims else n for i, n in enumerate(names) if keepdim or i not in dims
        ]
        inputs = (source, *((None,) * spec.ndim for spec in rest))
        return Axes(inputs, tuple(tuple(result_names) for _ in operation.out_specs))

    return rule


def free_dims(*attributes: str) -> AxisRule:
    """The rule of an operation that works along some dimensions: all others may be split.

    Args:
        attributes: names of the attributes that hold the dimension or dimensions worked along.
            Operands and results of the rank of the first operand correspond dimension by dimension;
            the others are needed whole.
    """

    def rule(operation: Operation) -> Axes:
        first = operation.in_specs[0]
        dims = [
            _normalized_dims(operation.attributes[attribute], first.ndim)
            for attribute in attributes
        ]
        fixed = set().union(*dims)

        def names(spec) -> Names:
            if spec.ndim != first.ndim:
                return (None,) * spec.ndim
            return tuple(None if i in fixed else f"d{i}" for i in range(spec.ndim))

        return Axes(tuple(map(names, operation.in_specs)), tuple(map(names, operation.out_specs)))

    return rule


def transposed_axes(operation: Operation) -> Axes:
    """`transpose`: the names move with their dimensions."""
    names = tuple(f"d{i}" for i in range(operation.in_specs[0].ndim))
    return Axes((names,), (tuple(names[i] for i in operation.attributes["perm"]),))


def broadcast_axes(operation: Operation) -> Axes:
    """`broadcast_to`: all dimensions of the result; those that are broadcast are its alone."""
    before, after = operation.in_specs[0].shape, operation.out_specs[0].shape
    names = tuple(f"d{dim}" for dim in range(len(after)))
    trailing = names[len(after) - len(before) :]
    wide = after[len(after) - len(before) :]
    operand_names = tuple(
        name if old == new else None for name, old, new in zip(trailing, before, wide, strict=True)
    )
    return Axes((operand_names,), (names,), {"shape": names})


def sum_to_axes(operation: Operation) -> Axes:
    """`sum_to`: all dimensions; the result lacks those that are summed."""
    before, after = operation.in_specs[0].shape, operation.out_specs[0].shape
    names = tuple(f"d{dim}" for dim in range(len(before)))
    trailing = names[len(before) - len(after) :]
    wide = before[len(before) - len(after) :]
    result_names = tuple(
        name if old == new else None for name, old, new in zip(trailing, wide, after, strict=True)
    )
    return Axes((names,), (result_names,), {"shape": result_names})


def creation_axes(operation: Operation) -> Axes:
    """The rule of primitives that make a tensor of a given `shape`; operands broadcast."""
    names = tuple(f"d{dim}" for dim in range(operation.out_specs[0].ndim))
    aligned = _aligned(operation, set(), len(names))
    return Axes(aligned.inputs, (names,), {"shape": names})


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
                return Axes((tuple(source),), (tuple(target),), {"shape": tuple(target)})
        outer_i, outer_j = _first_factor(before, first_i, i), _first_factor(after, first_j, j)
        low, high = sorted((before[outer_i], after[outer_j]))
        if low == high or (low > 1 and high % low == 0):
            source[outer_i] = target[outer_j] = f"d{outer_i}"
        i, j = i + 1, j + 1
    return Axes((tuple(source),), (tuple(target),), {"shape": tuple(target)})


def _first_factor(sizes: Sequence[int], first: int, last: int) -> int:
    """The outermost dimension from `first` to `last` that has several elements, or `first`."""
    return next((dim for dim in range(first, last + 1) if sizes[dim] != 1), first)


def axes_of(operation: Operation) -> Axes | None:
    """The names of an operation's dimensions.

    None when its primitive says nothing about splitting.

    Raises:
        ValueError: the primitive's rule does not fit the ranks of this operation.
    """
    rule = operation.primitive.axes
    if operation.primitive.vjp_of is not None:
        return _vjp_axes(operation)
    if rule is None:
        return elementwise_axes(operation) if operation.primitive.elementwise else None
    axes = (notation(rule) if isinstance(rule, str) else rule)(operation)
    if axes is not None:
        named = [len(names) for names in (*axes.inputs, *axes.outputs)]
        if named != [spec.ndim for spec in (*operation.in_specs, *operation.out_specs)]:
            raise ValueError(f"axis notation {axes} does not fit {operation}")
    return axes


def forward_operation(operation: Operation) -> Operation:
    """The operation that an operation made by `jax.vjp` is the gradient of."""
    primitive, attributes = operation.primitive.vjp_of, operation.attributes
    if primitive is None:
        raise TypeError(f"`{operation.primitive.name}` is not a gradient made by `jax.vjp`")
    count = attributes["inputs"]
    specs, is_scalar = operation.in_specs[:count], operation.is_scalar[:count]
    return Operation(primitive, dict(attributes["attributes"]), specs, is_scalar)


def _vjp_axes(operation: Operation) -> Axes | None:
    """A result's gradient is split like the result, an operand's like the operand.

    Shards of the result that read an operand whole each have a share of its gradient: it lacks
    their name and is a partial sum.
    """
    forward = forward_operation(operation)
    axes = axes_of(forward)
    # The position of the shard could not be passed on.
    if axes is None or forward.primitive.traits.positional is not None:
        return None
    gradients = [axes.outputs[position] for position in operation.attributes["outputs"]]
    results = tuple(axes.inputs[position] for position in operation.attributes["argnums"])
    return Axes((*axes.inputs, *gradients), results, axes.sizes, axes.global_attributes)
