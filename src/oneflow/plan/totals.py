"""Sums over a program: what devices exchange and compute, counted from its instructions."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from oneflow.primitives.cost.work import work_of
from oneflow.primitives.sharding.collectives import Collective, collectives_of
from oneflow.program.ir import Program


@dataclass(frozen=True, order=True)
class Exchange:
    """Collectives of one kind among groups of one size, per device and step.

    Attributes:
        kind: of collective.
        group: how many devices take part in each.
        count: how many there are.
        given: bytes put in.
        sent: bytes sent, with the ring or pairwise algorithms.
    """

    kind: str
    group: int
    count: int
    given: float
    sent: float


def exchanges_of(program: Program) -> list[Exchange]:
    """What the devices exchange in a program, by kind and size of groups.

    Conversions of one value that begin alike share their beginning.
    """
    found = {
        (instruction.operands[0], each.path): _exchange(each)
        for instruction in program.instructions
        for each in collectives_of(instruction.operation)
    }
    return summed(found.values())


def _exchange(collective: Collective) -> Exchange:
    return Exchange(collective.kind, collective.group, 1, collective.given, collective.sent)


def summed(exchanges: Iterable[Exchange]) -> list[Exchange]:
    """Exchanges of the same kind and size of groups as one."""
    totals: dict[tuple[str, int], Exchange] = {}
    for each in exchanges:
        known = totals.get((each.kind, each.group), Exchange(each.kind, each.group, 0, 0, 0))
        totals[each.kind, each.group] = Exchange(
            each.kind,
            each.group,
            known.count + each.count,
            known.given + each.given,
            known.sent + each.sent,
        )
    return sorted(totals.values())


def flops_of(program: Program) -> int:
    """Operations that each device computes."""
    return sum(work_of(each.operation).flops for each in program.instructions)
