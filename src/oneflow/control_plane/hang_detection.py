"""How long processes have been waited for, and whether they still can come."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from oneflow.base.environment import COLLECTIVE_TIMEOUT, HANG_TIMEOUT, Variable
from oneflow.control_plane.activity import is_busy
from oneflow.control_plane.diagnosis import (
    Late,
    Measurement,
    Report,
    Verdict,
    describe,
    describe_circle,
    find_circle,
    find_late,
)

# Processes that wait for each other are watched that long before that is called a deadlock.
_SECONDS_OF_PROOF = 5.0


@dataclass
class _Observation:
    """A process that is watched, as long as it starts no further operation.

    Attributes:
        started: how many operations it has started.
        since: when watching began.
        first: the measurement with which the next one is compared.
    """

    started: int
    since: float
    first: Measurement | None = None

    def compare(self, report: Report, period: float) -> tuple[Measurement, Measurement] | None:
        """Two measurements that are so many seconds apart, once there are."""
        first, latest = self.first, report.measurement
        if latest is None or latest.at < self.since:
            return None
        if first is None or latest.at - first.at > period:
            self.first = latest
        return None if first is None or first is self.first else (first, latest)

    def wants_measurement(self, now: float, period: float) -> bool:
        """Whether to ask the process now."""
        return self.first is None or now - self.first.at > period


@dataclass
class Watch:
    """Tells processes that are merely late from those that can never come.

    That a process does nothing proves nothing: it may sleep, read from somewhere slow, or sit in a
    debugger. So that ends a job after a long time only; a deadlock is seen from what processes wait
    for.

    Args:
        idle_limit: seconds to wait for a process that does nothing; 0 for ever.
        limit: seconds to wait for one that works; 0 for ever.
    """

    idle_limit: float
    limit: float
    _late: dict[int, _Observation] = field(default_factory=dict)
    _circle: dict[int, _Observation] = field(default_factory=dict)
    _stuck: set[int] = field(default_factory=set)

    def judge(self, reports: Mapping[int, Report], now: float) -> tuple[Verdict | None, list[int]]:
        """A verdict if some process cannot come, and the ranks to ask what they do."""
        late = {each.rank: each for each in find_late(reports)}
        for rank, each in late.items():
            if reports[rank].leaving:
                return describe(each, "finished"), []
        circle = find_circle(reports) if late else []
        verdict = self._judge_circle(circle, reports, now)
        _update(self._late, late, reports, now)
        for rank, each in late.items():
            verdict = verdict or self._judge_late(each, self._late[rank], reports[rank], now)
        if verdict is not None:
            return verdict, []
        asked = [rank for rank, each in self._late.items() if self._asks(each, now)]
        asked += [
            rank
            for rank, each in self._circle.items()
            if each.wants_measurement(now, _SECONDS_OF_PROOF)
        ]
        return None, sorted(set(asked))

    def _asks(self, observation: _Observation, now: float) -> bool:
        return bool(self.idle_limit) and observation.wants_measurement(now, self.idle_limit)

    def _judge_late(
        self, late: Late, observation: _Observation, report: Report, now: float
    ) -> Verdict | None:
        waited = now - observation.since
        if self.limit and waited > self.limit:
            return describe(
                late, f"has not come for {waited:.0f} seconds{_hint(COLLECTIVE_TIMEOUT)}"
            )
        pair = observation.compare(report, self.idle_limit) if self.idle_limit else None
        if pair is None or _is_busy(*pair):
            return None
        return describe(late, f"has done nothing for {waited:.0f} seconds{_hint(HANG_TIMEOUT)}")

    def _judge_circle(
        self, circle: list[Late], reports: Mapping[int, Report], now: float
    ) -> Verdict | None:
        """A verdict if processes wait for each other and have been seen to do nothing else."""
        ranks = {each.waiting for each in circle}
        self._stuck &= ranks - _update(self._circle, ranks, reports, now)
        for rank in ranks:
            pair = self._circle[rank].compare(reports[rank], _SECONDS_OF_PROOF)
            if pair is not None:
                first, latest = pair
                waits = first.in_runtime and latest.in_runtime and not _is_busy(first, latest)
                (self._stuck.add if waits else self._stuck.discard)(rank)
        return describe_circle(circle) if ranks and ranks == self._stuck else None


def _update(
    observations: dict[int, _Observation],
    ranks: Iterable[int],
    reports: Mapping[int, Report],
    now: float,
) -> set[int]:
    """Watch these ranks and no others; returns those whose observation begins now."""
    for rank in set(observations) - set(ranks):
        del observations[rank]
    new = set()
    for rank in ranks:
        started = reports[rank].operations_started()
        if rank not in observations or observations[rank].started != started:
            observations[rank] = _Observation(started, now)
            new.add(rank)
    return new


def _is_busy(first: Measurement, latest: Measurement) -> bool:
    return is_busy(first.activity, latest.activity, latest.at - first.at)


def _hint(variable: Variable) -> str:
    return f" ({variable.name}={variable.read()}; 0 waits for ever)"
