"""Run the entries of the operator database, in several processes."""

from __future__ import annotations

import functools
import multiprocessing
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import torch

from tests.conftest import ResidentMemory
from tests.opdb.checks import Entry, Outcome, entries
from tests.opdb.expected import ERRORS, Expected, outcomes_of

NO_REASON = "REASON MISSING"


class Result(NamedTuple):
    """The outcomes of one entry for one dtype."""

    entry: str
    dtype: str
    outcomes: list[Outcome]


def _results(dtypes: tuple[str, ...], position: int) -> list[Result]:
    entry = _entries()[position]
    chosen = [dtype for dtype in (*entry.dtypes, ERRORS) if dtype in dtypes]
    results = [Result(entry.name, dtype, outcomes_of(entry, dtype)) for dtype in chosen]
    ResidentMemory.bound()
    return results


@functools.cache
def _entries() -> list[Entry]:
    torch.set_num_threads(1)
    return entries()


def run(names: list[str], dtypes: tuple[str, ...], processes: int) -> Iterator[Result]:
    """The results of the named entries, or of all, in any order."""
    positions = [
        index
        for index, entry in enumerate(_entries())
        if not names or entry.name in names or entry.info.name in names
    ]
    task = functools.partial(_results, dtypes)
    if processes == 1:
        for position in positions:
            yield from task(position)
        return
    with multiprocessing.get_context("spawn").Pool(processes, maxtasksperchild=60) as pool:
        for results in pool.imap_unordered(task, positions):
            yield from results


def recorded(results: Iterable[Result], before: list[Expected]) -> list[Expected]:
    """The list that the results ask for, with the reasons of the one before."""
    reasons = {(row.entry, row.check): row.reason for row in before}
    lines = []
    for entry, dtype, outcomes in results:
        tried, failed = Counter(outcome.check for outcome in outcomes), defaultdict(list)
        for outcome in outcomes:
            if outcome.problem is not None:
                failed[outcome.check].append(str(outcome.index))
        for check, samples in failed.items():
            text = "*" if len(samples) == tried[check] else ",".join(samples)
            reason = reasons.get((entry, check), NO_REASON)
            lines.append(Expected(entry, check, dtype, text, reason))
    return lines
