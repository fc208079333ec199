"""Values with several possible shardings: the nodes and edges over which auto parallel searches.

A node is an operation (or an independent part of one), a variable, or a value that several read.
It has one *choice* per dimension of the mesh. An edge leads from who makes a value to who reads it,
and costs the conversion between how one leaves it and the other wants it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

from oneflow.base.sbp import BROADCAST, PARTIAL_SUM, NdSbp, Sbp, Split, split
from oneflow.base.spec import TensorSpec, with_sbp
from oneflow.primitives.cost.timing import Machine
from oneflow.primitives.cost.work import held_bytes, whole_flops
from oneflow.primitives.shard_shapes import split_counts
from oneflow.primitives.sharding.signatures import OperandGroup, SignatureSpace

# Of an operation: ("in" or "out", position). Of anything else there is one.
Port = tuple[str, int]
WHOLE: Port = ("out", 0)


class Node(Protocol):
    """A value or operation with several possible shardings."""

    @property
    def choices(self) -> Sequence[Any]:
        """What may be chosen along one dimension of the mesh."""
        ...

    def is_possible(self, chosen: tuple) -> bool:
        """Whether these choices go together, one per dimension of the mesh."""
        ...

    def layout(self, port: Port, chosen: tuple) -> NdSbp:
        """How a tensor lies that goes in or comes out there."""
        ...

    def seconds(self, chosen: tuple, machine: Machine) -> float:
        """What it takes to compute."""
        ...


class Computed:
    """The operands and results of an operation that are decided together."""

    def __init__(self, space: SignatureSpace, group: OperandGroup) -> None:
        self.space = space
        self.group = group
        self.choices = group.choices
        operation = space.operation
        made = sum(operation.out_specs[place].numel for place in group.outputs)
        every = sum(spec.numel for spec in operation.out_specs)
        self._flops = whole_flops(operation) * made / max(every, 1)

    def is_possible(self, chosen: tuple) -> bool:
        """Whether the sizes allow it."""
        return self.space.is_possible(chosen)

    def layout(self, port: Port, chosen: tuple) -> NdSbp:
        """How an operand or result lies."""
        side, position = port
        find = self.space.input_sbp if side == "in" else self.space.output_sbp
        return find(chosen, position)

    def seconds(self, chosen: tuple, machine: Machine) -> float:
        """By operations, and bytes read and written."""
        operation, group = self.space.operation, self.group
        parts = math.prod(
            count
            for count, choice in zip(operation.device.hierarchy, chosen, strict=True)
            if isinstance(choice, str)
        )
        touched = sum(
            held_bytes(with_sbp(operation.in_specs[place], self.space.input_sbp(chosen, place)))
            for place in group.inputs
            if not operation.is_scalar[place]
        ) + sum(
            held_bytes(with_sbp(operation.out_specs[place], self.space.output_sbp(chosen, place)))
            for place in group.outputs
        )
        return machine.seconds(self._flops / parts, touched)


class Kept:
    """A tensor that may lie as one likes: a variable, or a value that several read.

    Args:
        spec: of the tensor.
        partial: whether it may be a partial sum.
    """

    def __init__(self, spec: TensorSpec, partial: bool) -> None:
        self.spec = spec
        sbps: list[Sbp] = [BROADCAST, *([PARTIAL_SUM] if partial else [])]
        self.choices = (*sbps, *map(split, range(spec.ndim)))

    def is_possible(self, chosen: tuple) -> bool:
        """No part may be empty."""
        hierarchy = self.spec.device.hierarchy
        return all(
            self.spec.shape[each.dim] >= math.prod(split_counts(hierarchy, chosen, each.dim))
            for each in chosen
            if isinstance(each, Split)
        )

    def layout(self, port: Port, chosen: tuple) -> NdSbp:
        """As chosen."""
        return chosen

    def seconds(self, chosen: tuple, machine: Machine) -> float:
        """Keeping costs nothing."""
        return 0.0


class Fixed:
    """An operation whose operands and results lie as they are, or an argument or a result."""

    def __init__(self, layouts: dict[Port, NdSbp]) -> None:
        self._layouts = layouts
        self.choices = (None,)

    def is_possible(self, chosen: tuple) -> bool:
        """There is but one way."""
        return True

    def layout(self, port: Port, chosen: tuple) -> NdSbp:
        """As it was."""
        return self._layouts[port]

    def seconds(self, chosen: tuple, machine: Machine) -> float:
        """The same in any case."""
        return 0.0


class Edge(NamedTuple):
    """A tensor on its way.

    Attributes:
        source: number of the node that it comes from.
        out: where it comes out.
        target: number of the node that reads it.
        into: where it goes in.
        spec: of the tensor, with any SBP.
    """

    source: int
    out: Port
    target: int
    into: Port
    spec: TensorSpec
