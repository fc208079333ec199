"""What the reports of all processes say about the job."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Verdict:
    """Why a job must end, and the rank that is the cause."""

    rank: int
    reason: str


@dataclass(frozen=True)
class Measurement:
    """What a process said when it was asked what it does.

    Attributes:
        at: when the answer came, in seconds.
        activity: what it had done, see `activity`.
        in_runtime: its main thread waited for XLA or for other processes, and not in the script.
    """

    at: float
    activity: tuple[float, float]
    in_runtime: bool


@dataclass
class Report:
    """The last that was heard of one process.

    Attributes:
        record: its progress: by group ``[count, tail]``, see `record.Progress`.
        leaving: it has reached its end and waits for the others.
        measurement: its last answer to what it does.
    """

    record: dict[str, list[Any]] = field(default_factory=dict)
    leaving: bool = False
    measurement: Measurement | None = None

    def count(self, group: str) -> int:
        """How many operations of a group it has started."""
        return self.record[group][0] if group in self.record else 0

    def operations_started(self) -> int:
        """How many operations of all groups it has started."""
        return sum(count for count, _ in self.record.values())


@dataclass(frozen=True)
class Late:
    """A process that others wait for.

    Attributes:
        rank: the process.
        group: the group in which it is behind.
        count: how many operations it has started there.
        waiting: a process that has started one more.
        description: what that one waits in.
    """

    rank: int
    group: str
    count: int
    waiting: int
    description: str


def members_of(group: str) -> list[int]:
    """The ranks of a group in a record."""
    return [int(rank) for rank in group.split(",")]


def find_mismatch(reports: Mapping[int, Report]) -> Verdict | None:
    """Two processes that have started different operations at the same place, if there are any."""
    for group in sorted({group for report in reports.values() for group in report.record}):
        seen: dict[int, tuple[int, int, str]] = {}
        for rank in members_of(group):
            for count, chain, description in _tail(reports, rank, group):
                first, known, expected = seen.setdefault(count, (rank, chain, description))
                if known != chain:
                    which = "" if expected != description else "or one long before it "
                    return Verdict(
                        rank,
                        f"the ranks run different programs: collective operation {count} {which}"
                        f"among ranks {group} is {expected} on rank {first} and {description} on "
                        f"rank {rank}",
                    )
    return None


def _tail(reports: Mapping[int, Report], rank: int, group: str) -> list[Any]:
    report = reports.get(rank)
    return report.record[group][1] if report is not None and group in report.record else []


def find_circle(reports: Mapping[int, Report]) -> list[Late]:
    """Processes that all wait for one another in operations that cannot meet.

    Each has started an operation that another of them has not come to, and all that it waits for
    are among them. This alone is no proof: what was started may not have been waited for yet.

    Returns:
        For each of them the wait of another for it; empty if there are none.
    """
    waits = list(find_waits(reports))
    circle = {each.waiting for each in waits}
    while outside := {each.waiting for each in waits if each.rank not in circle} & circle:
        circle -= outside
    named = {each.waiting: each for each in waits if each.waiting in circle}
    return [named[rank] for rank in sorted(named)]


def find_late(reports: Mapping[int, Report]) -> Iterator[Late]:
    """Processes that have started fewer operations than others of a group, each once a group."""
    seen = set()
    for each in find_waits(reports):
        if (each.rank, each.group) not in seen:
            seen.add((each.rank, each.group))
            yield each


def find_waits(reports: Mapping[int, Report]) -> Iterator[Late]:
    """All pairs of processes of which one has started more operations of a group than the other."""
    for group in sorted({group for report in reports.values() for group in report.record}):
        members = [rank for rank in members_of(group) if rank in reports]
        for rank in members:
            count = reports[rank].count(group)
            for other in members:
                if reports[other].count(group) > count:
                    yield Late(rank, group, count, other, _operation(reports, other, group, count))


def _operation(reports: Mapping[int, Report], rank: int, group: str, before: int) -> str:
    """The operation that a process started after the first `before` ones."""
    for count, _, description in _tail(reports, rank, group):
        if count == before + 1:
            return description
    return "a collective operation"


def describe_circle(circle: list[Late]) -> Verdict:
    """The verdict on processes that all wait for one another."""
    waits = [
        f"rank {each.waiting} waits for rank {each.rank} in {each.description} among ranks "
        f"{each.group}"
        for each in circle
    ]
    return Verdict(
        circle[0].waiting,
        f"deadlock: the ranks wait for each other in different operations: {'; '.join(waits)}",
    )


def describe(late: Late, what: str) -> Verdict:
    """The verdict on a process that does not come: `what` says why, as in "finished"."""
    return Verdict(
        late.rank,
        f"rank {late.rank} {what} after {late.count} collective operation(s) among ranks "
        f"{late.group}, while rank {late.waiting} waits for it in the next: {late.description}",
    )
