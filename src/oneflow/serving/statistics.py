"""Counts and times of a model version, for the protocol, Prometheus and the status page."""

from __future__ import annotations

import time
from bisect import bisect_left
from collections import defaultdict
from dataclasses import dataclass, field

# Upper bounds of the buckets of latencies, in seconds.
LATENCY_BOUNDS = tuple(
    factor * 10.0**exponent for exponent in range(-4, 1) for factor in (1, 2.5, 5)
)


@dataclass(slots=True)
class Duration:
    """Events of one kind and the time they took together.

    Attributes:
        count: the number of events.
        ns: their time in nanoseconds.
    """

    count: int = 0
    ns: int = 0

    def add(self, ns: int, count: int = 1) -> None:
        """Add events that took `ns` together."""
        self.count += count
        self.ns += ns


@dataclass(slots=True)
class RunTimes:
    """The parts of one run, in nanoseconds.

    Attributes:
        input: joining the requests' rows.
        infer: the program.
        output: dividing its results.
    """

    input: int
    infer: int
    output: int


class BatchTimes:
    """The runs with one number of rows."""

    def __init__(self) -> None:
        self.input = Duration()
        self.infer = Duration()
        self.output = Duration()

    def add(self, times: RunTimes) -> None:
        """Count one run."""
        self.input.add(times.input)
        self.infer.add(times.infer)
        self.output.add(times.output)


@dataclass
class Statistics:
    """Counts and durations of a model version. Only the event loop's thread writes them.

    Attributes:
        success: requests that were answered, from their arrival to their answer.
        failures: requests with an error, by the name of its kind.
        queue: requests' time in the queue.
        input: time of joining batches, once for each request in one.
        infer: time of programs, likewise.
        output: time of dividing results, likewise.
        rows: the rows of all requests that were answered.
        runs: the runs of programs.
        batches: the times of runs by their number of rows.
        latency_counts: the answered requests by their place among `LATENCY_BOUNDS`.
        last_inference: the time of the last answer, in milliseconds since 1970.
    """

    success: Duration = field(default_factory=Duration)
    failures: dict[str, Duration] = field(default_factory=lambda: defaultdict(Duration))
    queue: Duration = field(default_factory=Duration)
    input: Duration = field(default_factory=Duration)
    infer: Duration = field(default_factory=Duration)
    output: Duration = field(default_factory=Duration)
    rows: int = 0
    runs: int = 0
    batches: dict[int, BatchTimes] = field(default_factory=lambda: defaultdict(BatchTimes))
    latency_counts: list[int] = field(default_factory=lambda: [0] * (len(LATENCY_BOUNDS) + 1))
    last_inference: int = 0

    def add_run(self, rows: int, times: RunTimes) -> None:
        """Count one run of a program."""
        self.runs += 1
        self.batches[rows].add(times)

    def add_success(self, rows: int, total: int, queue_time: int, times: RunTimes) -> None:
        """Count a request that was answered.

        Args:
            rows: its rows.
            total: the nanoseconds from its arrival to its answer.
            queue_time: the nanoseconds until its run began.
            times: the nanoseconds of its run.
        """
        self.success.add(total)
        self.queue.add(queue_time)
        self.input.add(times.input)
        self.infer.add(times.infer)
        self.output.add(times.output)
        self.rows += rows
        self.latency_counts[bisect_left(LATENCY_BOUNDS, total / 1e9)] += 1
        self.last_inference = time.time_ns() // 10**6

    def add_failure(self, kind: str, total: int) -> None:
        """Count a request that was answered with an error."""
        self.failures[kind].add(total)

    def quantile(self, share: float) -> float:
        """Return an upper bound of the latency of a share of the answers, in seconds.

        0 where there are none, infinite beyond the last bound.
        """
        total = sum(self.latency_counts)
        seen = 0
        for count, bound in zip(self.latency_counts, (*LATENCY_BOUNDS, float("inf")), strict=True):
            seen += count
            if total and seen >= share * total:
                return bound
        return 0.0
