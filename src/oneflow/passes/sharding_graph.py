"""The graph over which auto sharding searches.

A node is an operation (or an independent part of one), a variable, or a value that several
instructions read. It has one *choice* per dimension of the mesh. An edge leads from the node that
produces a value to one that reads it, and costs the conversion between their shardings of it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

from oneflow.base.sbp import BROADCAST, PARTIAL_SUM, NdSbp, Sbp, Split, split
from oneflow.base.spec import TensorSpec, with_sbp
from oneflow.primitives.cost.chips import Chip
from oneflow.primitives.cost.operation_cost import shard_bytes, unsharded_flops
from oneflow.primitives.cost.time_model import compute_dtype
from oneflow.primitives.shard_shapes import split_counts
from oneflow.primitives.sharding.signatures import OperandGroup, SignatureSpace

# A port of an operation is ("in" or "out", position). Every other node has one port.
Port = tuple[str, int]
ONLY_PORT: Port = ("out", 0)


class ShardingNode(Protocol):
    """A part of a program whose sharding is chosen."""

    @property
    def choices(self) -> Sequence[Any]:
        """The choices along one dimension of the mesh."""
        ...

    def is_possible(self, choices: tuple) -> bool:
        """Return true if these choices, one per dimension of the mesh, go together."""
        ...

    def sharding(self, port: Port, choices: tuple) -> NdSbp:
        """The SBP of the tensor at a port."""
        ...

    def seconds(self, choices: tuple, chip: Chip) -> float:
        """The time to compute it, in seconds."""
        ...


class ComputationNode:
    """Operands and results of an operation whose shardings are chosen together."""

    def __init__(self, space: SignatureSpace, group: OperandGroup) -> None:
        self.space = space
        self.group = group
        self.choices = group.choices
        operation = space.operation
        output_numel = sum(operation.out_specs[index].numel for index in group.outputs)
        total = sum(spec.numel for spec in operation.out_specs)
        self._dtype = compute_dtype(operation)
        self._flops = unsharded_flops(operation) * output_numel / max(total, 1)

    def is_possible(self, choices: tuple) -> bool:
        """Return true if the sizes allow these choices."""
        return self.space.is_possible(choices)

    def sharding(self, port: Port, choices: tuple) -> NdSbp:
        """The SBP of an operand or result."""
        side, position = port
        find = self.space.input_sbp if side == "in" else self.space.output_sbp
        return find(choices, position)

    def seconds(self, choices: tuple, chip: Chip) -> float:
        """The time by operations, and by bytes read and written."""
        operation, group = self.space.operation, self.group
        shards = math.prod(
            count
            for count, choice in zip(operation.device.hierarchy, choices, strict=True)
            if isinstance(choice, str)
        )
        bytes_accessed = sum(
            shard_bytes(with_sbp(operation.in_specs[index], self.space.input_sbp(choices, index)))
            for index in group.inputs
            if not operation.is_scalar[index]
        ) + sum(
            shard_bytes(with_sbp(operation.out_specs[index], self.space.output_sbp(choices, index)))
            for index in group.outputs
        )
        return chip.seconds(self._flops / shards, self._dtype, bytes_accessed)


class TensorNode:
    """A tensor that may have any sharding: a variable, or a value that several nodes read.

    Args:
        spec: the spec of the tensor.
        partial: allow partial sums.
    """

    def __init__(self, spec: TensorSpec, partial: bool) -> None:
        self.spec = spec
        options: list[Sbp] = [BROADCAST, *([PARTIAL_SUM] if partial else [])]
        self.choices = (*options, *map(split, range(spec.ndim)))

    def is_possible(self, choices: tuple) -> bool:
        """Return true if no shard would be empty."""
        hierarchy = self.spec.device.hierarchy
        return all(
            self.spec.shape[component.dim]
            >= math.prod(split_counts(hierarchy, choices, component.dim))
            for component in choices
            if isinstance(component, Split)
        )

    def sharding(self, port: Port, choices: tuple) -> NdSbp:
        """The SBP that was chosen."""
        return choices

    def seconds(self, choices: tuple, chip: Chip) -> float:
        """Zero: storing costs no time."""
        return 0.0


class FixedNode:
    """An argument, a result, or an operation that keeps its shardings."""

    def __init__(self, shardings: dict[Port, NdSbp]) -> None:
        self._shardings = shardings
        self.choices = (None,)

    def is_possible(self, choices: tuple) -> bool:
        """Return true: there is one choice."""
        return True

    def sharding(self, port: Port, choices: tuple) -> NdSbp:
        """The fixed SBP of an operand or result."""
        return self._shardings[port]

    def seconds(self, choices: tuple, chip: Chip) -> float:
        """Zero: the time is the same whatever is chosen."""
        return 0.0


class ConversionEdge(NamedTuple):
    """A value between the node that produces it and one that reads it.

    Attributes:
        source: number of the node that produces it.
        out_port: port of `source`.
        target: number of the node that reads it.
        in_port: port of `target`.
        spec: spec of the tensor, with any SBP.
        reduces: partial sums of it may be added up, rather than behind a cast to a wider dtype.
    """

    source: int
    out_port: Port
    target: int
    in_port: Port
    spec: TensorSpec
    reduces: bool
