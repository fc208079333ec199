"""Which parts an operation on global tensors is computed from: SBP inference.

Along one dimension of the mesh an operation can be computed

* everywhere the same: all operands broadcast, all results too;
* in parts of a name of its axis notation: what has the name is split there, operands without it
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
from oneflow.base.spec import TensorSpec, resettled
from oneflow.primitives.operation import Operation, Signature
from oneflow.primitives.shard_shapes import shard_shape
from oneflow.primitives.sharding.axes import Axes, axes_of
from oneflow.primitives.sharding.boxing_path import boxing_path
from oneflow.primitives.sharding.linearity import linear_operands
from oneflow.primitives.traits import Kind

# What happens along one dimension of the mesh: a name is split, partial sums pass through these
# operands, or (None) everything is the same.
Choice = str | frozenset[int] | None
Choices = tuple[Choice, ...]


@dataclass(frozen=True)
class Group:
    """Operands and results that have names in common, so that they are decided together.

    Attributes:
        inputs: positions of operands.
        outputs: positions of results.
        choices: what may happen along one dimension of the mesh.
    """

    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    choices: Choices


class Ways:
    """All ways to compute one operation from parts.

    Attributes:
        operation: on a placement.
        groups: what is decided by itself. Choices for a group are one per dimension of the mesh.
    """

    def __init__(self, operation: Operation) -> None:
        self.operation = operation
        self._axes = axes_of(operation)
        self.groups = _groups(operation, self._axes)

    def signature(self, chosen: Sequence[Choices]) -> Signature:
        """The signature in which that happens to each group."""
        operation = self.operation
        everywhere = operation.device.broadcast
        inputs = [everywhere] * len(operation.in_specs)
        outputs = [everywhere] * len(operation.out_specs)
        counts: dict[str, int] = {}
        for group, choices in zip(self.groups, chosen, strict=True):
            for position in group.inputs:
                inputs[position] = self.input(choices, position)
            for position in group.outputs:
                outputs[position] = self.output(choices, position)
            for choice, size in zip(choices, operation.device.hierarchy, strict=True):
                if isinstance(choice, str):
                    counts[choice] = counts.get(choice, 1) * size
        attributes = operation.attributes
        if self._axes is not None and counts:
            attributes = self._axes.shard_attributes(operation, counts)
        return Signature(tuple(inputs), tuple(outputs), attributes)

    def input(self, choices: Choices, position: int) -> NdSbp:
        """How an operand lies with these choices for its group."""
        return tuple([_input(self.operation, self._axes, each, position) for each in choices])

    def output(self, choices: Choices, position: int) -> NdSbp:
        """How a result lies with these choices for its group."""
        return tuple([_output(self.operation, self._axes, each, position) for each in choices])

    def is_possible(self, choices: Choices) -> bool:
        """Whether sizes and operands allow these choices for a group."""
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

    def possible(self, group: Group) -> list[Choices]:
        """All choices for a group that `is_possible`."""
        products = itertools.product(group.choices, repeat=self.operation.device.ndim)
        return list(filter(self.is_possible, products))

    def best(self, group: Group, made: NdSbp | None) -> Choices:
        """The choices for a group that cost least.

        Args:
            group: to decide.
            made: how the first result is wanted, if it matters.
        """
        best, least = (None,) * self.operation.device.ndim, (math.inf, math.inf)
        for choices in self.possible(group):
            if made is None or self.output(choices, 0) == made:
                cost = self._cost(group, choices)
                if cost < least:
                    best, least = choices, cost
        return best

    def _cost(self, group: Group, choices: Choices) -> tuple[float, int]:
        """Bytes that converting the operands and adding up results costs; how many change."""
        operation = self.operation
        addends = () if self._axes is None else self._axes.addends
        total, changed = self._made_debt(group, choices) + self._split_debt(group, choices), 0
        for position in group.inputs:
            if operation.is_scalar[position]:
                continue
            spec = operation.in_specs[position]
            target = self.input(choices, position)
            if target != spec.sbp:
                total += conversion_cost(spec, target)
                # That a sum with addends is made in parts has been counted.
                total += 0 if position in addends else _debt(spec, target)
                changed += 1
        return total, changed

    def _made_debt(self, group: Group, choices: Choices) -> float:
        """Bytes that adding up costs at least, where splitting a name makes partial sums."""
        hierarchy, total = self.operation.device.hierarchy, 0.0
        for position in group.outputs:
            sbp = self.output(choices, position)
            spec = self.operation.out_specs[position]
            size = math.prod(shard_shape(spec.shape, hierarchy, sbp)) * spec.dtype.itemsize
            for count, choice, made in zip(hierarchy, choices, sbp, strict=True):
                if made is PARTIAL_SUM and isinstance(choice, str):
                    total += size * (count - 1) / count
                    size /= count
        return total

    def _split_debt(self, group: Group, choices: Choices) -> float:
        """What bringing results together costs, along axes where only conversions split operands.

        Scattering a partial sum is half the price of summing it everywhere. But where the other
        operands are whole (a residual connection), the other half follows, often more than once.
        """
        operation = self.operation
        given = [operation.in_specs[place].sbp for place in group.inputs]
        wanted = [self.input(choices, place) for place in group.inputs]
        new = [_is_new_split(axis, given, wanted) for axis in range(len(choices))]
        if not any(new):
            return 0.0
        total = 0.0
        for position in group.outputs:
            sbp = self.output(choices, position)
            whole = [
                BROADCAST if is_new and isinstance(each, Split) else each
                for each, is_new in zip(sbp, new, strict=True)
            ]
            spec = resettled(operation.out_specs[position], sbp)
            total += conversion_cost(spec, tuple(whole))
        return total


def choose_signature(operation: Operation, made: NdSbp | None = None) -> None:
    """Choose how an operation on global tensors is computed; its specs become those it needs.

    Args:
        operation: an operation whose `in_specs` say how the given operands are sharded.
        made: the SBP wanted for the results of an operation without tensor operands.
    """
    if operation.primitive.traits.kind is Kind.BOXING:
        target = operation.attributes["target"]
        given = operation.attributes
        operation.settle(Signature((operation.attributes["source"],), (target,), given))
        return
    if operation.primitive.traits.kind is Kind.ORDERING:
        shardings: Any = tuple([spec.sbp for spec in operation.in_specs])
        operation.settle(Signature(shardings, shardings, operation.attributes))
        return
    ways = Ways(operation)
    operation.settle(ways.signature([ways.best(group, made) for group in ways.groups]))


def candidates(operation: Operation) -> Iterator[Signature]:
    """Signatures by which an operation on a placement can be computed, for tests.

    All of an operation of one group. Groups have nothing to do with each other, so of several every
    choice of each is among them, but not every combination.
    """
    ways = Ways(operation)
    possible = list(map(ways.possible, ways.groups))
    for index in range(max(map(len, possible), default=0)):
        yield ways.signature([each[index % len(each)] for each in possible])


def _groups(operation: Operation, axes: Axes | None) -> list[Group]:
    """Operands and results in groups without common names; one group where names are summed."""
    everything = tuple(range(len(operation.in_specs))), tuple(range(len(operation.out_specs)))
    linear = tuple(linear_operands(operation))
    if axes is None or axes.sums:
        names = axes.names() if axes is not None else []
        return [Group(*everything, (None, *names, *linear))]
    groups: list[tuple[set[str], list[int], list[int]]] = []
    for place, dims in enumerate((*axes.inputs, *axes.outputs)):
        own = {name for name in dims if name is not None}
        if not own:
            continue
        mine: tuple[set[str], list[int], list[int]] = (own, [], [])
        for group in [each for each in groups if each[0] & own]:
            groups.remove(group)
            mine = (mine[0] | group[0], mine[1] + group[1], mine[2] + group[2])
        if place < len(axes.inputs):
            mine[1].append(place)
        else:
            mine[2].append(place - len(axes.inputs))
        groups.append(mine)
    order = axes.names()
    return [
        Group(tuple(i), tuple(o), (None, *[name for name in order if name in names]))
        for names, i, o in groups
    ]


def _can_split(operation: Operation, axes: Axes, name: str, count: int) -> bool:
    """Whether a name can be split into `count` parts.

    Uneven parts are padded, so they must not be summed nor looked at, and all dimensions of the
    name must have the same size.
    """
    sizes = axes.sizes_of(operation, name)
    if math.gcd(*sizes) % count == 0 and sizes and sizes[0]:
        return True
    return (
        len(set(sizes)) == 1
        and not operation.needs_check
        and not any(_is_summed(axes, name, place) for place in range(len(axes.outputs)))
    )


def _is_summed(axes: Axes, name: str, output: int) -> bool:
    return axes.is_summed(name, output) and any(name in dims for dims in axes.inputs)


def _input(operation: Operation, axes: Axes | None, choice: Choice, position: int) -> Sbp:
    if isinstance(choice, frozenset):
        return PARTIAL_SUM if position in choice else BROADCAST
    if choice is None or axes is None:
        return BROADCAST
    dims = axes.inputs[position]
    if choice in dims:
        return split(dims.index(choice))
    summed = any(_is_summed(axes, choice, place) for place in range(len(axes.outputs)))
    return PARTIAL_SUM if summed and position in axes.addends else BROADCAST


def _output(operation: Operation, axes: Axes | None, choice: Choice, position: int) -> Sbp:
    if isinstance(choice, frozenset):
        return PARTIAL_SUM
    if choice is None or axes is None:
        return BROADCAST
    dims = axes.outputs[position]
    if choice in dims:
        return split(dims.index(choice))
    return PARTIAL_SUM if _is_summed(axes, choice, position) else BROADCAST


def _is_new_split(axis: int, given: Sequence[NdSbp | None], wanted: Sequence[NdSbp]) -> bool:
    """Whether operands are split along an axis that was not: a whole one, with none split so."""
    pairs = [(a[axis], b[axis]) for a, b in zip(given, wanted, strict=True) if a is not None]
    splits = [(a, b) for a, b in pairs if isinstance(b, Split)]
    return any(a is BROADCAST for a, _ in splits) and not any(a is b for a, b in splits)


def _debt(spec: TensorSpec, target: NdSbp) -> float:
    """What adding up again will cost, where a whole or split operand becomes a partial sum.

    Making it one is free, but then so is the result, which is wanted whole some day.
    """
    whole = tuple(
        [
            BROADCAST if after is PARTIAL_SUM and before is not PARTIAL_SUM else after
            for before, after in zip(spec.sbp or (), target, strict=True)
        ]
    )
    return conversion_cost(resettled(spec, target), whole)


def conversion_cost(spec: TensorSpec, target: NdSbp) -> float:
    """Bytes that each device sends to bring a tensor to `target`, and a little for writing them."""
    hierarchy: Any = spec.device.hierarchy
    cost, _ = boxing_path(spec.shape, spec.dtype.itemsize, hierarchy, spec.sbp, target)
    return cost
