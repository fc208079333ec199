"""What the reports of all processes say about the job."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from oneflow.base.control.activity import is_busy


@dataclass(frozen=True)
class Verdict:
    """Why a job must end, and the rank that is the cause."""

    rank: int
    reason: str


@dataclass
class Report:
    """The last that was heard of one process.

    Attributes:
        record: its progress: by group ``[count, tail]``, see `record.Progress`.
        leaving: it has reached its end and waits for the others.
        activity: what it had done when it was last asked, see `activity`.
    """

    record: dict[str, list[Any]] = field(default_factory=dict)
    leaving: bool = False
    activity: tuple[float, float] | None = None

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


def find_late(reports: Mapping[int, Report]) -> Iterator[Late]:
    """Processes that have started fewer operations than others of their group."""
    for group in sorted({group for report in reports.values() for group in report.record}):
        members = [rank for rank in members_of(group) if rank in reports]
        for rank in members:
            count = reports[rank].count(group)
            for other in members:
                if reports[other].count(group) > count:
                    yield Late(rank, group, count, other, _operation(reports, other, group, count))
                    break


def _operation(reports: Mapping[int, Report], rank: int, group: str, before: int) -> str:
    """The operation that a process started after the first `before` ones."""
    for count, _, description in _tail(reports, rank, group):
        if count == before + 1:
            return description
    return "a collective operation"


def describe(late: Late, what: str) -> Verdict:
    """The verdict on a process that does not come: `what` says why, as in "finished"."""
    return Verdict(
        late.rank,
        f"rank {late.rank} {what} after {late.count} collective operation(s) among ranks "
        f"{late.group}, while rank {late.waiting} waits for it in the next: {late.description}",
    )


@dataclass
class _Wait:
    """A process that is late: since when, and what it had done when measuring began."""

    started: int
    since: float
    measured_at: float = 0.0
    before: tuple[float, float] | None = None


@dataclass
class Watch:
    """How long processes have been late.

    Args:
        idle_limit: seconds to wait for a process that does nothing; 0 for ever.
        limit: seconds to wait for one that works; 0 for ever.
    """

    idle_limit: float
    limit: float
    _waits: dict[int, _Wait] = field(default_factory=dict)

    def judge(self, reports: Mapping[int, Report], now: float) -> tuple[Verdict | None, list[int]]:
        """A verdict if some process is too late, and the ranks to ask what they have done."""
        late = {each.rank: each for each in find_late(reports)}
        self._waits = {rank: each for rank, each in self._waits.items() if rank in late}
        ask = []
        for rank, each in late.items():
            report = reports[rank]
            if report.leaving:
                return describe(each, "finished"), []
            started = report.operations_started()
            wait = self._waits.get(rank)
            if wait is None or wait.started != started:
                wait = self._waits[rank] = _Wait(started, now)
                report.activity = None
            verdict = self._judge_late(each, wait, report, now)
            if verdict is not None:
                return verdict, []
            if report.activity is None and (wait.before is None or self._is_over(wait, now)):
                ask.append(rank)
        return None, ask

    def _is_over(self, wait: _Wait, now: float) -> bool:
        return bool(self.idle_limit) and now - wait.measured_at > self.idle_limit

    def _judge_late(self, late: Late, wait: _Wait, report: Report, now: float) -> Verdict | None:
        if self.limit and now - wait.since > self.limit:
            return describe(late, f"has not come for {now - wait.since:.0f} seconds")
        if report.activity is None:
            return None
        elapsed = now - wait.measured_at
        if wait.before is None:
            wait.before, wait.measured_at, report.activity = report.activity, now, None
        elif self._is_over(wait, now):
            if not is_busy(wait.before, report.activity, elapsed):
                return describe(late, f"has done nothing for {now - wait.since:.0f} seconds")
            # It works: look again after as long.
            wait.before, wait.measured_at, report.activity = report.activity, now, None
        return None
