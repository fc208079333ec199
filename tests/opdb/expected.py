"""The samples on which `oneflow` is expected to differ from PyTorch, each with a reason."""

from __future__ import annotations

import csv
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from tests.opdb.checks import Entry, Outcome

LIST = Path(__file__).with_name("expected_failures.tsv")
# In place of a dtype: the calls that must raise.
ERRORS = "errors"


class Expected(NamedTuple):
    """A line of the list: `samples` is "*" for all of them, or their numbers."""

    entry: str
    check: str
    dtype: str
    samples: str
    reason: str

    def covers(self, outcome: Outcome) -> bool:
        """True if the outcome is one of these samples."""
        return outcome.check == self.check and (
            self.samples == "*" or str(outcome.index) in self.samples.split(",")
        )


def read_list() -> list[Expected]:
    """The lines of the list."""
    with LIST.open(encoding="utf-8", newline="") as file:
        return [Expected(*line) for line in csv.reader(file, delimiter="\t")]


def write_list(lines: Iterable[Expected]) -> None:
    """Replace the list."""
    with LIST.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, delimiter="\t", lineterminator="\n").writerows(sorted(lines))


def by_entry(lines: Iterable[Expected]) -> dict[tuple[str, str], list[Expected]]:
    """The lines of each entry and dtype."""
    found = defaultdict(list)
    for line in lines:
        found[line.entry, line.dtype].append(line)
    return found


def outcomes_of(entry: Entry, dtype: str) -> list[Outcome]:
    """The outcomes of an entry for a dtype, or of its calls that must raise."""
    return list(entry.error_outcomes() if dtype == ERRORS else entry.outcomes(dtype))


def surprises(
    entry: str, dtype: str, outcomes: list[Outcome], expected: list[Expected]
) -> list[str]:
    """Failures that are not in the list, and entries of the list that did not fail."""
    found = []
    for outcome in outcomes:
        line = next((row for row in expected if row.covers(outcome)), None)
        place = f"{entry}, {dtype}, {outcome.check} of sample {outcome.index}"
        if outcome.problem is None and line is not None:
            found.append(f"{place}: agrees now; take it from {LIST.name}")
        elif outcome.problem is not None and line is None:
            found.append(f"{place}: {outcome.problem}")
    gone = [row for row in expected if not any(map(row.covers, outcomes))]
    return found + [f"{LIST.name} names no sample: {row}" for row in gone]
