"""``torch.utils.benchmark.Measurement``: times that a statement took."""

from __future__ import annotations

import math
import textwrap
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

_UNITS = (("ns", 1e-9), ("us", 1e-6), ("ms", 1e-3), ("s", 1.0))
# The distance of the quartiles, relative to the median, above which a text warns.
_FLUCTUATION, _INFLUENCE = 0.1, 0.25


def select_unit(t: float) -> tuple[str, float]:
    """Return the unit of a time by which it is a number of few digits, and the unit's seconds."""
    return next((unit for unit in reversed(_UNITS) if t >= unit[1]), _UNITS[0])


def unit_to_english(u: str) -> str:
    """Return the name of a unit of time."""
    return {"ns": "nanosecond", "us": "microsecond", "ms": "millisecond", "s": "second"}[u]


def trim_sigfig(x: float, n: int) -> float:
    """Return a number with `n` figures that are not 0."""
    scale = 10 ** (math.ceil(math.log10(abs(x))) - n)
    return round(x / scale) * scale


def ordered_unique(elements: Iterable[Any]) -> list[Any]:
    """Return each element once, in the order in which they come first."""
    return list(dict.fromkeys(elements))


@dataclass(frozen=True)
class TaskSpec:
    """The statement that is measured, and its names in texts.

    Attributes:
        stmt: the statement.
        setup: what is run before.
        global_setup: the setup of statements in C++; not used.
        label: the name of the statement.
        sub_label: what distinguishes it from others of the label.
        description: what distinguishes measurements of the same.
        env: the name of the environment.
        num_threads: how many threads an operator may use, as users say.
    """

    stmt: str
    setup: str
    global_setup: str = ""
    label: str | None = None
    sub_label: str | None = None
    description: str | None = None
    env: str | None = None
    num_threads: int = 1

    @property
    def title(self) -> str:
        """The name of the measurement in texts."""
        if self.label is None and "\n" in self.stmt:
            note = f" ({self.sub_label})" if self.sub_label else ""
            return f"stmt:{note}\n{textwrap.indent(self.stmt, '  ')}"
        name = self.stmt if self.label is None else self.label
        return f"{name}: {self.sub_label}" if self.sub_label else name

    def setup_str(self) -> str:
        """Return the setup statement as text; empty if there is none."""
        if self.setup in ("", "pass"):
            return ""
        several = "\n" in self.setup
        return f"setup:\n{textwrap.indent(self.setup, '  ')}" if several else f"setup: {self.setup}"

    def summarize(self) -> str:
        """Return a text with all measurements of the task."""
        sections = (self.title, self.description or "", self.setup_str())
        return "\n".join(f"{part}\n" if "\n" in part else part for part in sections if part)


@dataclass(repr=False)
class Measurement:
    """Times that a statement took; it has the attributes of its `TaskSpec`, too.

    Attributes:
        number_per_run: how often the statement was run for each time.
        raw_times: the times in seconds.
        task_spec: what was measured.
        metadata: what users note.
    """

    number_per_run: int
    raw_times: list[float]
    task_spec: TaskSpec
    metadata: dict[Any, Any] | None = None

    def __getattr__(self, name: str) -> Any:
        if name in TaskSpec.__dataclass_fields__:
            return getattr(self.task_spec, name)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    @property
    def times(self) -> list[float]:
        """The seconds of one run each."""
        return [time / self.number_per_run for time in self.raw_times]

    @property
    def median(self) -> float:
        """The median of the times."""
        return float(np.median(self.times))

    @property
    def mean(self) -> float:
        """The mean of the times."""
        return float(np.mean(self.times))

    @property
    def iqr(self) -> float:
        """The distance of the quartiles of the times."""
        low, high = np.quantile(self.times, (0.25, 0.75))
        return float(high - low)

    @property
    def has_warnings(self) -> bool:
        """True if the times differ so much that texts warn."""
        return not self.meets_confidence()

    def meets_confidence(self, threshold: float = _FLUCTUATION) -> bool:
        """Return whether the distance of the quartiles is a small part of the median."""
        return self.iqr / self.median < threshold

    @property
    def significant_figures(self) -> int:
        """An estimate of how many figures of the median mean something, 1 to 4."""
        times = sorted(self.times)
        middle = times[len(times) // 4 : -(-3 * len(times) // 4)]
        interval = max(1.645 * float(np.std(middle)) / len(middle) ** 0.5, 25e-9)
        return int(min(max(np.floor(np.log10(self.median / interval)), 1), 4))

    @property
    def title(self) -> str:
        """The name of the measurement in texts."""
        return self.task_spec.title

    @property
    def as_row_name(self) -> str:
        """The name of its row in tables."""
        return self.sub_label or self.stmt or "[Unknown]"

    def __repr__(self) -> str:
        unit, scale = select_unit(self.median)
        count, runs, threads = len(self.raw_times), self.number_per_run, self.num_threads
        lines = [object.__repr__(self), self.task_spec.summarize()]
        lines.append(f"  {'Median: ' if count > 1 else ''}{self.median / scale:.2f} {unit}")
        if count >= 4:
            low, high = np.quantile(self.times, (0.25, 0.75)) / scale
            lines.append(f"  IQR:    {high - low:.2f} {unit} ({low:.2f} to {high:.2f})")
        several = "s" if count > 1 else ""
        runs_each = f"{runs} runs {'per measurement' if count > 1 else ''}, "
        threads_each = f"{threads} thread{'s' if threads > 1 else ''}"
        lines.append(f"  {count} measurement{several}, {runs_each}{threads_each}")
        if self.has_warnings:
            reason = "could indicate system fluctuation."
            if not self.meets_confidence(_INFLUENCE):
                reason = "suggests significant environmental influence."
            part = self.iqr / self.median
            lines.append(f"  WARNING: Interquartile range is {part:.1%} of the median measurement.")
            lines.append(f"           This {reason}")
        return "\n".join(lines)

    @staticmethod
    def merge(measurements: Iterable[Measurement]) -> list[Measurement]:
        """Return a measurement for each statement, of all of its times."""
        times: dict[TaskSpec, list[float]] = defaultdict(list)
        for measurement in measurements:
            times[measurement.task_spec] += measurement.times
        return [Measurement(1, seconds, spec) for spec, seconds in times.items()]
