"""SBP inference: the choice of a signature for an operation on global tensors.

Along one dimension of the mesh an operation can be computed

* everywhere the same: all operands broadcast, all results too;
* in shards of a name of its axis notation: dimensions with the name are split, operands without it
  are broadcast, and results without it are partial sums if the name is summed over;
* from partial sums, in operands in which it is linear.

Over several dimensions of the mesh these combine freely. Of all combinations the one is taken whose
operands cost least to convert, counted in bytes that each device sends, together with what adding
up the partial sums that it makes will cost at least, and bringing together what it splits where
nothing was split; among equals, the one that changes fewest operands.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from oneflow.base.sbp import BROADCAST, PARTIAL_SUM, NdSbp, Sbp, Split, split
from oneflow.base.spec import TensorSpec, with_sbp
from oneflow.primitives.operation import Operation, Signature
from oneflow.primitives.shard_shapes import shard_shape
from oneflow.primitives.sharding.axes import Axes, axes_of
from oneflow.primitives.sharding.boxing_path import boxing_path
from oneflow.primitives.sharding.linearity import linear_operands
from oneflow.primitives.traits import Kind

# The choice along one dimension of the mesh: split a name, pass partial sums through these
# operands, or (None) compute the same everywhere.
Choice = str | frozenset[int] | None
Choices = tuple[Choice, ...]


@dataclass(frozen=True)
class OperandGroup:
    """Operands and results that have names in common, so that they are decided together.

    Attributes:
        inputs: positions of operands.
        outputs: positions of results.
        choices: the alternatives along one dimension of the mesh.
    """

    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    choices: Choices


class SignatureSpace:
    """All signatures by which one operation can be computed.

    Attributes:
        operation: an operation on a placement.
        groups: operands and results that are decided independently of the others. Choices for a
            group are one per dimension of the mesh.
    """

    def __init__(self, operation: Operation) -> None:
        self.operation = operation
        self._axes = axes_of(operation)
        self.groups = _groups(operation, self._axes)

    def signature(self, choices_by_group: Sequence[Choices]) -> Signature:
        """The signature that these choices for each group make."""
        operation = self.operation
        broadcast = operation.device.broadcast
        inputs = [broadcast] * len(operation.in_specs)
        outputs = [broadcast] * len(operation.out_specs)
        counts: dict[str, int] = {}
        for group, choices in zip(self.groups, choices_by_group, strict=True):
            for position in group.inputs:
                inputs[position] = self.input_sbp(choices, position)
            for position in group.outputs:
                outputs[position] = self.output_sbp(choices, position)
            for choice, size in zip(choices, operation.device.hierarchy, strict=True):
                if isinstance(choice, str):
                    counts[choice] = counts.get(choice, 1) * size
        attributes = operation.attributes
        if self._axes is not None and counts:
            attributes = self._axes.shard_attributes(operation, counts)
        return Signature(tuple(inputs), tuple(outputs), attributes)

    def input_sbp(self, choices: Choices, position: int) -> NdSbp:
        """The SBP of an operand with these choices for its group."""
        return tuple([_input_signature(self._axes, choice, position) for choice in choices])

    def output_sbp(self, choices: Choices, position: int) -> NdSbp:
        """The SBP of a result with these choices for its group."""
        return tuple([_output_signature(self._axes, choice, position) for choice in choices])

    def is_possible(self, choices: Choices) -> bool:
        """Return whether sizes and operands allow these choices for a group."""
        operation = self.operation
        hierarchy = operation.device.hierarchy
        for name in {choice for choice in choices if isinstance(choice, str)}:
            assert self._axes is not None
            counts = [n for n, choice in zip(hierarchy, choices, strict=True) if choice == name]
            if not _can_split(operation, self._axes, name, math.prod(counts)):
                return False
        return not any(
            isinstance(choice, frozenset) and any(operation.is_scalar[p] for p in choice)
            for choice in choices
        )

    def possible(self, group: OperandGroup) -> list[Choices]:
        """All choices for a group that are possible."""
        products = itertools.product(group.choices, repeat=self.operation.device.ndim)
        return list(filter(self.is_possible, products))

    def best(self, group: OperandGroup, requested: NdSbp | None) -> Choices:
        """The choices for a group that cost least.

        Args:
            group: the group to decide.
            requested: the SBP that the first result must have, or None.
        """
        best, least = (None,) * self.operation.device.ndim, (math.inf, math.inf)
        for choices in self.possible(group):
            if requested is None or self.output_sbp(choices, 0) == requested:
                cost = self._cost(group, choices)
                if cost < least:
                    best, least = choices, cost
        return best

    def _cost(self, group: OperandGroup, choices: Choices) -> tuple[float, int]:
        """The bytes sent to convert operands and add up results, and the number of conversions."""
        operation = self.operation
        biases = () if self._axes is None else self._axes.biases
        total, changed = self._reduction_cost(group, choices) + self._gather_cost(group, choices), 0
        for position in group.inputs:
            if operation.is_scalar[position]:
                continue
            spec = operation.in_specs[position]
            target = self.input_sbp(choices, position)
            if target != spec.sbp:
                total += conversion_cost(spec, target)
                # The cost of making a sum with biases from shards has been counted.
                total += 0 if position in biases else _deferred_reduction_cost(spec, target)
                changed += 1
        return total, changed

    def _reduction_cost(self, group: OperandGroup, choices: Choices) -> float:
        """The least cost in bytes of adding up the partial sums that splitting a name makes."""
        hierarchy, total = self.operation.device.hierarchy, 0.0
        for position in group.outputs:
            sbp = self.output_sbp(choices, position)
            spec = self.operation.out_specs[position]
            size = math.prod(shard_shape(spec.shape, hierarchy, sbp)) * spec.dtype.itemsize
            for count, choice, entry in zip(hierarchy, choices, sbp, strict=True):
                if entry is PARTIAL_SUM and isinstance(choice, str):
                    total += size * (count - 1) / count
                    size /= count
        return total

    def _gather_cost(self, group: OperandGroup, choices: Choices) -> float:
        """The cost of gathering results along axes where only conversions split operands.

        Scattering a partial sum is half the price of summing it everywhere. The other half follows,
        often more than once, if the other operands are whole (a residual connection).
        """
        operation = self.operation
        operand_sbp = [operation.in_specs[position].sbp for position in group.inputs]
        chosen_sbp = [self.input_sbp(choices, position) for position in group.inputs]
        new = [_is_new_split(axis, operand_sbp, chosen_sbp) for axis in range(len(choices))]
        if not any(new):
            return 0.0
        total = 0.0
        for position in group.outputs:
            sbp = self.output_sbp(choices, position)
            converted = [
                BROADCAST if is_new and isinstance(component, Split) else component
                for component, is_new in zip(sbp, new, strict=True)
            ]
            spec = with_sbp(operation.out_specs[position], sbp)
            total += conversion_cost(spec, tuple(converted))
        return total


def choose_signature(operation: Operation, requested: NdSbp | None = None) -> None:
    """Choose the signature of an operation on global tensors, which sets its specs accordingly.

    Args:
        operation: an operation whose `in_specs` have the SBP of the given operands.
        requested: the SBP of the results of an operation without tensor operands, if given.
    """
    if operation.primitive.traits.kind is Kind.BOXING:
        target = operation.attributes["target"]
        attributes = operation.attributes
        operation.set_signature(Signature((operation.attributes["source"],), (target,), attributes))
        return
    if operation.primitive.traits.kind is Kind.ORDERING:
        shardings: Any = tuple([spec.sbp for spec in operation.in_specs])
        operation.set_signature(Signature(shardings, shardings, operation.attributes))
        return
    space = SignatureSpace(operation)
    operation.set_signature(
        space.signature([space.best(group, requested) for group in space.groups])
    )


def candidates(operation: Operation) -> Iterator[Signature]:
    """Yield signatures by which an operation on a placement can be computed, for tests.

    All of them, if the operation has one group. Groups are independent, so of several groups every
    choice of each occurs, but not every combination.
    """
    space = SignatureSpace(operation)
    possible = list(map(space.possible, space.groups))
    for index in range(max(map(len, possible), default=0)):
        yield space.signature(
            [group_choices[index % len(group_choices)] for group_choices in possible]
        )


def _groups(operation: Operation, axes: Axes | None) -> list[OperandGroup]:
    """Group operands and results by common names; one group if names are summed."""
    all_operands = tuple(range(len(operation.in_specs))), tuple(range(len(operation.out_specs)))
    linear = tuple(linear_operands(operation))
    if axes is None or axes.sums:
        names = axes.names() if axes is not None else []
        return [OperandGroup(*all_operands, (None, *names, *linear))]
    groups: list[tuple[set[str], list[int], list[int]]] = []
    for index, dims in enumerate((*axes.inputs, *axes.outputs)):
        dim_names = {name for name in dims if name is not None}
        if not dim_names:
            continue
        merged: tuple[set[str], list[int], list[int]] = (dim_names, [], [])
        for group in [other for other in groups if other[0] & dim_names]:
            groups.remove(group)
            merged = (merged[0] | group[0], merged[1] + group[1], merged[2] + group[2])
        if index < len(axes.inputs):
            merged[1].append(index)
        else:
            merged[2].append(index - len(axes.inputs))
        groups.append(merged)
    order = axes.names()
    return [
        OperandGroup(tuple(i), tuple(o), (None, *[name for name in order if name in names]))
        for names, i, o in groups
    ]


def _can_split(operation: Operation, axes: Axes, name: str, count: int) -> bool:
    """Return whether a name can be split into `count` shards.

    Uneven shards are padded, so they must neither be summed nor be checked, and all dimensions of
    the name must have the same size. Dimensions of size 1 stay split if they are, because splitting
    others would leave all work to one device.
    """
    sizes = axes.sizes_of(operation, name)
    if set(sizes) == {1} and not _is_split(operation, axes, name):
        return False
    if math.gcd(*sizes) % count == 0 and sizes and sizes[0]:
        return True
    return (
        len(set(sizes)) == 1
        and not operation.needs_check
        and not any(_is_reduced(axes, name, output) for output in range(len(axes.outputs)))
    )


def _is_split(operation: Operation, axes: Axes, name: str) -> bool:
    """Return whether a given operand is split along a name, or none has it."""
    dims = [
        (spec.sbp or (), names.index(name))
        for spec, names in zip(operation.in_specs, axes.inputs, strict=True)
        if name in names
    ]
    return not dims or any(split(dim) in sbp for sbp, dim in dims)


def _is_reduced(axes: Axes, name: str, output: int) -> bool:
    return axes.is_reduced(name, output) and any(name in dims for dims in axes.inputs)


def _input_signature(axes: Axes | None, choice: Choice, position: int) -> Sbp:
    if isinstance(choice, frozenset):
        return PARTIAL_SUM if position in choice else BROADCAST
    if choice is None or axes is None:
        return BROADCAST
    dims = axes.inputs[position]
    if choice in dims:
        return split(dims.index(choice))
    is_sum = any(_is_reduced(axes, choice, output) for output in range(len(axes.outputs)))
    return PARTIAL_SUM if is_sum and position in axes.biases else BROADCAST


def _output_signature(axes: Axes | None, choice: Choice, position: int) -> Sbp:
    if isinstance(choice, frozenset):
        return PARTIAL_SUM
    if choice is None or axes is None:
        return BROADCAST
    dims = axes.outputs[position]
    if choice in dims:
        return split(dims.index(choice))
    return PARTIAL_SUM if _is_reduced(axes, choice, position) else BROADCAST


def _is_new_split(axis: int, current: Sequence[NdSbp | None], target: Sequence[NdSbp]) -> bool:
    """Return whether a whole operand is split along an axis, and no operand was split so before."""
    pairs = [(a[axis], b[axis]) for a, b in zip(current, target, strict=True) if a is not None]
    splits = [(a, b) for a, b in pairs if isinstance(b, Split)]
    return any(a is BROADCAST for a, _ in splits) and not any(a is b for a, b in splits)


def _deferred_reduction_cost(spec: TensorSpec, target: NdSbp) -> float:
    """The cost of adding up later, where a whole or split operand becomes a partial sum.

    Making it one is free, but then the result is one too, which is needed whole some day.
    """
    converted = tuple(
        [
            BROADCAST if after is PARTIAL_SUM and before is not PARTIAL_SUM else after
            for before, after in zip(spec.sbp or (), target, strict=True)
        ]
    )
    return conversion_cost(with_sbp(spec, target), converted)


def conversion_cost(spec: TensorSpec, target: NdSbp) -> float:
    """Bytes that each device sends to convert a tensor to `target`, plus a bit to write them."""
    hierarchy: Any = spec.device.hierarchy
    cost, _ = boxing_path(spec.shape, spec.dtype.itemsize, hierarchy, spec.sbp, target)
    return cost
