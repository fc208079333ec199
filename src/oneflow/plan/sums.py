"""Sums over a program: the collectives and the operations of each device."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from oneflow.primitives.cost.operation_cost import operation_cost
from oneflow.primitives.sharding.collectives import Collective, collectives_of
from oneflow.program.ir import Program


@dataclass(frozen=True, order=True)
class CollectiveTotal:
    """Collectives of one kind among groups of one size, per device and step.

    Attributes:
        kind: the kind of collective.
        group: number of devices that take part in each.
        count: number of these collectives.
        operand_bytes: bytes of their operands.
        sent: bytes sent, with the ring or pairwise algorithms.
    """

    kind: str
    group: int
    count: int
    operand_bytes: float
    sent: float


def sum_collectives(program: Program) -> list[CollectiveTotal]:
    """Return the collectives of a program, by kind and size of groups.

    Conversions of one value that begin alike share their beginning.
    """
    collectives = {
        (instruction.operands[0], collective.path): _total_of(collective)
        for instruction in program.instructions
        for collective in collectives_of(instruction.operation)
    }
    return merge_collectives(collectives.values())


def _total_of(collective: Collective) -> CollectiveTotal:
    return CollectiveTotal(
        collective.kind, collective.group, 1, collective.operand_bytes, collective.sent
    )


def merge_collectives(collectives: Iterable[CollectiveTotal]) -> list[CollectiveTotal]:
    """Merge totals of the same kind and size of groups."""
    sums: dict[tuple[str, int], CollectiveTotal] = {}
    for collective in collectives:
        total = sums.get(
            (collective.kind, collective.group),
            CollectiveTotal(collective.kind, collective.group, 0, 0, 0),
        )
        sums[collective.kind, collective.group] = CollectiveTotal(
            collective.kind,
            collective.group,
            total.count + collective.count,
            total.operand_bytes + collective.operand_bytes,
            total.sent + collective.sent,
        )
    return sorted(sums.values())


def flops_of(program: Program) -> int:
    """The floating point operations that each device computes."""
    return sum(operation_cost(instruction.operation).flops for instruction in program.instructions)
