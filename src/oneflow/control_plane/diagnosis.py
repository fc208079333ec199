"""Diagnosis of a job from the reports of all ranks: mismatches, missing ranks and deadlocks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from oneflow.base.group_ranks import ranks_named
from oneflow.control_plane.activity import Activity
from oneflow.control_plane.root_cause import RootCause


@dataclass(frozen=True)
class ActivitySample:
    """An agent's answer to the question about its process's activity.

    Attributes:
        time: the time of arrival, in seconds.
        activity: see `measure_activity`.
        in_runtime: the main thread waited for XLA or for other processes, not in the user's script.
    """

    time: float
    activity: Activity
    in_runtime: bool


@dataclass
class RankReport:
    """The latest state of one rank, as its agent reported it.

    Attributes:
        progress: by group ``[count, tail]``, see `flight_recorder.Progress`.
        finished: it has reached the end of its script and waits for the others.
        sample: its latest activity sample.
    """

    progress: dict[str, list[Any]] = field(default_factory=dict)
    finished: bool = False
    sample: ActivitySample | None = None

    def count(self, group: str) -> int:
        """Return the number of collective operations of a group that the rank has started."""
        return self.progress[group][0] if group in self.progress else 0

    def collectives_started(self) -> int:
        """Return the number of collective operations of all groups that the rank has started."""
        return sum(count for count, _ in self.progress.values())


@dataclass(frozen=True)
class PendingCollective:
    """A collective operation that one rank has started and another member of the group has not.

    Attributes:
        missing_rank: the rank that has not started it.
        group: the participating ranks, see `name_of_group`.
        count: the number of operations of the group that the missing rank has started.
        waiting_rank: the rank that has started at least one more.
        description: the operation in which that one waits.
    """

    missing_rank: int
    group: str
    count: int
    waiting_rank: int
    description: str


def find_mismatch(reports: Mapping[int, RankReport]) -> RootCause | None:
    """Return a rank that has started another operation than a rank before it, or None."""
    for group in sorted({group for report in reports.values() for group in report.progress}):
        seen: dict[int, tuple[int, int, str]] = {}
        for rank in ranks_named(group):
            for count, digest, description in _tail(reports, rank, group):
                first, first_digest, expected = seen.setdefault(count, (rank, digest, description))
                if first_digest == digest:
                    continue
                if expected != description:
                    where = (
                        f"collective operation {count} among ranks {group} is {expected} on rank "
                        f"{first} and {description} on rank {rank}"
                    )
                else:
                    where = (
                        f"ranks {first} and {rank} differ in a collective operation among ranks "
                        f"{group} before number {count}, {description}"
                    )
                return RootCause(rank, f"the ranks run different programs: {where}")
    return None


def _tail(reports: Mapping[int, RankReport], rank: int, group: str) -> list[Any]:
    report = reports.get(rank)
    return report.progress[group][1] if report is not None and group in report.progress else []


def find_cycle(reports: Mapping[int, RankReport]) -> list[PendingCollective]:
    """Return the ranks that all wait for each other in operations that cannot complete.

    Each has started an operation that another of them has not reached, and all ranks that it waits
    for are among them. This alone does not prove a deadlock: a started operation may not have been
    waited for yet.

    Returns:
        For each of these ranks one operation in which it waits; empty if there are none.
    """
    pending = list(pending_collectives(reports))
    cycle = {wait.waiting_rank for wait in pending}
    while (
        outside := {wait.waiting_rank for wait in pending if wait.missing_rank not in cycle} & cycle
    ):
        cycle -= outside
    by_rank = {wait.waiting_rank: wait for wait in pending if wait.waiting_rank in cycle}
    return [by_rank[rank] for rank in sorted(by_rank)]


def find_missing_ranks(reports: Mapping[int, RankReport]) -> Iterator[PendingCollective]:
    """Yield one pending collective for each group and rank that others of the group wait for."""
    seen = set()
    for wait in pending_collectives(reports):
        if (wait.missing_rank, wait.group) not in seen:
            seen.add((wait.missing_rank, wait.group))
            yield wait


def pending_collectives(reports: Mapping[int, RankReport]) -> Iterator[PendingCollective]:
    """Yield all pairs of ranks where one has started more operations of a group than the other."""
    for group in sorted({group for report in reports.values() for group in report.progress}):
        ranks = [rank for rank in ranks_named(group) if rank in reports]
        for rank in ranks:
            count = reports[rank].count(group)
            for other in ranks:
                if reports[other].count(group) > count:
                    description = _description(reports, other, group, count + 1)
                    yield PendingCollective(rank, group, count, other, description)


def _description(reports: Mapping[int, RankReport], rank: int, group: str, number: int) -> str:
    """Return the description of a rank's operation with this number, from 1."""
    for count, _, description in _tail(reports, rank, group):
        if count == number:
            return description
    return "a collective operation"


def deadlock(cycle: list[PendingCollective]) -> RootCause:
    """Return the diagnosis of ranks that all wait for each other."""
    waits = [
        f"rank {wait.waiting_rank} waits for rank {wait.missing_rank} in {wait.description} among "
        f"ranks {wait.group}"
        for wait in cycle
    ]
    return RootCause(
        cycle[0].waiting_rank,
        "deadlock: the ranks wait for each other in different collective operations: "
        + "; ".join(waits),
    )


def missing_rank(pending: PendingCollective, state: str) -> RootCause:
    """Return the diagnosis of a rank that does not start an operation that others wait in.

    Args:
        pending: the operation.
        state: the reason as a predicate, such as ``"finished"``.
    """
    return RootCause(
        pending.missing_rank,
        f"rank {pending.missing_rank} {state} after {pending.count} collective operation(s) among "
        f"ranks {pending.group}, but rank {pending.waiting_rank} waits for it in the next: "
        f"{pending.description}",
    )
