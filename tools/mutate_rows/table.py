"""Reading the features, their mutations, and which were killed earlier."""

from __future__ import annotations

import csv
import hashlib
from collections.abc import Iterable
from pathlib import Path

from tools.make_features import ROOT, features
from tools.mutate_rows.mutations import Mutation

TABLE = ROOT / "tests" / "seeds" / "mutations.tsv"
TESTS = ROOT / "tests" / "seeds"
PROGRAMS = ROOT / "tests" / "distributed" / "programs"
# The mutants that were killed, so that an interrupted run goes on where it stopped.
KILLED = ROOT / ".mutants"


def mutations() -> list[Mutation]:
    """The lines of `tests/seeds/mutations.tsv`."""
    with TABLE.open(encoding="utf8") as file:
        lines = csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
        next(lines)
        return [Mutation(*line) for line in lines]


def chosen(patterns: Iterable[str]) -> list[Mutation]:
    """The mutations of the rows whose ids begin with one of `patterns`; of all without any."""
    starts = tuple(patterns)
    known = {row.id for row in features()}
    if unknown := [start for start in starts if not any(row.startswith(start) for row in known)]:
        raise SystemExit(f"there are no rows {unknown} in docs/features.tsv")
    return [mutation for mutation in mutations() if not starts or mutation.row.startswith(starts)]


def digest(mutation: Mutation, files: Iterable[Path]) -> str:
    """The key of the outcome: the mutation and the text of the tests."""
    text = "\t".join(mutation).encode()
    for file in (*sorted(files), *sorted(PROGRAMS.glob("rows_of_*.py"))):
        text += file.read_bytes()
    return hashlib.sha256(text).hexdigest()


def killed_before() -> set[str]:
    """The mutants that earlier runs have killed, by `digest`."""
    return set(KILLED.read_text(encoding="ascii").split()) if KILLED.exists() else set()


def remember_killed(key: str) -> None:
    """Do not try a mutant again until it, or the tests, change."""
    with KILLED.open("a", encoding="ascii") as file:
        file.write(f"{key}\n")
