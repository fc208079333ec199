"""Detection of hangs: ranks that others wait for and that can never arrive."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from oneflow.base.environment import COLLECTIVE_TIMEOUT, HANG_TIMEOUT, EnvironmentVariable
from oneflow.control_plane.activity import is_idle
from oneflow.control_plane.diagnosis import (
    ActivitySample,
    PendingCollective,
    RankReport,
    deadlock,
    find_cycle,
    find_missing_ranks,
    missing_rank,
)
from oneflow.control_plane.root_cause import RootCause

# Ranks that wait for each other are observed for this long before that counts as a deadlock.
_DEADLOCK_SECONDS = 5.0
# An agent answers in less, however busy its process and the machine are.
_SECONDS_TO_ANSWER = 10.0


@dataclass
class _Observation:
    """The observation of one rank, as long as it starts no further collective operation.

    Attributes:
        started: the number of operations that it has started.
        since: the time at which the observation began, in seconds.
        first: the sample with which the next one is compared.
        requested: the time at which the sample was first asked for that has not come yet.
    """

    started: int
    since: float
    first: ActivitySample | None = None
    requested: float | None = None

    def compare(
        self, report: RankReport, period: float
    ) -> tuple[ActivitySample, ActivitySample] | None:
        """Return two samples that are more than `period` seconds apart, once there are two."""
        first, latest = self.first, report.sample
        if latest is None or latest.time < self.since:
            return None
        if first is None or latest.time - first.time > period:
            self.first, self.requested = latest, None
        return None if first is None or first is self.first else (first, latest)

    def needs_sample(self, now: float, period: float) -> bool:
        """Return whether to ask the agent for a sample now."""
        if self.first is not None and now - self.first.time <= period:
            return False
        self.requested = now if self.requested is None else self.requested
        return True

    def is_silent(self, now: float, period: float) -> bool:
        """Return whether the agent has not answered for `period` seconds: its process is stopped.

        So may be its machine. While native code holds Python's lock agents do not answer either.
        """
        return self.requested is not None and now - self.requested > max(period, _SECONDS_TO_ANSWER)


@dataclass
class HangDetection:
    """Distinguishes ranks that are only late from ranks that can never arrive.

    An idle process proves nothing: it may sleep, read slow storage or be stopped in a debugger. So
    idleness ends a job only after a long time, and so does the silence of a process that is stopped
    as a whole. A deadlock is seen from what the ranks wait for.

    Args:
        idle_timeout: seconds to wait for an idle rank; 0 waits forever.
        timeout: seconds to wait for a busy rank; 0 waits forever.
    """

    idle_timeout: float
    timeout: float
    _missing: dict[int, _Observation] = field(default_factory=dict)
    _cycle: dict[int, _Observation] = field(default_factory=dict)
    _blocked: set[int] = field(default_factory=set)

    def check(
        self, reports: Mapping[int, RankReport], now: float
    ) -> tuple[RootCause | None, list[int]]:
        """Look for a hang.

        Args:
            reports: the latest of each rank.
            now: the time in seconds.

        Returns:
            The root cause if some rank can never arrive, and the ranks to ask for activity samples.
        """
        missing = {wait.missing_rank: wait for wait in find_missing_ranks(reports)}
        for rank, wait in missing.items():
            if reports[rank].finished:
                return missing_rank(wait, "finished"), []
        cycle = find_cycle(reports) if missing else []
        root_cause = self._check_cycle(cycle, reports, now)
        _track(self._missing, missing, reports, now)
        for rank, wait in missing.items():
            observation = self._missing[rank]
            root_cause = root_cause or self._check_missing(wait, observation, reports[rank], now)
        if root_cause is not None:
            return root_cause, []
        ranks = [rank for rank, seen in self._missing.items() if self._needs_sample(seen, now)]
        ranks += [
            rank for rank, seen in self._cycle.items() if seen.needs_sample(now, _DEADLOCK_SECONDS)
        ]
        return None, sorted(set(ranks))

    def _needs_sample(self, observation: _Observation, now: float) -> bool:
        return bool(self.idle_timeout) and observation.needs_sample(now, self.idle_timeout)

    def _check_missing(
        self, pending: PendingCollective, observation: _Observation, report: RankReport, now: float
    ) -> RootCause | None:
        elapsed = now - observation.since
        if self.timeout and elapsed > self.timeout:
            state = f"has made no progress for {elapsed:.0f} seconds{_hint(COLLECTIVE_TIMEOUT)}"
            return missing_rank(pending, state)
        if not self.idle_timeout:
            return None
        pair = observation.compare(report, self.idle_timeout)
        if pair is not None and _is_idle(*pair):
            state = f"has been idle for {elapsed:.0f} seconds{_hint(HANG_TIMEOUT)}"
            return missing_rank(pending, state)
        if observation.is_silent(now, self.idle_timeout):
            state = f"is stopped: it has not answered for {elapsed:.0f} seconds"
            return missing_rank(pending, state + _hint(HANG_TIMEOUT))
        return None

    def _check_cycle(
        self, cycle: list[PendingCollective], reports: Mapping[int, RankReport], now: float
    ) -> RootCause | None:
        """Return the root cause if ranks wait for each other and were seen to do nothing else."""
        ranks = {wait.waiting_rank for wait in cycle}
        self._blocked &= ranks - _track(self._cycle, ranks, reports, now)
        for rank in ranks:
            pair = self._cycle[rank].compare(reports[rank], _DEADLOCK_SECONDS)
            if pair is not None:
                first, latest = pair
                waits = first.in_runtime and latest.in_runtime and _is_idle(first, latest)
                self._blocked = self._blocked | {rank} if waits else self._blocked - {rank}
        return deadlock(cycle) if ranks and ranks == self._blocked else None


def _track(
    tracked: dict[int, _Observation],
    ranks: Iterable[int],
    reports: Mapping[int, RankReport],
    now: float,
) -> set[int]:
    """Observe these ranks and no others; return those whose observation begins now."""
    for rank in set(tracked) - set(ranks):
        del tracked[rank]
    new = set()
    for rank in ranks:
        started = reports[rank].collectives_started()
        if rank not in tracked or tracked[rank].started != started:
            tracked[rank] = _Observation(started, now)
            new.add(rank)
    return new


def _is_idle(first: ActivitySample, latest: ActivitySample) -> bool:
    return is_idle(first.activity, latest.activity, latest.time - first.time)


def _hint(variable: EnvironmentVariable) -> str:
    return f" ({variable.name}={variable.read()}; 0 waits forever)"
